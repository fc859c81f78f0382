package channel

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const mountLine = `36 35 0:52 / /mnt/in\040box\134 rw,noatime shared:1 master:2 - fuse.airlockfs /srv/a\011b rw,user_id=0`

func TestParseMountEntry(t *testing.T) {
	e, ok := parseMountEntry(mountLine)
	assert.True(t, ok)
	assert.Equal(t, mountEntry{id: 36, device: "0:52", mountpoint: `/mnt/in box\`, fsType: "fuse.airlockfs", source: "/srv/a\tb"}, e)
	for _, bad := range []string{"", "-", " - ", "x 35 0:52 / /m rw - ext4 /dev/sda rw", "36 35 0:52 / /m rw ext4 /dev/sda rw", "36 35 0:52 / /m rw - ext4"} {
		_, ok := parseMountEntry(bad)
		assert.False(t, ok, bad)
	}
}

func TestUnescapeLeavesOtherBackslashes(t *testing.T) {
	assert.Equal(t, `a\b\99\400\`, unescape(`a\b\99\400\`))
}

func TestParseMountID(t *testing.T) {
	id, err := parseMountID("pos:\t0\nflags:\t012\nmnt_id:\t29\nino:\t2\n")
	assert.NoError(t, err)
	assert.Equal(t, 29, id)
	_, err = parseMountID("pos:\t0\n")
	assert.Error(t, err)
}

func FuzzMountEntry(f *testing.F) {
	f.Add(mountLine)
	f.Add(`1 1 0:1 / \ r - a b`)
	f.Fuzz(func(t *testing.T, line string) {
		e, ok := parseMountEntry(line)
		assert.LessOrEqual(t, len(e.mountpoint), len(line))
		assert.True(t, ok || e == mountEntry{})
	})
}

func FuzzUnescape(f *testing.F) {
	f.Add(`a\040b\\`, "a b")
	f.Fuzz(func(t *testing.T, _, name string) {
		escape := strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`)
		assert.Equal(t, name, unescape(escape.Replace(name)))
	})
}

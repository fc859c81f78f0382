package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestParseMountPoints(t *testing.T) {
	table := "25 1 0:22 / / rw,noatime - ext4 /dev/vda rw\n" +
		"31 25 0:26 / /mnt/a\\040b\\134c rw shared:5 - fuse.x x rw\n" +
		"short line\n"
	assert.Equal(t, []string{"/", `/mnt/a b\c`}, parseMountPoints(table))
}

func TestUnescapeOctalKeepsWhatIsNoEscape(t *testing.T) {
	for _, s := range []string{"", `\`, `\04`, `\999`, `\777`, "plain"} {
		assert.Equal(t, s, unescapeOctal(s))
	}
}

func FuzzParseMountPoints(f *testing.F) {
	f.Add("25 1 0:22 / /a\\011b rw - ext4 /dev/vda rw\n")
	f.Fuzz(func(t *testing.T, table string) {
		size := 0
		for _, point := range parseMountPoints(table) {
			assert.NotEmpty(t, point)
			size += len(point)
		}
		assert.LessOrEqual(t, size, len(table))
	})
}

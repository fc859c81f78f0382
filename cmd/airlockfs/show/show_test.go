package show

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestName(t *testing.T) {
	for name, want := range map[string]string{
		"a b": "a b", "ä…": "ä…", "a\nb": `"a\nb"`, "\x1b[31m": `"\x1b[31m"`, "\xff": `"\xff"`, "a\u202eb": `"a\u202eb"`, "": "",
	} {
		assert.Equal(t, want, Name(name))
	}
}

func TestText(t *testing.T) {
	assert.Equal(t, `"a" ä`+"\n"+`\x1b[31m\u009b\xff\u202e\t`+"\ufffd", Text("\"a\" ä\n\x1b[31m\u009b\xff\u202e\t\ufffd"))
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{-time.Second: "0s", 59 * time.Second: "59s", time.Minute: "1m", 90 * time.Minute: "1h", 47 * time.Hour: "47h", 72 * time.Hour: "3d"} {
		assert.Equal(t, want, Age(d))
	}
}

// What a name holds reaches no terminal as it is, nor is any of it lost to programs.
func TestJSONDrivesNoTerminal(t *testing.T) {
	name := "\x1b[31m\u009b31m\x7f\u202e\n\U000e0001ä日\\"
	for _, write := range []func(io.Writer, any) error{JSON, JSONLine} {
		var b bytes.Buffer
		require.NoError(t, write(&b, []string{name}))
		assert.NotRegexp(t, "[^\n[:print:]ä日]", b.String())
		var back []string
		require.NoError(t, json.Unmarshal(b.Bytes(), &back))
		assert.Equal(t, name, back[0])
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 1023: "1023", 1024: "1.0K", 1536: "1.5K", 10 << 10: "10K", 3 << 30: "3.0G", math.MaxInt64: "8.0E"} {
		assert.Equal(t, want, Size(n))
	}
}

func TestArgument(t *testing.T) {
	for _, name := range []string{"/srv/a b", "it's", "", "$HOME", "a\nb", "tab\t'\"\\", "\xff", "ä", "plain/1.txt", "~x", "a;b"} {
		cmd := exec.Command("bash", "-c", "printf %s "+Argument(name))
		out, err := cmd.Output()
		require.NoError(t, err, Argument(name))
		assert.Equal(t, name, string(out), Argument(name))
	}
	assert.Equal(t, "/srv/x.d", Argument("/srv/x.d"))
}

func TestScreenColours(t *testing.T) {
	var b bytes.Buffer
	assert.False(t, NewScreen(&b, "auto").Colours, "no terminal")
	assert.True(t, NewScreen(&b, "always").Colours)
	assert.False(t, NewScreen(&b, "never").Colours)
}

func TestRedrawLeavesOutWhatDoesNotFit(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Screen{Out: &b, Height: 4}.Redraw("1\n2\n3\n4\n5\n"))
	assert.Equal(t, "\x1b[H1\x1b[K\n2\x1b[K\n…\x1b[K\n\x1b[J", b.String())
}

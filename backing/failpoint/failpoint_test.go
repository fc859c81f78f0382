package failpoint

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/backing"
)

func call(name, folder string) backing.Call {
	return backing.Call{Name: name, Object: backing.Object{Folder: folder, Name: "f"}}
}

func TestPointsCountTheirCalls(t *testing.T) {
	before, err := Parse("rename:ENOSPC:2,fsync@in/:EIO:2-,read note:EMFILE:*,stat:EROFS:1-2")
	require.NoError(t, err)
	for _, x := range []struct {
		name, folder string
		want         error
	}{
		{"rename", "in", nil}, {"rename", "in", syscall.ENOSPC}, {"rename", "in", nil},
		{"fsync", "in", nil}, {"fsync", "out", nil}, {"fsync", "in", syscall.EIO}, {"fsync", "in", syscall.EIO}, {"fsync", "out", nil},
		{"read note", "out", syscall.EMFILE},
		{"stat", "out", syscall.EROFS}, {"stat", "out", syscall.EROFS}, {"stat", "out", nil},
		{"write", "in", nil},
	} {
		assert.Equal(t, x.want, before(call(x.name, x.folder)), "%s %s", x.name, x.folder)
	}
}

func TestAnyCallAndTheSecondObject(t *testing.T) {
	before, err := Parse("*@box:EIO:*")
	require.NoError(t, err)
	assert.NoError(t, before(call("open", "in")))
	assert.ErrorIs(t, before(backing.Call{Name: "rename", To: backing.Object{Folder: "box", Name: "f"}}), syscall.EIO)
}

func TestADelayFailsNothing(t *testing.T) {
	before, err := Parse("write:delay=20ms:*")
	require.NoError(t, err)
	begun := time.Now()
	assert.NoError(t, before(call("write", "in")))
	assert.GreaterOrEqual(t, time.Since(begun), 20*time.Millisecond)
}

func TestWhatIsNoFailPoint(t *testing.T) {
	for _, text := range []string{"", "rename", "rename:EIO", ":EIO:1", "rename:EWHAT:1", "rename::1", "rename:delay=1:1",
		"rename:EIO:0", "rename:EIO:3-2", "rename:EIO:x", "rename:EIO:1-x", "rename:EIO:", "a:EIO:1:1", "rename:EIO:1,"} {
		_, err := Parse(text)
		assert.Error(t, err, text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("rename@in/:ENOSPC:3,fsync:EIO:1-")
	f.Fuzz(func(t *testing.T, text string) {
		before, err := Parse(text)
		if assert.Equal(t, err == nil, before != nil) && err == nil && !strings.Contains(text, "delay") {
			_ = before(call("rename", "in"))
		}
	})
}

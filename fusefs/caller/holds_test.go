package caller

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/protocol"
)

func TestOpen(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	info, err := f.Stat()
	require.NoError(t, err)
	inode := info.Sys().(*syscall.Stat_t).Ino
	me := &protocol.Party{Process: protocol.Process{PID: os.Getpid()}}
	assert.Equal(t, 1, (*Table)(nil).Open(me, inode))
	again, err := os.Open(f.Name())
	require.NoError(t, err)
	assert.Equal(t, 2, (*Table)(nil).Open(me, inode))
	assert.Zero(t, (*Table)(nil).Open(me, inode+1_000_000_000))
	require.NoError(t, f.Close())
	require.NoError(t, again.Close())
	assert.Zero(t, (*Table)(nil).Open(me, inode), "it is closed")
	assert.Zero(t, (*Table)(nil).Open(&protocol.Party{Process: protocol.Process{PID: 1 << 30}}, inode), "there is no such process")
}

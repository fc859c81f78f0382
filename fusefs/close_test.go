package fusefs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// The end of a process is told by its pidfd, that of a descriptor by the connection: which comes first nobody knows. A
// writer that is killed when it has closed its file has let it go (I7); one that was killed with it open says so by a FLUSH (I2).
func TestADeathThatIsToldBeforeTheCloseIsNoneWithTheFileOpen(t *testing.T) {
	killed := protocol.Verdict{Kind: protocol.Killed, Status: int(unix.SIGKILL)}
	for name, at := range map[string]protocol.Verdict{"whole": {}, "torn": killed} {
		d, dir := testDesk(t)
		tid := uint32(os.Getpid())
		me := d.Callers.Opener(tid, 0, 0)
		h, err := d.create(me, tid, rootID, name, unix.O_WRONLY|unix.O_CREAT, d.call(protocol.OpCreate, me))
		require.NoError(t, err)
		_, err = d.write(h, me, []byte("text"), 0, false)
		require.NoError(t, err)
		require.NoError(t, d.flush(h, me, at, 0))
		d.mu.Lock()
		d.endedLocked(protocol.End{Party: me.ID, Verdict: killed})
		d.mu.Unlock()
		d.release(h)
		_, err = os.Stat(filepath.Join(dir, name))
		require.Equal(t, name == "whole", err == nil, name)
	}
}

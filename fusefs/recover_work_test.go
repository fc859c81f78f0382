package fusefs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
	"github.com/airlockfs/airlockfs/tests/surroundings"
)

// left is what an earlier mount left behind, of each kind.
type left struct{ public, claims, hidden int }

// leave makes it, below so many folders: claims of ours and of processes that are gone, half a dozen each, and hidden items in every area.
func (l left) leave(t testing.TB, dir string, owner protocol.Process, folders int) {
	t.Helper()
	control := filepath.Join(dir, backing.Control)
	require.NoError(t, os.MkdirAll(filepath.Join(control, "folders"), 0o700))
	for n := range folders {
		require.NoError(t, os.Mkdir(filepath.Join(dir, fmt.Sprint("folder-", n)), 0o755))
		require.NoError(t, os.Symlink(fmt.Sprint("folder-", n), filepath.Join(control, "folders", key(n))))
	}
	for n := range l.public {
		write(t, filepath.Join(dir, fmt.Sprint("folder-", n%folders)), fmt.Sprint("public-", n))
	}
	for n := range l.claims {
		p := protocol.Place{State: protocol.Claimed, Folder: key(n % folders), Owner: owner}
		if n%2 == 1 {
			p.Owner.PID, p.Owner.Start = 1<<20+n/6, 1
		}
		write(t, filepath.Join(control, p.State.Area(), p.Dir()), fmt.Sprint("claimed-", n))
	}
	for n := range l.hidden {
		p, name := hiddenPlace(n), fmt.Sprint("hidden-", n)
		p.Folder = key(n % folders)
		if p.State == protocol.Staged && n%2 == 0 || p.State == protocol.Abandoned || p.State == protocol.Parked {
			name += ".tmp"
		}
		write(t, filepath.Join(control, p.State.Area(), p.Dir()), name)
	}
}

func key(n int) string { return strconv.FormatInt(int64(n+1), 36) }

// hiddenPlace is where a hidden item lies: there are as many of each kind.
func hiddenPlace(n int) protocol.Place {
	dead := protocol.Process{PID: 1<<20 + n/6, Start: 1}
	return []protocol.Place{
		{State: protocol.Staged, Owner: dead},
		{State: protocol.Parked},
		{State: protocol.Abandoned},
		{State: protocol.Held, Barrier: protocol.BarrierRename},
		{State: protocol.Held, Barrier: protocol.BarrierExit, Owner: dead},
		{State: protocol.Quarantined},
	}[n/2%6]
}

func write(t testing.TB, folder, name string) {
	err := os.WriteFile(filepath.Join(folder, name), []byte("text"), 0o600)
	if os.IsNotExist(err) {
		require.NoError(t, os.MkdirAll(folder, 0o700))
		err = os.WriteFile(filepath.Join(folder, name), []byte("text"), 0o600)
	}
	require.NoError(t, err)
}

// The work of a restart grows with what was left behind, and not faster; what is public costs nothing.
func TestTheWorkOfARestartGrowsWithWhatIsHidden(t *testing.T) {
	const most = 6 // calls on the disk for each item
	work := func(l left) int {
		calls, dir := 0, scratch(t)
		d := deskOn(t, dir, backing.Options{Before: func(backing.Call) error { calls++; return nil }})
		l.leave(t, dir, d.Callers.Opener(uint32(os.Getpid()), 0, 0).Process, 10)
		calls = 0
		d.mu.Lock()
		defer d.mu.Unlock()
		begun := time.Now()
		require.NoError(t, d.recoverLocked())
		t.Logf("%+v: %v", l, time.Since(begun))
		require.Equal(t, l.claims/2+l.hidden*5/6, d.table.private(), "all but the claims of who has ended, and what waited for their end")
		return calls
	}
	n := surroundings.Number(t, "AIRLOCKFS_LEFT", 960) // a multiple of 24
	few, many := work(left{public: 10, claims: 60, hidden: 240}), work(left{public: 10 * n, claims: n / 4, hidden: n})
	t.Logf("%d calls on the disk for 300 items, %d for %d", few, many, n+n/4)
	require.Less(t, many, most*(n+n/4))
	require.Less(t, many/(n+n/4), 2*few/300)
}

// private is how many items not everybody knows of.
func (t *table) private() (count int) {
	for _, n := range t.byID {
		if n.kind == itemNode && n.bytes.item.Private() {
			count++
		}
	}
	return count
}

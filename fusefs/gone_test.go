package fusefs

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/backing"
)

// A mount on which folders are made and removed for months does not grow with them.
func TestRemovedFoldersAreForgotten(t *testing.T) {
	d, _ := testDesk(t)
	me := d.Callers.Opener(uint32(os.Getpid()), 0, 0)
	make := func(name string) *node {
		f, err := d.make(me, rootID, name, func(at backing.Object) error { return d.Store.Mkdir(at, 0o755, 0, 0) })
		require.NoError(t, err)
		return f.node
	}
	workplace := make("workplace")
	require.NoError(t, d.rmdir(me, rootID, "workplace"))
	for n := range 4 * fewRuins {
		name := fmt.Sprint("folder-", n)
		id := make(name).id
		require.NoError(t, d.rmdir(me, rootID, name))
		d.forget(id, 1)
	}
	require.Less(t, len(d.table.byID), 2*fewRuins)
	_, err := d.getattr(me, workplace.id, 0)
	require.NoError(t, err, "somebody works in it still")
}

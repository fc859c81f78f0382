package caller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// oldTable behaves as on a kernel whose pidfds have no inode numbers of their own.
func oldTable(t *testing.T) *Table {
	table := newTable(t, Options{})
	table.unique = false
	return table
}

func TestReleases(t *testing.T) {
	for release, want := range map[string]bool{"6.15.0": true, "6.18.44-fc-v1": true, "7.0-rc1": true, "6.14.9": false, "5.10": false, "6.2.1": false, "6": false, "": false} {
		assert.Equal(t, want, atLeast(release, 6, 15), release)
	}
}

func TestLacksOfAnOldKernel(t *testing.T) {
	assert.Contains(t, oldTable(t).Lacks()[len(oldTable(t).Lacks())-1], "pid and start time")
}

func TestStartTimeIsTheIdentityWithoutPidfs(t *testing.T) {
	before, after := oldTable(t), oldTable(t)
	p := shell(t, "read _")
	assert.Zero(t, who(before, p.pid()).Process.Start, "stat is not safe yet")
	written := opener(before, p.pid()).Process
	assert.NotZero(t, written.Start)
	party, ok := after.Revive(written)
	require.True(t, ok)
	assert.Equal(t, written, party.Process)
	written.Start++
	_, ok = after.Revive(written)
	assert.False(t, ok)
}

func TestReusedProcessIDWithoutPidfs(t *testing.T) {
	table := oldTable(t)
	p := shell(t, "read _")
	first := who(table, p.pid())
	p.goOn()
	_ = p.Wait()
	second := who(table, startWithID(t, p.pid()).pid())
	assert.NotEqual(t, first.ID, second.ID)
	assert.False(t, table.Ended(second.ID))
}

package protocol

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDefaultNamesAreNotShared(t *testing.T) {
	names := DefaultNames()
	require.NoError(t, names.DropTemp("*.tmp"))
	require.NoError(t, names.AddTemp("*.new"))
	assert.Contains(t, DefaultNames().Temp, "*.tmp")
	assert.NotContains(t, DefaultNames().Temp, "*.new")
}

// A rule set keeps the tables that it was made with.
func TestRulesKeepTheirNames(t *testing.T) {
	names := DefaultNames()
	rules := mustRules(t, names)
	before := rules.Describe()
	require.NoError(t, names.DropTemp("*.tmp"))
	names.Lock[0] = "changed"
	assert.Equal(t, before, rules.Describe())
	assert.Equal(t, TempByName, rules.At("", "a.tmp").Temp)
}

// Every name that can be resumed is a temp name, and every unlisted one a lock name.
func TestTablesWithinTables(t *testing.T) {
	names := DefaultNames()
	for _, p := range names.Resumable {
		assert.Contains(t, names.Temp, p)
	}
	for _, p := range names.Unlisted {
		assert.Contains(t, names.Lock, p)
	}
}

func TestDropTemp(t *testing.T) {
	names := DefaultNames()
	require.NoError(t, names.DropTemp("tmp*"))
	assert.False(t, slices.Contains(names.TempExclusive, "tmp*"))
	require.ErrorContains(t, names.DropTemp("tmp*"), "*.tmp")
	require.NoError(t, names.DropTemp("all"))
	assert.Empty(t, slices.Concat(names.Temp, names.TempExclusive))
	assert.NotEmpty(t, names.Lock, "only temp names were dropped")
}

// Where two tables know a name, the order lock, log, plain, marker, temp decides.
func TestOrderOfTables(t *testing.T) {
	rules := mustRules(t, DefaultNames())
	assert.Equal(t, ClassLock, rules.At(".git", "a.lock").Class, "lock before plain")
	assert.Equal(t, ClassLock, rules.At("", ".~lock.a.part#").Class)
	assert.Equal(t, ClassPlain, rules.At(".git", "a.part").Class, "plain before temp")
	m := rules.At("", ".in.a.done")
	assert.True(t, m.Marker)
	assert.Equal(t, TempIfExclusive, rules.At("", ".tmp.a.log").Temp)
	assert.Equal(t, NotTemp, rules.At("", "tmp.done").Temp, "marker before temp")
	assert.True(t, rules.At("", "tmp.log").LogIfAppend)
}

package journal_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/tests/torture/journal"
)

func TestLinesComeBackInOrderAndHalfOnesDoNot(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(journal.Path(dir, "b"), []byte("20 claim q/f\nw1 ok x y\n30 settle q/"), 0o600))
	require.NoError(t, os.WriteFile(journal.Path(dir, "a"), []byte("25 publish q/f x\n"), 0o600))
	lines, err := journal.Read(dir, journal.Clock{Offset: -977, Drift: 5})
	require.NoError(t, err)
	assert.Equal(t, []journal.Line{
		{At: 20, Actor: "b", Verb: "claim", Args: []string{"q/f"}},
		{At: 23, Slack: 20_000_005, Actor: "b", Verb: "ok", Args: []string{"x", "y"}},
		{At: 25, Actor: "a", Verb: "publish", Args: []string{"q/f", "x"}},
	}, lines)
}

func TestWhatIsSaidIsRead(t *testing.T) {
	dir := t.TempDir()
	j, err := journal.Open(dir, "a")
	require.NoError(t, err)
	before := journal.Now()
	j.Say("claim", "q/f")
	require.NoError(t, j.Close())
	lines, err := journal.Read(dir, journal.Clock{})
	require.NoError(t, err)
	require.Len(t, lines, 1)
	assert.Equal(t, "claim", lines[0].Verb)
	assert.GreaterOrEqual(t, lines[0].At, before)
}

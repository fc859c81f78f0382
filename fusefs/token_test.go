package fusefs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// blocks are the names in the folder of tokens that were set aside.
func blocks(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(filepath.Join(dir, ".airlockfs/tokens"))
	require.NoError(t, err)
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

func TestTokensAreSetAsideAMillionAtATime(t *testing.T) {
	d, dir := testDesk(t)
	d.Now = func() time.Time { return time.Unix(0, 0) }
	require.NoError(t, d.findTokensLocked())
	require.EqualValues(t, 1, d.nextTokenLocked())
	require.Empty(t, blocks(t, dir), "nobody has claimed anything")
	d.givenTokenLocked(1)
	require.Equal(t, []string{"1"}, blocks(t, dir))
	d.givenTokenLocked(tokenBlock)
	require.Equal(t, []string{"1"}, blocks(t, dir))
	d.givenTokenLocked(tokenBlock + 1)
	require.Equal(t, []string{"2"}, blocks(t, dir))

	d.tokens = tokens{}
	require.NoError(t, d.findTokensLocked())
	require.EqualValues(t, 2*tokenBlock+1, d.nextTokenLocked(), "none comes again")
}

// What the disk refuses is tried again, and made up for.
func TestTokensThatCanNotBeSetAsideAreLater(t *testing.T) {
	d, dir := testDesk(t)
	area := filepath.Join(dir, ".airlockfs/tokens")
	require.NoError(t, os.Remove(area))
	require.NoError(t, os.WriteFile(area, nil, 0o600))
	d.givenTokenLocked(1)
	d.givenTokenLocked(2)
	require.NoError(t, os.Remove(area))
	require.NoError(t, os.Mkdir(area, 0o700))
	d.Store.Forget(tokensArea)
	d.givenTokenLocked(3)
	require.Empty(t, blocks(t, dir), "not at each claim")
	d.givenTokenLocked(tokenBlock + tokenRetry)
	require.Equal(t, []string{"2"}, blocks(t, dir))
}

// What was lost, is an older copy, or was made by hand, does not make tokens come again: each mount begins at the clock.
func TestTokensGrowAlthoughTheirNumberIsLost(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	for name, c := range map[string]struct {
		there []string
		next  uint64
	}{
		"lost":              {nil, 1_900_000_000_000_001},
		"an older copy":     {[]string{"3"}, 1_900_000_000_000_001},
		"the clock is late": {[]string{"1900000000"}, 1_900_000_000*tokenBlock + 1},
		"made by hand":      {[]string{"99999999999999999999", "8589934592", "1999999999x", "-1", "01999999999"}, 1_900_000_000_000_001},
	} {
		t.Run(name, func(t *testing.T) {
			d, dir := testDesk(t)
			d.Now = func() time.Time { return now }
			for _, folder := range c.there {
				require.NoError(t, os.Mkdir(filepath.Join(dir, ".airlockfs/tokens", folder), 0o700))
			}
			require.NoError(t, d.findTokensLocked())
			require.Equal(t, c.next, d.nextTokenLocked())
			require.Less(t, d.nextTokenLocked(), uint64(1)<<53, "a reader of JSON has it exactly")
			if name == "made by hand" {
				require.Len(t, d.warnings, len(c.there))
			}
			require.NoError(t, d.setTokensAsideLocked())
			most := d.tokens.most
			require.GreaterOrEqual(t, most, c.next-1)
			require.NoError(t, d.findTokensLocked())
			require.Equal(t, most+1, d.nextTokenLocked())
		})
	}
}

// Removed while the mount serves, it is made again at the next need.
func TestTheFolderOfTokensIsMadeAgain(t *testing.T) {
	d, dir := testDesk(t)
	d.Now = func() time.Time { return time.Unix(0, 0) }
	require.NoError(t, d.setTokensAsideLocked())
	require.NoError(t, os.RemoveAll(filepath.Join(dir, ".airlockfs/tokens")))
	d.givenTokenLocked(tokenBlock + 1)
	require.Equal(t, []string{"2"}, blocks(t, dir))
}

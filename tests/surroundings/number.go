package surroundings

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Number is what a variable of the environment says: how many of something a test has, or the seed that repeats a run.
// Without the variable it is otherwise; a text that is no number, 0 or more, fails the test.
func Number[N int | uint64](t testing.TB, variable string, otherwise N) N {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, variable)
	return N(n)
}

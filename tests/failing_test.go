package tests

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// failing is an airlockfs whose disk can be told to fail, built when a test first asks for it.
var failing = sync.OnceValue(func() string {
	path := filepath.Join(built, "airlockfs-failing")
	if out, err := build(path, "failpoints").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("building a binary that fails: %v\n%s", err, out))
	}
	return path
})

// mountFailing is mount on a disk that fails at the calls that points name (package backing/failpoint).
func mountFailing(t *testing.T, points string, flags ...string) *Mount {
	t.Helper()
	t.Parallel()
	m := &Mount{t: t, Backing: scratch(t), Dir: scratch(t), flags: flags, fail: points}
	m.start()
	t.Cleanup(m.end)
	return m
}

// What users get can't be told to fail.
func TestOnlyTestBuildsHaveFailPoints(t *testing.T) {
	has := func(program string) bool {
		b, err := os.ReadFile(program)
		require.NoError(t, err)
		return bytes.Contains(b, []byte("AIRLOCKFS_FAIL")) || bytes.Contains(b, []byte("backing/failpoint"))
	}
	require.True(t, has(failing()), "else this test looks for the wrong thing")
	require.False(t, has(binary))
	t.Setenv("AIRLOCKFS_FAIL", "*:EIO:*")
	m := mountAlone(t)
	m.Must(`echo text > f; cat f`)
}

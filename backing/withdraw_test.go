package backing

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func withdraw(t *testing.T, dir string, before func()) error {
	s, err := Open(dir, Options{Areas: []string{"staging", "held"}})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Acquire())
	before()
	return s.Withdraw()
}

func TestWithdrawLeavesNothing(t *testing.T) {
	for _, base := range []string{"/dev/shm", os.TempDir()} {
		dir := folderIn(t, base)
		require.NoError(t, withdraw(t, dir, func() {}))
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, left)
		require.NoError(t, acquire(t, dir, "staging"))
	}
}

func TestWithdrawKeepsWhatAnotherMade(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, acquire(t, dir, "staging"))
	require.NoError(t, withdraw(t, dir, func() {}))
	assert.DirExists(t, filepath.Join(dir, staging))
}

func TestWithdrawKeepsWhatHoldsSomething(t *testing.T) {
	dir := t.TempDir()
	item := filepath.Join(dir, staging, "place")
	err := withdraw(t, dir, func() { require.NoError(t, os.Mkdir(item, 0o700)) })
	assert.ErrorIs(t, err, unix.ENOTEMPTY)
	assert.DirExists(t, item)
	require.NoError(t, acquire(t, dir, "staging", "held"), "what is left can be taken up again")
}

func TestWithdrawKeepsAStrayFile(t *testing.T) {
	dir := t.TempDir()
	stray := filepath.Join(dir, Control, "stray")
	assert.Error(t, withdraw(t, dir, func() { require.NoError(t, os.WriteFile(stray, nil, 0o600)) }))
	assert.FileExists(t, stray)
}

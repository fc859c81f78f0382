package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary serve as the worker that tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if hidden(os.Args[1]) != nil {
			main()
			os.Exit(0)
		}
	}
	// The race detector makes each process sleep a second when it exits.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestOptions(t *testing.T) {
	t.Setenv("QUICK", "1")
	o, err := parseOptions([]string{"--bin", "x"})
	require.NoError(t, err)
	assert.Equal(t, options{bin: "x", out: "bin/bench.json", scratch: "/dev/shm", quick: true}, o)

	_, err = parseOptions([]string{"produce"})
	assert.ErrorContains(t, err, "unexpected argument")
}

func TestMissingBindfsIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := measureAll(options{out: filepath.Join(t.TempDir(), "bench.json")})
	assert.ErrorContains(t, err, "apt-get install bindfs")
}

func TestScratchMustBeOnTmpfs(t *testing.T) {
	_, err := newScratch("/proc")
	assert.ErrorContains(t, err, "not on a tmpfs")
}

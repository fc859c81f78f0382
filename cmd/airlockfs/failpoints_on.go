//go:build failpoints

package main

import (
	"os"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/backing/failpoint"
)

// failpoints is what the backing asks before each call, from the environment: see failpoint.Parse.
func failpoints() (func(backing.Call) error, error) {
	text := os.Getenv("AIRLOCKFS_FAIL")
	if text == "" {
		return nil, nil
	}
	return failpoint.Parse(text)
}

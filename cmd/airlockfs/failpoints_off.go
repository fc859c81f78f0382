//go:build !failpoints

package main

import "github.com/airlockfs/airlockfs/backing"

// failpoints is what the backing asks before each call: nobody. Builds with the tag failpoints differ, for tests.
func failpoints() (func(backing.Call) error, error) { return nil, nil }

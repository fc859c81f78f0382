package main

import (
	"errors"
	"io/fs"
	"os/exec"
)

// plain takes the call's name and path off an error of package os: who prints it has said what was tried on which file.
func plain(err error) error {
	var path *fs.PathError
	var run *exec.Error
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &run):
		return run.Err
	}
	return err
}

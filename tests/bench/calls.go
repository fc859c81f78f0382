package main

import (
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The measured calls are plain system calls: package os would add a poller
// registration for each opened file.

// uninterrupted repeats call while a signal interrupts it (signal(7)), and says
// in its error what was done to which path.
func uninterrupted[T any](name, path string, call func() (T, error)) (T, error) {
	for {
		value, err := call()
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			err = &os.PathError{Op: name, Path: path, Err: err}
		}
		return value, err
	}
}

func open(path string, flags int) (int, error) {
	return uninterrupted("open", path, func() (int, error) {
		return unix.Open(path, flags|unix.O_CLOEXEC, 0o644)
	})
}

// closeFile is not repeated: Linux has closed the descriptor even if it says
// EINTR.
func closeFile(fd int, path string) error {
	if err := unix.Close(fd); err != nil {
		return &os.PathError{Op: "close", Path: path, Err: err}
	}
	return nil
}

// writeBlock writes all of block in one call.
func writeBlock(fd int, path string, block []byte) error {
	n, err := uninterrupted("write", path, func() (int, error) { return unix.Write(fd, block) })
	if err == nil && n < len(block) {
		err = &os.PathError{Op: "write", Path: path, Err: io.ErrShortWrite}
	}
	return err
}

func readBlock(fd int, path string, block []byte) (int, error) {
	return uninterrupted("read", path, func() (int, error) { return unix.Read(fd, block) })
}

func rename(from, to string) error {
	_, err := uninterrupted("rename", from, func() (struct{}, error) {
		return struct{}{}, unix.Rename(from, to)
	})
	return err
}

func unlink(path string) error {
	_, err := uninterrupted("unlink", path, func() (struct{}, error) {
		return struct{}{}, unix.Unlink(path)
	})
	return err
}

// now reads the clock that all processes share.
func now() (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano()), err
}

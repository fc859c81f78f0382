package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxSize is more than anybody writes by hand.
const maxSize = 64 << 10

// Read reads the file at path, which must be an ordinary one that not everybody can change.
func Read(path string) ([]Entry, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

func readFile(path string) ([]byte, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the configuration %s can't be read: %w", path, errors.Unwrap(err))
	case len(text) > maxSize:
		return nil, fmt.Errorf("the configuration %s is larger than %d KiB: is it the right file?", path, maxSize>>10)
	}
	return text, nil
}

// open looks at the file before it opens it: to open a FIFO waits, and to open a device may do anything.
func open(path string) (*os.File, error) {
	look, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil, fmt.Errorf("the configuration %s does not exist", path)
	}
	if err != nil {
		return nil, fmt.Errorf("the configuration %s can't be opened: %w", path, err)
	}
	defer unix.Close(look)
	if err := acceptable(path, look); err != nil {
		return nil, err
	}
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(look), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("the configuration %s can't be opened: %w", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

func acceptable(path string, fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("the configuration %s can't be looked at: %w", path, err)
	}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return fmt.Errorf("the configuration %s is a folder: name a file", path)
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("the configuration %s is not an ordinary file", path)
	case st.Mode&unix.S_IWOTH != 0:
		return fmt.Errorf("everybody can change the configuration %s, so it can't be relied on: chmod o-w it", path)
	}
	return nil
}

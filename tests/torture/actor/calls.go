package actor

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const (
	fresh  = unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC
	unique = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL
)

func openAt(dir int, name string, flags int) (int, error) {
	return unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0o644)
}

// writeAll writes; a short write is an error.
func writeAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// readAll reads from where the descriptor is.
func readAll(fd int) ([]byte, error) {
	var all []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 || err != nil {
			return all, err
		}
		all = append(all, buf[:n]...)
	}
}

func rename(dir int, from, to string) func() error {
	return func() error { return unix.Renameat(dir, from, dir, to) }
}

// listDir gives the names in a folder.
func listDir(dir int) ([]string, error) {
	fd, err := openAt(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), ".")
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err == io.EOF {
		err = nil
	}
	return names, err
}

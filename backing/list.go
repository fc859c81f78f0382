package backing

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// Entry is one name of a folder. Type is DT_…, DT_UNKNOWN where the filesystem
// does not say.
type Entry struct {
	Name string
	Ino  uint64
	Type uint8
}

// listBuffers hold 64 KiB each: about 2,000 names in one system call.
var listBuffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// List calls each for every name of a folder but "." and "..", in the
// filesystem's order, from a descriptor of its own. It ends with the first
// error of each, which it returns as it is.
func (s *Store) List(folder string, each func(Entry) error) error {
	var fd int
	err := s.run(Call{Name: "list", Object: Object{Folder: folder}}, func() (err error) {
		fd, err = s.openListing(folder)
		return err
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	buf := listBuffers.Get().(*[]byte)
	defer listBuffers.Put(buf)
	for {
		n, err := getdents(fd, *buf)
		if err != nil || n == 0 {
			return fail("list", Object{Folder: folder}, err)
		}
		if err := parseEntries((*buf)[:n], each); err != nil {
			return err
		}
	}
}

func getdents(fd int, buf []byte) (n int, err error) {
	err = retry(func() error { n, err = unix.Getdents(fd, buf); return err })
	return n, err
}

// The layout of struct linux_dirent64 (getdents64(2)): d_ino 8 bytes, d_off 8,
// d_reclen 2, d_type 1, then the name, ended by NUL and padded.
const (
	reclenAt = 16
	typeAt   = 18
	nameAt   = 19
)

var errDirent = errors.New("malformed directory entry")

// parseEntries calls each for the entries that getdents64(2) put into buf.
func parseEntries(buf []byte, each func(Entry) error) error {
	for len(buf) > 0 {
		if len(buf) < nameAt {
			return errDirent
		}
		size := int(binary.NativeEndian.Uint16(buf[reclenAt:]))
		if size <= nameAt || size > len(buf) {
			return errDirent
		}
		if err := parseEntry(buf[:size], each); err != nil {
			return err
		}
		buf = buf[size:]
	}
	return nil
}

func parseEntry(record []byte, each func(Entry) error) error {
	name, _, ended := bytes.Cut(record[nameAt:], []byte{0})
	if !ended {
		return errDirent
	}
	if string(name) == "." || string(name) == ".." {
		return nil
	}
	return each(Entry{
		Name: string(name),
		Ino:  binary.NativeEndian.Uint64(record),
		Type: record[typeAt],
	})
}

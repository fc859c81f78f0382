package tests

import (
	"os"

	"golang.org/x/sys/unix"
)

func init() {
	for name, call := range clientRecordCalls {
		clientMoreCalls[name] = call
	}
}

// clientRecordCalls are calls of a client on parts of a file: on its descriptor, from a byte on, so many.
var clientRecordCalls = map[string]func(files clientFiles, w []string) (string, error){
	"pread": func(files clientFiles, w []string) (string, error) {
		b := make([]byte, clientNumber(w[3]))
		n, err := unix.Pread(files.get(w[1]), b, clientNumber(w[2]))
		return string(b[:max(n, 0)]), err
	},
	"pwrite": func(files clientFiles, w []string) (string, error) {
		_, err := unix.Pwrite(files.get(w[1]), []byte(w[3]), clientNumber(w[2]))
		return "", err
	},
	"allocate": func(files clientFiles, w []string) (string, error) {
		return "", unix.Fallocate(files.get(w[1]), 0, clientNumber(w[2]), clientNumber(w[3]))
	},
	"punch": func(files clientFiles, w []string) (string, error) {
		return "", unix.Fallocate(files.get(w[1]), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, clientNumber(w[2]), clientNumber(w[3]))
	},
	"sendfile": func(files clientFiles, w []string) (string, error) { return throughPipe(files.get(w[1]), w, false) },
	"splice":   func(files clientFiles, w []string) (string, error) { return throughPipe(files.get(w[1]), w, true) },
	"copyto": func(files clientFiles, w []string) (string, error) { // copyto TO BYTE FROM BYTE LENGTH
		at, off := clientNumber(w[2]), clientNumber(w[4])
		_, err := unix.CopyFileRange(files.get(w[3]), &off, files.get(w[1]), &at, int(clientNumber(w[5])), 0)
		return "", err
	},
	"privately": func(files clientFiles, w []string) (string, error) { // map the first page for reading
		b, err := unix.Mmap(files.get(w[1]), 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_PRIVATE)
		mappings[w[1]] = b
		return "", err
	},
}

// throughPipe reads without a buffer of the program's own.
func throughPipe(fd int, w []string, splice bool) (string, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return "", err
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	off, n := clientNumber(w[2]), int(clientNumber(w[3]))
	var err error
	if splice {
		_, err = unix.Splice(fd, &off, p[1], nil, n, 0)
	} else {
		_, err = unix.Sendfile(p[1], fd, &off, n)
	}
	return "", err
}

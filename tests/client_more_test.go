package tests

import (
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// mappings are the client's mapped files, by the names of the descriptors they were made from.
var mappings = map[string][]byte{}

// clientMoreCalls are further calls of a client, on a descriptor by its name or on a path.
var clientMoreCalls = map[string]func(files clientFiles, w []string) (string, error){
	"map": func(files clientFiles, w []string) (string, error) { // the first page, without reading it
		b, err := unix.Mmap(files.get(w[1]), 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
		mappings[w[1]] = b
		return "", err
	},
	"mapw": func(files clientFiles, w []string) (string, error) { // to write to it
		b, err := unix.Mmap(files.get(w[1]), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		mappings[w[1]] = b
		return "", err
	},
	"store":    func(_ clientFiles, w []string) (string, error) { copy(mappings[w[1]], w[2]); return "", nil },
	"unmap":    func(_ clientFiles, w []string) (string, error) { return "", unix.Munmap(mappings[w[1]]) },
	"load":     func(_ clientFiles, w []string) (string, error) { return loaded(mappings[w[1]]) },
	"fsync":    func(files clientFiles, w []string) (string, error) { return "", unix.Fsync(files.get(w[1])) },
	"fchmod":   func(files clientFiles, w []string) (string, error) { return "", unix.Fchmod(files.get(w[1]), 0o777) },
	"futimens": func(files clientFiles, w []string) (string, error) { return "", unix.Futimes(files.get(w[1]), past) },
	"fsetxattr": func(files clientFiles, w []string) (string, error) {
		return "", unix.Fsetxattr(files.get(w[1]), w[2], []byte(w[3]), 0)
	},
	"fgetxattr": func(files clientFiles, w []string) (string, error) {
		b := make([]byte, 1024)
		n, err := unix.Fgetxattr(files.get(w[1]), w[2], b)
		return string(b[:max(n, 0)]), err
	},
	"fallocate": func(files clientFiles, w []string) (string, error) {
		return "", unix.Fallocate(files.get(w[1]), 0, 0, clientNumber(w[2]))
	},
	"seekdata": func(files clientFiles, w []string) (string, error) {
		_, err := unix.Seek(files.get(w[1]), 0, unix.SEEK_DATA)
		return "", err
	},
	"reopen": func(files clientFiles, w []string) (string, error) { // by way of the descriptor
		fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", files.get(w[1])), clientFlags(w[2]), 0)
		unix.Close(fd)
		return "", err
	},
	"relink": func(files clientFiles, w []string) (string, error) { // gives what a descriptor has another name
		return "", unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", files.get(w[1])), unix.AT_FDCWD, w[2], unix.AT_SYMLINK_FOLLOW)
	},
	"order": func(_ clientFiles, w []string) (string, error) { // to the mount, and its answer
		f, err := os.OpenFile(".airlockfs/command", os.O_RDWR, 0)
		if err != nil {
			return "", err
		}
		defer f.Close()
		if _, err = f.WriteString(w[1]); err != nil {
			return "", err
		}
		b := make([]byte, 1<<14)
		n, err := f.Read(b)
		return string(b[:n]), err
	},
	"child": func(clientFiles, []string) (string, error) { // from now on it is a child that is told what to do
		child := exec.Command(os.Args[0])
		child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			return "", err
		}
		fmt.Println(`""`)
		_ = child.Wait()
		os.Exit(0)
		return "", nil
	},
	"chmod":  func(_ clientFiles, w []string) (string, error) { return "", unix.Chmod(w[1], 0o777) },
	"utimes": func(_ clientFiles, w []string) (string, error) { return "", unix.Utimes(w[1], past) },
	"exec": func(_ clientFiles, w []string) (string, error) { // not waited for: what it is matters not
		_, err := syscall.ForkExec(w[1], w[1:], &syscall.ProcAttr{})
		return "", err
	},
}

var past = []unix.Timeval{{Sec: 1000000000}, {Sec: 1000000000}}

// loaded is what is mapped, up to its first NUL, or SIGBUS.
func loaded(b []byte) (text string, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			text = "SIGBUS"
		}
	}()
	text, _, _ = strings.Cut(string(b), "\x00")
	return text, nil
}

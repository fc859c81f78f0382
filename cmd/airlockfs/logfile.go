package main

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
)

// logFile is the file of --log. Safe for concurrent use.
type logFile struct {
	path string
	std  bool // standard output and error go there too: those of a daemon

	mu   sync.Mutex
	file *os.File
}

func openLog(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640)
	if err != nil {
		return nil, failf(exitUsage, "the log file %s can't be opened: %w", show.Name(path), plain(err))
	}
	return f, nil
}

func newLogFile(path string, std bool) (*logFile, error) {
	f, err := openLog(path)
	return &logFile{path: path, std: std, file: f}, err
}

// Write appends to the file that has the path, or had it when reopen was called last.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Write(p)
}

// reopen lets go of a file that was moved away (logrotate(8)). If it fails the log goes on where it is.
func (l *logFile) reopen() error {
	f, err := openLog(l.path)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.file.Close()
	l.file = f
	if !l.std {
		return nil
	}
	for _, fd := range []int{unix.Stdout, unix.Stderr} { // where the Go runtime writes if the daemon crashes
		if err := unix.Dup3(int(f.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return nil
}

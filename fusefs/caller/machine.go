package caller

import (
	"fmt"
	"hash/fnv"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// machine is this host and this boot of it, as protocol.Process names them.
type machine struct{ host, boot string }

const shortID = 8 // hexadecimal digits

func thisMachine() (machine, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return machine{}, err
	}
	if len(boot) < shortID {
		return machine{}, fmt.Errorf("boot_id: %w", errFormat)
	}
	host, err := hostID()
	return machine{host: host, boot: string(boot[:shortID])}, err
}

// hostID is the beginning of machine-id(5), or of a hash of the host's name where there is no such file.
func hostID() (string, error) {
	id, err := os.ReadFile("/etc/machine-id")
	if text := strings.TrimSpace(string(id)); err == nil && len(text) >= shortID {
		return text[:shortID], nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", err
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name)) // never fails
	return fmt.Sprintf("%08x", sum.Sum32()), nil
}

// ownProc tells whether /proc is of our own pid namespace. It is not for a process that was put into a new one without a
// procfs of its own (unshare(1) without --mount-proc).
func ownProc() bool {
	st, err := readStatus(unix.AT_FDCWD, "/proc/self/status")
	return err == nil && st.tgid == os.Getpid()
}

// Here tells whether the process was one of this host's since it booted.
func (t *Table) Here(p protocol.Process) bool {
	return (p.Host == "" || p.Host == t.here.host) && p.Boot == t.here.boot
}

// Revive finds the living process that another daemon has written down. false: it has ended, or is of another host or
// boot. It is for the time before requests are served: see Recall.
func (t *Table) Revive(p protocol.Process) (*protocol.Party, bool) {
	if t.blind || !t.Here(p) || p.PID <= 0 || p.Start == 0 {
		return nil, false
	}
	e, _, err := t.process(p.PID, 0)
	if err != nil || !t.started(e, p.Start) {
		return nil, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return e.party, true
}

// Recall is Revive while requests are served. Where a process's identity is its start time it finds nobody: that must not
// be read then.
func (t *Table) Recall(p protocol.Process) (*protocol.Party, bool) {
	if !t.unique {
		return nil, false
	}
	return t.Revive(p)
}

// started compares the process's identity. Where that is the start time, stat is read: no caller can be waiting yet.
func (t *Table) started(e *entry, start uint64) bool {
	if t.unique {
		return e.ino == start
	}
	st := stat{}
	err := e.dir.use(func(dir int) (err error) {
		st, err = readStat(dir, "stat")
		return err
	})
	if err != nil || st.start != start {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noteLocked(e, st)
	return true
}

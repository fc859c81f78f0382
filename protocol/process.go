package protocol

import (
	"fmt"
	"strconv"
	"strings"
)

// Process identifies a process across restarts of the daemon, up to a reboot: pid and start time (clock ticks since
// boot, field 22 of proc_pid_stat(5)) within one boot of one host.
type Process struct {
	Host    string // first 8 hexadecimal digits of the machine's id; "" is this host
	Boot    string // first 8 hexadecimal digits of the boot id
	PID     int
	Start   uint64
	UID     uint32
	Session int
}

// String is how the disk names a process: HOST.BOOT.PID.START.UID.SESSION.
func (p Process) String() string {
	return fmt.Sprintf("%s.%s.%d.%d.%d.%d", hex(p.Host), hex(p.Boot), p.PID, p.Start, p.UID, p.Session)
}

// ParseProcess is the inverse of String. It accepts exactly what String writes.
func ParseProcess(s string) (Process, error) {
	f := strings.Split(s, ".")
	if len(f) != 6 || processOf(f).String() != s {
		return Process{}, fmt.Errorf("%q names no process", s)
	}
	return processOf(f), nil
}

// processOf reads the first six fields of a process's name; what is no number is 0.
func processOf(f []string) Process {
	p := Process{Host: unhex(f[0]), Boot: unhex(f[1])}
	p.PID, _ = strconv.Atoi(f[2])
	p.Start, _ = strconv.ParseUint(f[3], 10, 64)
	uid, _ := strconv.ParseUint(f[4], 10, 32)
	p.UID = uint32(uid)
	p.Session, _ = strconv.Atoi(f[5])
	return p
}

func hex(s string) string {
	if s == "" {
		return "0"
	}
	return s
}

func unhex(s string) string {
	if s == "0" {
		return ""
	}
	return s
}

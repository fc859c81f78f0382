package actor

import (
	"hash/crc32"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/tests/torture/parcel"
)

// die ends this process by a signal that Go's runtime leaves alone, such as KILL and TERM.
func die(s syscall.Signal) {
	_ = unix.Kill(unix.Getpid(), s)
	for {
		_, _ = unix.Poll(nil, -1) // until it is there
	}
}

// sized is a parcel whose size follows from its name.
func sized(name string) []byte {
	return parcel.Make(name, int(crc32.ChecksumIEEE([]byte(name))%20_000))
}

package tests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// changing are the system calls that change the disk, or promise that it holds what was written. openat2 counts where it
// makes something. (strace(1) can kill at the n-th call too, but it counts those of each thread apart, and a Go program's
// calls wander between threads.)
var changing = map[uintptr]string{
	unix.SYS_RENAMEAT2: "renameat2", unix.SYS_LINKAT: "linkat", unix.SYS_UNLINKAT: "unlinkat", unix.SYS_MKDIRAT: "mkdirat",
	unix.SYS_MKNODAT: "mknodat", unix.SYS_SYMLINKAT: "symlinkat", unix.SYS_OPENAT2: "openat2", unix.SYS_PWRITE64: "pwrite64",
	unix.SYS_FTRUNCATE: "ftruncate", unix.SYS_FALLOCATE: "fallocate", unix.SYS_COPY_FILE_RANGE: "copy_file_range",
	unix.SYS_SETXATTR: "setxattr", unix.SYS_LSETXATTR: "lsetxattr", unix.SYS_FSETXATTR: "fsetxattr",
	unix.SYS_REMOVEXATTR: "removexattr", unix.SYS_LREMOVEXATTR: "lremovexattr", unix.SYS_FREMOVEXATTR: "fremovexattr",
	unix.SYS_FCHOWN: "fchown", unix.SYS_FCHOWNAT: "fchownat", unix.SYS_FCHMOD: "fchmod", unix.SYS_FCHMODAT: "fchmodat",
	unix.SYS_UTIMENSAT: "utimensat", unix.SYS_FDATASYNC: "fdatasync", unix.SYS_FSYNC: "fsync",
}

func init() { helpers["killer"] = killer }

// killedAt is the command that runs another one as its child and kills it just before its n-th call that changes the disk.
func killedAt(n int) []string {
	return []string{"env", "AIRLOCKFS_TEST_HELPER=killer", os.Args[0], "--", strconv.Itoa(n)}
}

// killer is that command. It says before which call it killed; it ends when its child has ended.
func killer(args []string) int {
	runtime.LockOSThread() // who traces is a thread
	at, err := strconv.Atoi(args[0])
	if err == nil {
		err = reportCalls()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "killer:", err)
		return 1
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
	if err = cmd.Start(); err == nil {
		err = (&tracing{pid: cmd.Process.Pid, at: at}).untilEnd()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "killer:", err)
		return 1
	}
	return 0
}

// reportCalls has the kernel report the calls that this thread's children make (seccomp(2), SECCOMP_RET_TRACE).
func reportCalls() error {
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the number of the call
	for nr := range changing {
		program = append(program,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(nr)},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_TRACE})
	}
	program = append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}

// tracing is a process whose calls are counted.
type tracing struct {
	pid, at, calls int
}

// untilEnd lets the child run until it ends, by itself or by us.
func (k *tracing) untilEnd() error {
	var ws unix.WaitStatus
	if _, err := unix.Wait4(k.pid, &ws, unix.WALL, nil); err != nil { // it stops at its execve(2)
		return err
	}
	options := unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_EXITKILL
	err := errors.Join(unix.PtraceSetOptions(k.pid, options), unix.PtraceCont(k.pid, 0))
	for err == nil {
		var tid int
		tid, err = unix.Wait4(-1, &ws, unix.WALL, nil)
		if err == nil && ws.Stopped() {
			k.resume(tid, ws)
		}
	}
	if err == unix.ECHILD {
		fmt.Printf("%d calls\n", k.calls)
		return nil
	}
	return err
}

// resume lets a thread go on that stopped. One that was killed meanwhile does not come back.
func (k *tracing) resume(tid int, ws unix.WaitStatus) {
	signal := 0
	switch {
	case ws>>8 == unix.WaitStatus(unix.SIGTRAP)|unix.PTRACE_EVENT_SECCOMP<<8:
		k.count(tid)
	case ws.StopSignal() != unix.SIGTRAP && ws.StopSignal() != unix.SIGSTOP: // a new thread stops by SIGSTOP
		signal = int(ws.StopSignal())
	}
	_ = unix.PtraceCont(tid, signal)
}

// count counts a call that is about to be made, and kills instead if it is the one. What is killed here does not make it.
func (k *tracing) count(tid int) {
	nr, args := callOf(tid)
	if nr == unix.SYS_OPENAT2 && !makes(tid, args[2]) {
		return
	}
	if k.calls++; k.calls == k.at {
		fmt.Printf("killed before call %d, %s\n", k.calls, changing[nr])
		_ = unix.Kill(k.pid, unix.SIGKILL)
	}
}

// callOf is the call a thread is about to make (struct ptrace_syscall_info of ptrace(2)).
func callOf(tid int) (nr uintptr, args [6]uint64) {
	var info struct {
		op   uint8
		_    [3]uint8
		_    uint32
		_, _ uint64
		nr   uint64
		args [6]uint64
		_    uint32
	}
	unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	return uintptr(info.nr), info.args
}

// makes: the flags of an openat2(2), which begin its struct open_how, ask for a new file.
func makes(tid int, how uint64) bool {
	var word [8]byte
	_, err := unix.PtracePeekData(tid, uintptr(how), word[:])
	flags := *(*uint64)(unsafe.Pointer(&word))
	return err != nil || flags&(unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY) != 0
}

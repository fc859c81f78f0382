package fusefs

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// workerVariable makes this test binary a client of a mount: it holds the mountpoint.
const workerVariable = "AIRLOCKFS_TEST_WORKER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(workerVariable); dir != "" {
		work(dir)
		return
	}
	os.Exit(m.Run())
}

// labourer makes calls on a mount, of all kinds that leave something in a table, and cleans up.
type labourer struct {
	dir   string
	round int
	calls int
}

// work does rounds, as many as each line of standard input says, and answers how many calls those were. The victim's mode
// makes a mess and waits to be killed.
func work(dir string) {
	w := &labourer{dir: filepath.Join(dir, fmt.Sprint("of-", os.Getpid()))}
	if len(os.Args) > 1 && os.Args[1] == "victim" {
		w.dir = os.Args[2]
		w.leave()
		return
	}
	w.must(unix.Mkdir(w.dir, 0o777), unix.Chmod(w.dir, 0o777))
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Println(w.calls) {
		rounds, _ := strconv.Atoi(in.Text())
		for range rounds {
			w.once()
		}
	}
	w.must(unix.Rmdir(w.dir))
}

func (w *labourer) once() {
	w.round++
	w.handOver()
	w.replace()
	w.folders()
	w.names()
	w.locks()
	w.refused()
	if w.round%50 == 0 {
		w.kill()
		w.reports()
	}
}

// must counts calls that must succeed.
func (w *labourer) must(errs ...error) {
	for _, err := range errs {
		if w.calls++; err != nil {
			panic(fmt.Sprintf("round %d: %v", w.round, err))
		}
	}
}

// fail counts a call that must fail so.
func (w *labourer) fail(want, err error) {
	if w.calls++; err != want {
		panic(fmt.Sprintf("round %d: %v instead of %v", w.round, err, want))
	}
}

func (w *labourer) path(name string) string { return filepath.Join(w.dir, name) }

func (w *labourer) open(name string, flags int) int {
	for {
		fd, err := unix.Open(w.path(name), flags|unix.O_CLOEXEC, 0o666)
		if err == unix.EINTR {
			continue
		}
		w.must(err)
		return fd
	}
}

func (w *labourer) write(name string, flags int) {
	fd := w.open(name, unix.O_WRONLY|unix.O_CREAT|flags)
	_, err := unix.Write(fd, []byte("some text"))
	w.must(err, unix.Close(fd))
}

func (w *labourer) read(name string) {
	fd := w.open(name, unix.O_RDONLY)
	_, err := unix.Read(fd, make([]byte, 64))
	w.must(err, unix.Close(fd))
}

// handOver: under a temp name, renamed, read, removed. Each name is another one.
func (w *labourer) handOver() {
	name := fmt.Sprint("item-", w.round)
	w.write(name+".tmp", unix.O_EXCL)
	w.must(unix.Rename(w.path(name+".tmp"), w.path(name)))
	w.read(name)
	w.must(unix.Unlink(w.path(name)))
}

// replace: written over, appended to, truncated, given back, and claimed by a rename.
func (w *labourer) replace() {
	w.write("again", unix.O_TRUNC)
	w.write("again", unix.O_TRUNC)
	w.write("again", unix.O_APPEND)
	w.must(unix.Chmod(w.path("again"), 0o644), unix.Truncate(w.path("again"), 4))
	w.must(unix.Rename(w.path("again"), w.path("again.tmp")), unix.Unlink(w.path("again.tmp")))
}

// folders come and go, with what is in them.
func (w *labourer) folders() {
	dir := fmt.Sprint("folder-", w.round)
	w.must(unix.Mkdir(w.path(dir), 0o755))
	w.write(dir+"/f", 0)
	w.must(unix.Rename(w.path(dir), w.path(dir+"x")))
	w.read(dir + "x/f")
	_, err := os.ReadDir(w.path(dir + "x"))
	w.must(err, unix.Unlink(w.path(dir+"x/f")), unix.Rmdir(w.path(dir+"x")))
}

// names: several of one file, none, links, attributes.
func (w *labourer) names() {
	var st unix.Stat_t
	w.fail(unix.ENOENT, unix.Stat(w.path(fmt.Sprint("no-such-", w.round)), &st))
	w.write("one", 0)
	w.must(unix.Link(w.path("one"), w.path("two")), unix.Setxattr(w.path("two"), "user.test", []byte("x"), 0))
	w.must(unix.Unlink(w.path("one")), unix.Unlink(w.path("two")))
	w.must(unix.Symlink("nowhere", w.path("link")), unix.Unlink(w.path("link")))
	w.must(unix.Mkfifo(w.path("fifo"), 0o600), unix.Unlink(w.path("fifo")))
	w.write("aside.tmp", 0)
	w.must(unix.Link(w.path("aside.tmp"), w.path("aside")), unix.Unlink(w.path("aside.tmp")), unix.Unlink(w.path("aside")))
}

// locks of each kind, on a file that is made to be locked.
func (w *labourer) locks() {
	fd := w.open("f.lock", unix.O_RDWR|unix.O_CREAT)
	whole := &unix.Flock_t{Type: unix.F_WRLCK}
	w.must(unix.Flock(fd, unix.LOCK_EX), unix.Flock(fd, unix.LOCK_UN))
	w.must(unix.FcntlFlock(uintptr(fd), unix.F_SETLK, whole))
	whole.Len, whole.Start = 1, 7
	whole.Type = unix.F_UNLCK
	w.must(unix.FcntlFlock(uintptr(fd), unix.F_SETLK, whole), unix.Unlink(w.path("f.lock")), unix.Close(fd))
}

// refused: exclusive creation of what is there, a folder that is not empty, a name that is ours.
func (w *labourer) refused() {
	w.write("there", 0)
	fd, err := unix.Open(w.path("there"), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	w.fail(unix.EEXIST, err)
	_ = fd
	w.fail(unix.ENOTDIR, unix.Rmdir(w.path("there")))
	w.fail(unix.EPERM, unix.Setxattr(w.path("there"), "user.airlockfs.state", []byte("x"), 0))
	w.must(unix.Unlink(w.path("there")))
}

// kill: another user's process has claimed something, writes, holds a lock, and is killed.
func (w *labourer) kill() {
	w.write("prey", 0)
	victim := exec.Command("/proc/self/exe", "victim", w.dir)
	victim.Stderr = os.Stderr
	victim.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: uint32(100_000 + w.round), Gid: 100_000}}
	out, err := victim.StdoutPipe()
	w.must(err, unix.Chmod(w.path("prey"), 0o666), victim.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	w.must(err)
	w.fail(unix.ENOENT, unix.Unlink(w.path("prey")))
	_ = victim.Process.Kill()
	_ = victim.Wait()
	w.must(unix.Unlink(w.path("prey")), unix.Unlink(w.path("held.lock")))
}

// leave is what a victim does.
func (w *labourer) leave() {
	for name, flags := range map[string]int{"prey": unix.O_RDONLY, "half": unix.O_WRONLY | unix.O_CREAT, "half.tmp": unix.O_WRONLY | unix.O_CREAT,
		"held.lock": unix.O_RDWR | unix.O_CREAT} {
		fd := w.open(name, flags)
		if flags != unix.O_RDONLY {
			_, err := unix.Write(fd, []byte("1\n"))
			w.must(err)
		}
		if name == "held.lock" {
			w.must(unix.Flock(fd, unix.LOCK_EX))
		}
	}
	fmt.Println("ready")
	select {}
}

// reports are read as the commands read them.
func (w *labourer) reports() {
	for _, name := range []string{"status", "locks", "events", "requests"} {
		_, err := os.ReadFile(filepath.Join(filepath.Dir(w.dir), ".airlockfs", name))
		w.must(err)
	}
}

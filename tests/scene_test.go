package tests

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// scene is a sequence of system calls in a fresh folder, with what each of them gave and what can be seen of it: the same
// lines on every filesystem that keeps to POSIX. A helper process plays it.
type scene struct {
	lines []string
	files []int
}

// scenes are all of them, by name.
var scenes = map[string]func(s *scene){}

func init() { helpers["scenes"] = playScenes }

// playScenes plays the scenes that are named, each in a folder of its own below the first argument, and prints what they
// gave: "SCENE: line".
func playScenes(args []string) int {
	runtime.LockOSThread() // some scenes act as another user
	unix.Umask(0o022)
	names := args[1:]
	if len(names) == 0 {
		names = sortedKeys(scenes)
	}
	for _, name := range names {
		dir := filepath.Join(args[0], name)
		if err := errors.Join(os.Mkdir(dir, 0o777), os.Chmod(dir, 0o777), os.Chdir(dir)); err != nil {
			fmt.Println(name+":", err)
			return 1
		}
		s := &scene{}
		scenes[name](s)
		for _, line := range s.lines {
			fmt.Printf("%s: %s\n", name, line)
		}
		for _, fd := range s.files {
			unix.Close(fd)
		}
	}
	return 0
}

// say notes what was seen.
func (s *scene) say(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// try notes how a call ended.
func (s *scene) try(call string, err error) bool {
	s.say("%s: %s", call, errnoName(err))
	return err == nil
}

func errnoName(err error) string {
	var errno unix.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// must notes a call only if it failed: it only sets the scene.
func (s *scene) must(err error) {
	if err != nil {
		s.say("%v", err)
	}
}

// file makes a complete file.
func (s *scene) file(name, content string) {
	s.must(os.WriteFile(name, []byte(content), 0o644))
}

// open opens a file for the rest of the scene.
func (s *scene) open(name string, flags int) int {
	fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0o644)
	s.try(fmt.Sprintf("open %s %#o", short(name), flags), err)
	if err == nil {
		s.files = append(s.files, fd)
	}
	return fd
}

// short is a name for people.
func short(name string) string {
	if len(name) > 40 {
		return fmt.Sprintf("%s…(%d bytes)", name[:8], len(name))
	}
	return name
}

// fd describes what a descriptor is open on.
func (s *scene) fd(what string, fd int) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		s.try(what, err)
		return
	}
	s.say("%s: %s", what, describe(&st))
}

// stat describes what a name means.
func (s *scene) stat(name string) {
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		s.try("lstat "+short(name), err)
		return
	}
	s.say("%s: %s", short(name), describe(&st))
}

func describe(st *unix.Stat_t) string {
	text := fmt.Sprintf("mode %o, %d links, %d:%d", st.Mode, st.Nlink, st.Uid, st.Gid)
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		text += fmt.Sprintf(", %d bytes", st.Size)
	}
	return text
}

// read notes the bytes under a name.
func (s *scene) read(name string) {
	b, err := os.ReadFile(name)
	s.say("%s contains %s %s", name, digest(b), errnoName(err))
}

func digest(b []byte) string {
	if len(b) <= 60 {
		return fmt.Sprintf("%q", b)
	}
	return fmt.Sprintf("%d bytes %.4x", len(b), sha256.Sum256(b))
}

// tree notes everything that is in the folder.
func (s *scene) tree() {
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			s.try("walk "+path, err)
		case path == ".":
		default:
			s.stat(path)
			if e.Type().IsRegular() {
				s.read(path)
			}
		}
		return nil
	})
	s.must(err)
}

// as runs calls with the rights of another user.
func (s *scene) as(uid int, do func()) {
	setRights(uid)
	defer setRights(0)
	do()
}

// setRights sets who this thread is to filesystems (setfsuid(2)); root's rights go and come with it.
func setRights(uid int) {
	for _, call := range []uintptr{unix.SYS_SETFSGID, unix.SYS_SETFSUID} {
		if _, _, errno := unix.RawSyscall(call, uintptr(uid), 0, 0); errno != 0 {
			panic(errno)
		}
	}
}

func inode(name string) uint64 {
	var st unix.Stat_t
	if unix.Lstat(name, &st) != nil {
		return 0
	}
	return st.Ino
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

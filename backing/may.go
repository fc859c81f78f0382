package backing

import (
	"errors"
	"runtime"

	"golang.org/x/sys/unix"
)

// identity is whom the kernel takes a thread for when it checks a file.
type identity struct {
	uid, gid int
	groups   []int
}

func currentIdentity() (identity, error) {
	groups, err := unix.Getgroups()
	return identity{unix.Geteuid(), unix.Getegid(), groups}, err
}

// May tells whether a user would have want (unix.W_OK | unix.X_OK …) on a
// folder: the kernel decides, by mode bits, groups and ACLs. uid 0 always has.
// What is no folder of ours is no, and so is what the daemon may not find out: another
// user's rights when it is not root.
func (s *Store) May(folder string, uid, gid uint32, groups []uint32, want uint32) (bool, error) {
	return s.allowed(Object{Folder: folder}, uid, gid, groups, want, func(can func(fd int) error) error { return s.inFolder(folder, can) })
}

// MayFile is May for anything that has a name.
func (s *Store) MayFile(o Object, uid, gid uint32, groups []uint32, want uint32) (bool, error) {
	return s.allowed(o, uid, gid, groups, want, func(can func(fd int) error) error { return s.with(o, can) })
}

func (s *Store) allowed(o Object, uid, gid uint32, groups []uint32, want uint32, on func(can func(fd int) error) error) (bool, error) {
	if uid == 0 {
		return true, nil
	}
	can := func(fd int) error { return access(fd, want) }
	if int(uid) != s.self.uid {
		user := identity{int(uid), int(gid), asInts(groups)}
		can = func(fd int) error {
			return s.self.actAs(user, func() error { return access(fd, want) })
		}
	}
	err := s.run(Call{Name: "access", Object: o}, func() error { return on(can) })
	for _, no := range []error{unix.EACCES, unix.EPERM, unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV} {
		if errors.Is(err, no) {
			return false, nil
		}
	}
	return err == nil, err
}

// access asks for the rights of the file-system ids on an open object;
// AT_EACCESS keeps the kernel from using the real ids instead.
func access(fd int, want uint32) error {
	return retry(func() error {
		return unix.Faccessat2(fd, "", want, unix.AT_EACCESS|unix.AT_EMPTY_PATH)
	})
}

// actAs runs a call as another user, on a thread of its own: credentials
// belong to threads. If the thread can't get its own identity back it is left
// locked, and the runtime ends it with its goroutine (the main thread, which
// can't end, is parked for ever).
func (id identity) actAs(other identity, call func() error) error {
	answer := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := other.assume()
		if err == nil {
			err = call()
		}
		if id.assume() == nil {
			runtime.UnlockOSThread()
		}
		answer <- err
	}()
	return <-answer
}

// assume makes the locked thread act as id. x/sys, unlike package syscall,
// changes this thread only. setfsuid(2) reports no failure; asked for an
// impossible id it changes nothing and tells the present one. Leaving uid 0 it
// also takes the capabilities that override permissions, and gives them back
// on return.
func (id identity) assume() error {
	if err := unix.Setgroups(id.groups); err != nil {
		return err
	}
	if _, err := unix.SetfsgidRetGid(id.gid); err != nil {
		return err
	}
	if _, err := unix.SetfsuidRetUid(id.uid); err != nil {
		return err
	}
	gid, _ := unix.SetfsgidRetGid(-1)
	uid, _ := unix.SetfsuidRetUid(-1)
	if gid != id.gid || uid != id.uid {
		return unix.EPERM
	}
	return nil
}

func asInts(ids []uint32) []int {
	out := make([]int, len(ids))
	for i, id := range ids {
		out[i] = int(id)
	}
	return out
}

package fusefs

import (
	"errors"
	"slices"
	"strings"
	"syscall"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// mostIdleSlots bounds the empty folders that are kept because their owner is likely to need them again.
const mostIdleSlots = 64

// spareSlots are kept for a full disk.
const spareSlots = 8

// slots keeps account of the folders below the control folder that private items lie in: one per state, owner and
// folder of the mount, made when first needed. Guarded by desk.mu, but for the disk's part.
type slots struct {
	store *backing.Store
	names map[string]map[string]struct{} // folder → names in it
	idle  []string                       // empty ones, oldest first
}

func newSlots(s *backing.Store) slots {
	return slots{store: s, names: map[string]map[string]struct{}{}}
}

// free tells whether a name may still be put into a folder.
func (s *slots) free(folder, name string) bool {
	_, taken := s.names[folder][name]
	return !taken
}

// enter takes a name in a folder, making the folder if it isn't there.
func (s *slots) enter(at backing.Object) error {
	if s.names[at.Folder] == nil {
		if err := s.make(at.Folder); err != nil {
			return err
		}
		s.names[at.Folder] = map[string]struct{}{}
	}
	s.names[at.Folder][at.Name] = struct{}{}
	return nil
}

// make makes a folder; on a full disk it renames an idle one, so that readers can still empty the disk.
func (s *slots) make(folder string) error {
	err := s.store.MakePrivate(folder)
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	for n := len(s.idle) - 1; n >= 0; n-- {
		spare := s.idle[n]
		if len(s.names[spare]) > 0 || s.names[spare] == nil {
			continue
		}
		if s.store.Move(object(spare), object(folder), backing.NoReplace) != nil {
			continue
		}
		s.store.Forget(spare)
		delete(s.names, spare)
		s.idle = slices.Delete(s.idle, n, n+1)
		return nil
	}
	return err
}

// spare makes folders for that.
func (s *slots) spare(folders int) error {
	for n := range folders {
		p := protocol.Place{State: protocol.Claimed, Folder: "0", Slot: n}
		at := backing.Object{Folder: backing.Control + "/" + p.State.Area() + "/" + p.Dir(), Name: "spare"}
		if err := s.enter(at); err != nil {
			return err
		}
		s.leave(at)
	}
	return nil
}

// object is a folder as what it is in the folder above it.
func object(folder string) backing.Object {
	above, name, _ := cutLast(folder)
	return backing.Object{Folder: above, Name: name}
}

// leave gives a name back. Objects outside the control folder are none of its business.
func (s *slots) leave(at backing.Object) {
	names, ok := s.names[at.Folder]
	if !ok || !strings.HasPrefix(at.Folder, backing.Control+"/") {
		return
	}
	delete(names, at.Name)
	if len(names) > 0 {
		return
	}
	s.idle = append(s.idle, at.Folder)
	if len(s.idle) > mostIdleSlots {
		s.drop(s.idle[0])
		s.idle = s.idle[1:]
	}
}

// drop removes a folder if it is (still) empty. One that the disk does not let go of stays in the account.
func (s *slots) drop(folder string) {
	if names, ok := s.names[folder]; !ok || len(names) > 0 {
		return
	}
	err := s.store.Rmdir(object(folder)) // what came into it by another hand stays
	if err != nil && !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ENOTEMPTY) {
		s.idle = append(s.idle, folder)
		return
	}
	delete(s.names, folder)
}

// dropIdle removes all empty folders: the mount ends.
func (s *slots) dropIdle() {
	for _, f := range s.idle {
		s.drop(f)
	}
	s.idle = nil
}

func cutLast(path string) (folder, name string, ok bool) {
	n := strings.LastIndexByte(path, '/')
	if n < 0 {
		return "", path, false
	}
	return path[:n], path[n+1:], true
}

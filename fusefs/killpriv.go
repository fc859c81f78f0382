package fusefs

import "golang.org/x/sys/unix"

// The kernel leaves it to us to take set-user-id and set-group-id away from a file that somebody without CAP_FSETID
// writes, truncates or gives away (FUSE_HANDLE_KILLPRIV_V2), and tells us when. In return it does not ask for
// security.capability before every write.

// withoutPrivileges is a mode without what write(2) takes away: set-group-id only where the group may execute.
func withoutPrivileges(mode uint32) uint32 {
	mode &^= unix.S_ISUID
	if mode&unix.S_IXGRP != 0 {
		mode &^= unix.S_ISGID
	}
	return mode
}

// killPriv takes them away from what a handle writes.
func (d *desk) killPriv(h *handle) error {
	f, err := h.own(), error(nil)
	if h.kind() != inPlaceHandle { // there the write that follows asks whether it may
		f, err = d.writable(h, nil)
	}
	if err != nil || f == nil {
		return err
	}
	st, err := f.Stat2()
	if err != nil || withoutPrivileges(st.Mode) == st.Mode {
		return err
	}
	return f.Chmod(withoutPrivileges(st.Mode) & 0o7777)
}

// killPrivNode takes them away from a node, as chown(2) and truncate(2) do.
func (d *desk) killPrivNode(id uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.nodeLocked(id)
	if err != nil {
		return err
	}
	st, err := d.statLocked(n)
	if err != nil || n.kind != itemNode || withoutPrivileges(st.Mode) == st.Mode {
		return err
	}
	mode := withoutPrivileges(st.Mode) & 0o7777
	return d.changeLocked(n, change{mode: &mode, uid: -1, gid: -1})
}

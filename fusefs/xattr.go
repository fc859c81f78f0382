package fusefs

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"github.com/airlockfs/airlockfs/protocol"
)

// ours is the prefix of the attributes that tell of the protocol. They are read-only and not on the disk; what is there
// under the prefix is the desk's own note.
const ours = "user.airlockfs."

// xattrListMax bounds a list of attribute names, in bytes (XATTR_LIST_MAX in linux/limits.h).
const xattrListMax = 65536

// virtualXattr is one of the attributes that tell of an item or folder.
func (d *desk) virtualXattrLocked(n *node, p *protocol.Party, name string) (string, error) {
	if n.kind == folderNode && name == "hidden" {
		return strconv.Itoa(d.hiddenBelowLocked(n)), nil
	}
	if n.kind != itemNode {
		return "", syscall.ENODATA
	}
	i := &n.bytes.item
	switch name {
	case "state":
		return d.stateLocked(n), nil
	case "attempts":
		return strconv.Itoa(i.Attempts), nil
	case "class":
		return i.Match.Class.String(), nil
	case "lease":
		return d.leaseTextLocked(n, p.Process.UID)
	case "holds":
		return d.holdsLocked(n, p), nil
	}
	return "", syscall.ENODATA
}

// holdsLocked says who holds an item; to other users, only that somebody does.
func (d *desk) holdsLocked(n *node, p *protocol.Party) string {
	i := &n.bytes.item
	if i.Owner == 0 {
		return ""
	}
	whom := "another user"
	if d.oversees(p.Process.UID) || p.Process.UID == i.UID {
		whom = called(d.Callers.Party(i.Owner))
	}
	return fmt.Sprintf("%s by %s since %s", i.State, whom, i.Since.Format("15:04:05"))
}

// hiddenBelowLocked counts the private items below a folder.
func (d *desk) hiddenBelowLocked(folder *node) int {
	count := 0
	for _, n := range d.table.byID {
		if n.kind == itemNode && n.bytes.item.Private() {
			if parent := d.table.byID[uint64(n.bytes.item.Name.Folder)]; parent != nil && parent.below(folder) {
				count++
			}
		}
	}
	return count
}

// xattrTarget is where a node's attributes are on the disk, if the caller may know of it.
func (d *desk) xattrTargetLocked(p *protocol.Party, id uint64) (*node, error) {
	n, err := d.nodeLocked(id)
	if err != nil {
		return nil, err
	}
	if n.kind == controlNode {
		return nil, syscall.ENODATA
	}
	if err = d.mayKnowLocked(n, p); err == nil {
		err = d.fencedLocked(n, p, "use attributes")
	}
	return n, err
}

func (d *desk) getxattr(p *protocol.Party, id uint64, name string, buf []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.xattrTargetLocked(p, id)
	if err != nil {
		return 0, err
	}
	if short, ok := strings.CutPrefix(name, ours); ok {
		v, err := d.virtualXattrLocked(n, p, short)
		return fit(buf, v), tooSmall(buf, v, err)
	}
	target, err := d.attributesLocked(n)
	if err != nil {
		return 0, err
	}
	return target.GetXattr(name, buf)
}

func fit(buf []byte, v string) int {
	copy(buf, v)
	return len(v)
}

// tooSmall: ERANGE as getxattr(2) has it; an empty buffer only asks for the size.
func tooSmall(buf []byte, v string, err error) error {
	if err == nil && len(buf) > 0 && len(v) > len(buf) {
		return syscall.ERANGE
	}
	return err
}

func (d *desk) setxattr(p *protocol.Party, id uint64, name string, value []byte, flags int) error {
	if strings.HasPrefix(name, ours) {
		return d.refuseAttr(p, id, "setxattr")
	}
	return d.onXattrTarget(p, id, func(a attributes) error { return a.SetXattr(name, value, flags) })
}

func (d *desk) removexattr(p *protocol.Party, id uint64, name string) error {
	if strings.HasPrefix(name, ours) {
		return d.refuseAttr(p, id, "removexattr")
	}
	return d.onXattrTarget(p, id, func(a attributes) error { return a.RemoveXattr(name) })
}

// refuseAttr: these attributes tell of the protocol, and can't be written.
func (d *desk) refuseAttr(p *protocol.Party, id uint64, verb string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	path := "."
	if n, _ := d.nodeLocked(id); n != nil && n.kind == itemNode {
		path = d.pathLocked(n.bytes.item.Name)
	} else if n != nil && n.path() != "" {
		path = n.path()
	}
	return d.refuseLocked(attempt{by: p, verb: verb, path: path}, &protocol.Refusal{Reason: protocol.Reserved, WhatNow: "the attribute is airlockfs's to set"})
}

func (d *desk) onXattrTarget(p *protocol.Party, id uint64, do func(attributes) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.xattrTargetLocked(p, id)
	if err != nil {
		return err
	}
	target, err := d.attributesLocked(n)
	if err != nil {
		return err
	}
	return do(target)
}

// listxattr lists what is on the disk, without the desk's own note.
func (d *desk) listxattr(p *protocol.Party, id uint64) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.xattrTargetLocked(p, id)
	if err != nil {
		return nil, err
	}
	target, err := d.attributesLocked(n)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, xattrListMax)
	size, err := target.ListXattr(buf)
	if err != nil {
		return nil, err
	}
	var shown []byte
	for _, name := range strings.SplitAfter(string(buf[:size]), "\x00") {
		if !strings.HasPrefix(name, ours) {
			shown = append(shown, name...)
		}
	}
	return shown, nil
}

package fusefs

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// recoverLocked takes over what an earlier mount left in the control folder: first everything is looked at, then each item is
// decided about. It runs before the first request.
func (d *desk) recoverLocked() error {
	d.lifting = true // what waits behind an item that is gone is decided about in its turn
	defer func() { d.lifting = false }()
	if err := errors.Join(d.findTokensLocked(), d.readFoldersLocked(), d.readReplacedLocked()); err != nil {
		return err
	}
	var all []*relic
	for _, area := range protocol.Areas() {
		found, err := d.scanLocked(area)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	if err := d.recoverMarksLocked(); err != nil {
		return err
	}
	for _, r := range all {
		at := r.node.bytes.at
		d.Log.Debug("found", "path", d.pathLocked(r.node.bytes.item.Name), "at", at, "by", doer(d.Callers.Party(r.node.bytes.item.Owner)))
		if err := d.reviveLocked(r); err != nil {
			return fmt.Errorf("%s can't be taken up: %w: airlockfs check may say why, or take it out of there", at, err)
		}
	}
	return nil
}

// relic is an item that a scan found.
type relic struct {
	node     *node
	closed   bool
	homeless bool // its folder is gone: there is no name to give it back under
}

// readFoldersLocked reads the registry of folders.
func (d *desk) readFoldersLocked() error {
	var keys, drafts []string
	err := d.Store.List(foldersArea, func(e backing.Entry) error {
		key, isDraft := strings.CutSuffix(e.Name, draftSuffix)
		key, _, _ = strings.Cut(key, ".")
		number, ok := keyNumber(key)
		switch {
		case !ok, e.Type != unix.DT_LNK && e.Type != unix.DT_UNKNOWN, key != e.Name && !isDraft:
			d.leftAlone(foldersArea + "/" + e.Name)
		case isDraft:
			drafts = append(drafts, e.Name)
		default:
			keys = append(keys, e.Name)
			d.lastKey = max(d.lastKey, number)
		}
		return nil
	})
	for _, name := range drafts {
		err = errors.Join(err, d.recoverDraftLocked(name))
	}
	for _, key := range keys {
		path, errRead := d.Store.Readlink(backing.Object{Folder: foldersArea, Name: key})
		if errRead != nil {
			err = errors.Join(err, errRead)
			continue
		}
		switch n, errWalk := d.walkLocked(path); {
		case errWalk == nil && n.id != rootID:
			n.folder.key = key
			d.keys[key] = n
		case errWalk != nil && !noFolder(errWalk):
			err = errors.Join(err, errWalk)
		}
	}
	return err
}

// keyNumber reads a folder's key. The root's is in no registry.
func keyNumber(key string) (uint64, bool) {
	n, err := strconv.ParseUint(key, 36, 63)
	return n, err == nil && n > 0 && strconv.FormatUint(n, 36) == key
}

// leftAlone tells of something that somebody has put into the control folder. It may be dear to him.
func (d *desk) leftAlone(at string) {
	d.Log.Warn("something in the control folder is not of this program's making and is left alone: see airlockfs check", "at", at)
}

// walkLocked is the node of a folder by its path from the root.
func (d *desk) walkLocked(path string) (*node, error) {
	n := d.table.byID[rootID]
	for _, name := range strings.Split(path, "/") {
		if name == "" {
			continue
		}
		_, next, err := d.lookLocked(n, name)
		if err != nil {
			return nil, err
		}
		if next == nil || next.kind != folderNode {
			return nil, syscall.ENOENT
		}
		n = next
	}
	return n, nil
}

// scanLocked finds the items of one area. Folders that are empty, or no places, are no items.
func (d *desk) scanLocked(area string) ([]*relic, error) {
	var dirs []string
	err := d.Store.List(backing.Control+"/"+area, func(e backing.Entry) error {
		if _, err := protocol.ParsePlace(area, e.Name); err != nil || e.Type != unix.DT_DIR && e.Type != unix.DT_UNKNOWN {
			d.leftAlone(area + "/" + e.Name)
			return nil
		}
		dirs = append(dirs, e.Name)
		return nil
	})
	sort.Strings(dirs)
	var all []*relic
	for _, dir := range dirs {
		place, _ := protocol.ParsePlace(area, dir)
		found, errDir := d.scanPlaceLocked(place, backing.Control+"/"+area+"/"+dir)
		err = errors.Join(err, errDir)
		all = append(all, found...)
	}
	return all, err
}

func (d *desk) scanPlaceLocked(p protocol.Place, folder string) ([]*relic, error) {
	var all []*relic
	d.slots.names[folder] = map[string]struct{}{}
	err := d.Store.List(folder, func(e backing.Entry) error {
		r, err := d.relicLocked(p, backing.Object{Folder: folder, Name: e.Name})
		if r != nil {
			all = append(all, r)
		}
		return err
	})
	if len(all) == 0 && err == nil {
		d.slots.drop(folder)
	}
	return all, err
}

// relicLocked makes the node of an item found in a place, and puts it into its File.
func (d *desk) relicLocked(p protocol.Place, at backing.Object) (*relic, error) {
	st, err := d.Store.Stat(at)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		d.relicOfMarkLocked(p, at, st)
		return nil, err
	}
	d.slots.names[at.Folder][at.Name] = struct{}{}
	parent, found := d.keys[p.Folder]
	if !found {
		parent = d.table.byID[rootID]
	}
	n := &node{id: d.table.nextID(), kind: itemNode, inode: st.ID}
	m := d.Rules.At(parent.path(), at.Name)
	if m.Temp == protocol.TempIfExclusive && p.State == protocol.Staged {
		m = m.Created(protocol.Creation{ReadWrite: true, Exclusive: true, Mode: st.Mode & 0o7777})
	}
	i := protocol.Item{ID: protocol.ItemID(n.id), State: p.State, Barrier: p.Barrier, UID: p.Owner.UID, Match: m, Links: int(st.Nlink),
		Since: d.past(time.Unix(st.Ctime.Unix())), Empty: st.Size == 0}
	i.Name = protocol.NameKey{Folder: protocol.FolderID(parent.id), Name: at.Name}
	n.bytes = newBytes(i)
	n.bytes.at, n.bytes.last, n.bytes.written, n.bytes.reach = at, st, st.Size, st.Size
	note, err := d.readNoteLocked(n)
	if err != nil {
		return nil, err
	}
	if i.State != protocol.Held && i.State != protocol.Claimed {
		n.bytes.saved.changed() // nobody knows what that mount got onto the disk
	}
	d.ownRelicLocked(n, p, note)
	d.table.add(n)
	if i.State == protocol.Claimed && i.Links > 1 && found {
		if err = d.finishRenameLocked(n); err != nil {
			return nil, err
		}
	}
	d.lendLocked(n, &protocol.Item{})
	f := d.findLocked(i.Name)
	f.Private = append(f.Private, &n.bytes.item)
	return &relic{node: n, closed: note.Closed, homeless: !found}, nil
}

// ownRelicLocked finds the owner of an item again, if it still lives, and the name a claim goes back to.
func (d *desk) ownRelicLocked(n *node, p protocol.Place, note protocol.Note) {
	i := &n.bytes.item
	i.Home = i.Name
	key, name, _ := strings.Cut(note.Home, "/")
	if home := d.keys[key]; home != nil && p.State == protocol.Claimed && isName(name) && !reserved(home, name) {
		i.Home = protocol.NameKey{Folder: protocol.FolderID(home.id), Name: name}
	}
	if note.Closed && i.State == protocol.Staged { // other places say what they wait for, and a note may be older
		i.Barrier = protocol.BarrierTemp
	}
	if party := d.rightfulLocked(n, d.survivorLocked(p)); party != nil {
		i.Owner, i.UID = party.ID, party.Process.UID
		d.indexLocked(n, 0, party.ID)
		d.usedLocked(i) // a claim's descriptors ended with the last mount: it was in use until then
	}
	if i.State == protocol.Claimed {
		i.Token = d.nextTokenLocked()
		d.tokens.last = i.Token
	}
}

// isName: a note can be written by any hand, so what it says is a name in a folder is looked at.
func isName(s string) bool {
	return s != "" && s != "." && s != ".." && len(s) <= unix.NAME_MAX && !strings.ContainsAny(s, "/\x00")
}

// survivorLocked is the owner that a place names, or, if that ended while nobody looked, the first heir that lives: a
// program and the timeout(1) that ran it end together. A writer's descriptor did not survive the mount, so what it had not
// closed has no heir.
func (d *desk) survivorLocked(p protocol.Place) *protocol.Party {
	if p.Owner.PID == 0 {
		return nil
	}
	line := protocol.Line{Process: p.Owner, Heirs: p.Heirs}
	if p.Barrier == protocol.BarrierExit {
		line = protocol.Line{Process: p.Owner} // it waits for how its writer ends: the end of an heir says nothing of that
	}
	for _, process := range line.All() {
		if party, alive := d.Callers.Revive(process); alive {
			return party
		}
	}
	return nil
}

// reviveLocked decides about one item found.
func (d *desk) reviveLocked(r *relic) error {
	i := &r.node.bytes.item
	f, err := d.fileLocked(i.Name)
	if err != nil {
		return err
	}
	if !i.Private() {
		return nil // looking at its name has settled it: it waited behind one that is gone, or its owner has ended since the scan
	}
	home := f
	if i.State == protocol.Claimed && i.Home != i.Name { // a claim may be over since the scan
		if home, err = d.fileLocked(i.Home); err != nil {
			return err
		}
	}
	if !i.Private() {
		return nil // so has looking at its home
	}
	c := d.call(protocol.OpEnded, nil)
	c.Verdict.Kind = protocol.Unknown
	dec := protocol.Recover(d.world(f, home), i, r.closed, &c.Event)
	if r.homeless {
		dec = protocol.Homeless(i, &c.Event)
	}
	if len(dec.Effects) == 0 {
		old := *i
		old.State = protocol.Gone
		d.armLocked(r.node, &old)
		return nil
	}
	return d.performLocked(dec.Effects, c)
}

// readReplacedLocked finds the replaced versions again, and lets go of the old ones.
func (d *desk) readReplacedLocked() error {
	err := d.Store.List(replacedArea, func(e backing.Entry) error {
		until, key, ok := protocol.ParseReplaced(e.Name)
		if !ok || e.Type != unix.DT_DIR && e.Type != unix.DT_UNKNOWN {
			d.leftAlone(replacedArea + "/" + e.Name)
			return nil
		}
		folder := replacedArea + "/" + e.Name
		defer d.Store.Forget(folder) // nobody uses it before it goes
		return d.Store.List(folder, func(e backing.Entry) error {
			r := retained{at: backing.Object{Folder: folder, Name: e.Name}, until: d.within(until, d.KeepReplaced)}
			still, err := d.stillPublicLocked(r.at, d.keys[key])
			if err != nil {
				return err
			}
			if still {
				r.until = time.Time{}
			}
			d.replaced = append(d.replaced, r)
			return nil
		})
	})
	if err != nil {
		return err
	}
	sort.Slice(d.replaced, func(i, j int) bool { return d.replaced[i].until.Before(d.replaced[j].until) })
	d.expireLocked()
	return nil
}

// stillPublicLocked: the daemon ended before the version was written over, so it has a name too many.
func (d *desk) stillPublicLocked(kept backing.Object, folder *node) (bool, error) {
	if folder == nil {
		return false, nil
	}
	p, err := d.Store.Stat(backing.Object{Folder: folder.path(), Name: kept.Name})
	if errors.Is(err, syscall.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	k, err := d.Store.Stat(kept)
	return err == nil && k.ID == p.ID, err
}

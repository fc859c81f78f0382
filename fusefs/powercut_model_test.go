package fusefs

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// medium is what a recording says about what a disk has when the power fails. It is weaker than what most filesystems
// promise, and what btrfs comes close to: a change reaches the disk as a whole, in the order of other changes to the same
// name and to the same inode, and otherwise when it likes, unless a folder that it changes is synced. Of a file's bytes
// the disk has what was synced; of what was written since: nothing, all, a part, or zeros.
type medium struct {
	before image
	born   map[inodeID]inode // what each inode was when it came
	ops    []op
	texts  map[inodeID][]version
}

// op is one change that a disk makes as a whole.
type op struct {
	step  int          // of the recording
	names []nameChange // of a rename: both
	inode inodeID      // else: what changes beside its bytes
	now   inode
	needs []int // the ops that a disk has that has this one
}

type nameChange struct {
	folder   inodeID
	name     string
	from, to inodeID
}

// version is a file's bytes from a step on.
type version struct {
	step   int
	text   string
	synced int // the step that has synced them; never: too late for any cut
}

const never = math.MaxInt

// medium reads the changes off a recording.
func (r *recording) medium() *medium {
	d := &medium{before: r.before, born: maps.Clone(r.before.inodes), texts: map[inodeID][]version{}}
	for id, n := range r.before.inodes {
		d.texts[id] = []version{{step: -1, text: n.data, synced: -1}}
	}
	for n := range r.steps {
		d.add(n, r.image(n), r.image(n+1))
		d.sync(n, r.steps[n].synced, strings.HasPrefix(r.steps[n].line, "fsync "))
	}
	d.order()
	return d
}

// add takes the difference that a step makes.
func (d *medium) add(step int, old, now image) {
	var names []nameChange
	for _, id := range sorted(now.inodes) {
		n, was := now.inodes[id], old.inodes[id]
		if _, known := d.born[id]; !known {
			d.born[id], was = n, n
			d.texts[id] = []version{{step: step, synced: step}}
		}
		if n.mode&unix.S_IFMT == unix.S_IFREG && n.data != last(d.texts[id]).text {
			d.texts[id] = append(d.texts[id], version{step: step, text: n.data, synced: never})
		}
		if n.mode != was.mode || n.attrs != was.attrs {
			d.ops = append(d.ops, op{step: step, inode: id, now: n})
		}
		names = append(names, changes(id, old.inodes[id].entries, n.entries)...)
	}
	if len(names) > 0 {
		d.ops = append(d.ops, op{step: step, names: names})
	}
}

func changes(folder inodeID, old, now map[string]inodeID) (all []nameChange) {
	both := maps.Clone(old)
	if both == nil {
		both = map[string]inodeID{}
	}
	maps.Copy(both, now)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if old[name] != now[name] {
			all = append(all, nameChange{folder, name, old[name], now[name]})
		}
	}
	return all
}

func last(all []version) version { return all[len(all)-1] }

func sorted(inodes map[inodeID]inode) []inodeID {
	return slices.SortedFunc(maps.Keys(inodes), func(a, b inodeID) int { return int(a.born - b.born) })
}

// sync: a step has made an inode durable: of a folder the names in it, of a file the bytes, and if it was fsync(2) what
// the file is beside.
func (d *medium) sync(step int, id inodeID, whole bool) {
	if all := d.texts[id]; id != (inodeID{}) && len(all) > 0 {
		all[len(all)-1].synced = min(last(all).synced, step)
	}
	if whole && id != (inodeID{}) {
		d.ops = append(d.ops, op{step: step, inode: id, now: inode{mode: syncMark}})
	}
}

// syncMark marks the op that is no change, but a barrier.
const syncMark = ^uint32(0)

func (o *op) barrier() bool { return o.now.mode == syncMark }

// order finds out what each change needs.
func (d *medium) order() {
	lastOf := map[any]int{}   // by inode, and by name: the last change
	in := map[inodeID][]int{} // by inode: the changes of it, and of names in it
	for n := range d.ops {
		o := &d.ops[n]
		var keys []any
		for _, c := range o.names {
			keys = append(keys, c.from, c.to, nameChange{folder: c.folder, name: c.name})
			if at, moved := lastOf[c.folder]; moved {
				o.needs = append(o.needs, at)
			}
			if c.to == (inodeID{}) {
				o.needs = append(o.needs, in[c.from]...) // a folder is empty when it goes
			}
			in[c.folder] = append(in[c.folder], n)
		}
		if o.names == nil && !o.barrier() {
			keys = append(keys, o.inode)
		}
		for _, key := range keys {
			if at, known := lastOf[key]; known && key != any(inodeID{}) {
				o.needs = append(o.needs, at)
			}
		}
		for _, key := range keys {
			lastOf[key] = n
		}
		if o.barrier() {
			o.needs = append(o.needs, in[o.inode]...)
			continue
		}
		if o.names == nil {
			in[o.inode] = append(in[o.inode], n)
		}
	}
}

// durable are the ops that a disk has for certain after so many steps.
func (d *medium) durable(steps int) []bool {
	has := make([]bool, len(d.ops))
	for n := len(d.ops) - 1; n >= 0; n-- {
		if d.ops[n].step < steps && d.ops[n].barrier() {
			has[n] = true
		}
		if has[n] {
			for _, need := range d.ops[n].needs {
				has[need] = true
			}
		}
	}
	return has
}

// mostCuts bounds how many choices of changes are tried for each step; beyond it they are drawn. AIRLOCKFS_CUTS=N sets it.
const mostCuts = 256

// cuts are the sets of ops that a disk may have after so many steps.
func (d *medium) cuts(steps, most int, rnd *rand.Rand) [][]bool {
	durable := d.durable(steps)
	var open []int
	for n, o := range d.ops {
		if o.step < steps && !durable[n] && !o.barrier() {
			open = append(open, n)
		}
	}
	var all [][]bool
	draw := len(open) > 30 || 1<<len(open) > most
	for try := range min(most, 1<<min(len(open), 30)) {
		has := slices.Clone(durable)
		for bit, n := range open {
			has[n] = d.has(has, n) && (!draw && try>>bit&1 == 1 || draw && (try < len(open) && bit <= try || try >= len(open) && rnd.IntN(3) > 0))
		}
		all = append(all, has)
	}
	return all
}

// has: a disk that has these has all that an op needs.
func (d *medium) has(has []bool, n int) bool {
	return !slices.ContainsFunc(d.ops[n].needs, func(need int) bool { return !has[need] })
}

// The ways in which bytes that were not synced can be on a disk.
const (
	bytesAll = iota
	bytesOld
	bytesHalf
	bytesZeros
	bytesWays
)

// image is what is found on the disk.
func (d *medium) image(has []bool, steps, way int) image {
	m := image{root: d.before.root, inodes: map[inodeID]inode{}}
	for id, n := range d.born {
		m.inodes[id] = n
		if _, there := d.before.inodes[id]; n.entries != nil {
			n.entries = map[string]inodeID{}
			if there {
				n.entries = maps.Clone(d.before.inodes[id].entries)
			}
			m.inodes[id] = n
		} else if n.mode&unix.S_IFMT == unix.S_IFREG {
			n.data = onDisk(d.texts[id], steps, way)
			m.inodes[id] = n
		}
	}
	for k, o := range d.ops {
		if has[k] {
			m.apply(&o)
		}
	}
	return m
}

func (m *image) apply(o *op) {
	if o.names == nil && !o.barrier() {
		n := m.inodes[o.inode]
		n.mode, n.attrs = o.now.mode, o.now.attrs
		m.inodes[o.inode] = n
	}
	for _, c := range o.names {
		if c.to == (inodeID{}) {
			delete(m.inodes[c.folder].entries, c.name)
		} else {
			m.inodes[c.folder].entries[c.name] = c.to
		}
	}
}

// onDisk are the bytes of a file on the disk.
func onDisk(all []version, steps, way int) (text string) {
	synced, now := "", ""
	for _, v := range all {
		if v.step < steps {
			now = v.text
			if v.synced < steps {
				synced = v.text
			}
		}
	}
	switch {
	case synced == now, way == bytesAll:
		return now
	case way == bytesHalf:
		return now[:len(now)/2]
	case way == bytesZeros:
		return strings.Repeat("\x00", len(now))
	}
	return synced
}

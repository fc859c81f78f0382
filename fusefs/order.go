package fusefs

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// orders are the words of the control file "command".
var orders = map[string]protocol.Op{"release": protocol.OpOrderRelease, "requeue": protocol.OpOrderRequeue,
	"discard": protocol.OpOrderDiscard, "publish": protocol.OpOrderPublish}

// command is the control file "command": one order, and what came of it. Who gives it is who wrote it.
func (d *desk) command(p *protocol.Party, request []byte) (any, error) {
	var o report.Order
	if err := json.Unmarshal(request, &o); err != nil {
		return nil, syscall.EINVAL
	}
	if o.Raw != nil {
		o.Path = string(o.Raw)
	}
	if o.Do == "join" {
		return d.join(p, o.Worker), nil
	}
	return d.order(p, &o), nil
}

// join makes who writes it, and its descendants, members of a named worker.
func (d *desk) join(p *protocol.Party, worker string) report.Outcome {
	_, err := d.Callers.Register(uint32(p.Process.PID), p.Process.UID, p.GID, worker)
	switch {
	case errors.Is(err, syscall.ESRCH):
		return report.Outcome{Refused: "the daemon runs in a pid namespace from which this process can't be seen: mount from one that contains its users"}
	case err != nil:
		return report.Outcome{Refused: err.Error()}
	}
	return report.Outcome{Done: true}
}

// order decides about an operator's order and carries it out. Only what makes bytes durable is done without the lock.
func (d *desk) order(p *protocol.Party, o *report.Order) report.Outcome {
	op, known := orders[o.Do]
	switch {
	case !known:
		return report.Outcome{Refused: strconv.Quote(o.Do) + " is no order: use release, requeue, discard or publish"}
	case o.As == "." || o.As == ".." || strings.ContainsAny(o.As, "/\x00"):
		return report.Outcome{Refused: "the other name must be a name in the same folder, without a slash"}
	}
	c := d.call(op, p)
	c.Oversees, c.Force = d.oversees(p.Process.UID), o.Force
	n, out := d.chosen(c, o)
	if n == nil {
		return out
	}
	if err := d.syncItem(n, c); err != nil {
		out.Refused = "making it durable failed: " + cause(err)
		return out
	}
	err := d.lasting(func() error {
		out = d.carryOutOrderLocked(n, c, o, out)
		return nil
	})
	if err != nil {
		out.Refused = "it is done, but making the name durable failed: " + cause(err) + ": a power failure may undo it"
	}
	return out
}

// chosen is the item an order is about, with what is known of it; or nil, and why.
func (d *desk) chosen(c *call, o *report.Order) (*node, report.Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.behindLocked(c, path.Clean("/" + o.Path)[1:])
	if o.Item != 0 {
		all = slices.DeleteFunc(all, func(n *node) bool { return n.id != o.Item })
	}
	meant := slices.DeleteFunc(slices.Clone(all), func(n *node) bool { return !protocol.Ordered(&c.Event, &n.bytes.item) })
	switch {
	case len(all) == 0:
		return nil, report.Outcome{Refused: "no file that you may " + o.Do + " is hidden, claimed or held back under this name"}
	case len(meant) > 1:
		out := report.Outcome{Refused: fmt.Sprintf("this may mean any of %d files: say which one with --item", len(meant))}
		for _, n := range meant {
			out.Choices = append(out.Choices, d.itemLocked(n))
		}
		return nil, out
	}
	n := slices.Concat(meant, all[len(all)-1:])[0] // if none is meant, the newest one says what to do
	about := d.itemLocked(n)
	return n, report.Outcome{Item: &about, State: about.State, Path: about.Path}
}

// behindLocked are the items that stand behind a name, or will go back to it, and that who gives the order may know of.
func (d *desk) behindLocked(c *call, name string) []*node {
	folder, name, _ := cutLast(name)
	parent, err := d.walkLocked(folder)
	if err != nil || name == "" {
		return nil
	}
	f, _, err := d.lookLocked(parent, name)
	if err != nil {
		return nil
	}
	var all []*node
	for _, i := range slices.Clone(d.concernsLocked(f)) {
		n := d.table.byID[uint64(i.ID)]
		if n == nil || i.Derived || i.InClaim {
			continue
		}
		d.forgetTakenLocked(n)
		if i.Private() && (c.Oversees || i.UID == c.By.Process.UID) && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// syncItem makes the bytes of an item that is about to become public durable: what was quarantined after a crash was never.
func (d *desk) syncItem(n *node, c *call) error {
	if d.Sync == SyncNone || c.Op != protocol.OpOrderRequeue && c.Op != protocol.OpOrderPublish {
		return nil
	}
	if err := d.saveNode(n); !errors.Is(err, syscall.ESTALE) {
		return err
	}
	return nil // it went meanwhile: deciding will say so
}

// carryOutOrderLocked makes an order true, unless it is only tried. before is what is known of the item.
func (d *desk) carryOutOrderLocked(n *node, c *call, o *report.Order, before report.Outcome) report.Outcome {
	c.Item = protocol.ItemID(n.id)
	load := func() (*protocol.World, error) { return d.orderedWorldLocked(n, c, o) }
	var dec protocol.Decision
	var err error
	if o.Try {
		dec, err = d.tryLocked(c, load)
	} else {
		dec, err = d.decideLocked(c, load)
		d.tidyLocked(n)
	}
	out := before
	if err != nil {
		out.Refused = orderRefused(err)
		return out
	}
	for _, x := range dec.Effects {
		if x.Next.ID == c.Item {
			out.State, out.Path = x.Next.State.String(), d.pathLocked(x.Next.Name)
		}
	}
	out.Done = !o.Try
	return out
}

// orderedWorldLocked is the world of an order about an item, and whether its operator may put a file there.
func (d *desk) orderedWorldLocked(n *node, c *call, o *report.Order) (*protocol.World, error) {
	w, err := d.worldAboutLocked(n)
	if err != nil {
		return w, err
	}
	at := w.File
	if o.As != "" && o.As != at.Name.Name && c.Op != protocol.OpOrderRelease {
		if at, err = d.fileLocked(protocol.NameKey{Folder: at.Name.Folder, Name: o.As}); err != nil {
			return w, err
		}
		w.Target = at
	}
	if c.Op == protocol.OpOrderRequeue || c.Op == protocol.OpOrderPublish {
		if err = d.takenByOtherLocked(at, c); err != nil {
			return w, err
		}
	}
	c.Powerless = !c.Oversees && d.powerlessLocked(n, at, c.By)
	return w, nil
}

// takenByOtherLocked: a folder or the like is under the name, or a file that somebody outside is still writing.
func (d *desk) takenByOtherLocked(f *protocol.File, c *call) error {
	parent := d.table.byID[uint64(f.Name.Folder)]
	switch {
	case reserved(parent, f.Name.Name):
		return d.refuseLocked(attempt{by: c.By, verb: verbs[c.Op], path: f.Name.Name}, &protocol.Refusal{Reason: protocol.Reserved})
	case f.Public != nil || f.Link != nil:
		return nil
	}
	if _, err := d.Store.Stat(backing.Object{Folder: parent.path(), Name: f.Name.Name}); !errors.Is(err, syscall.ENOENT) {
		return errors.Join(err, syscall.EEXIST)
	}
	return nil
}

// powerlessLocked: by the rights of the folder the operator could not put the item there himself, or not over what is there.
// Of a process that can't be seen from here nobody knows its groups.
func (d *desk) powerlessLocked(n *node, at *protocol.File, p *protocol.Party) bool {
	may, err := d.mayRemoveLocked(n, p)
	if p.Unseen || !may || err != nil {
		return true
	}
	if at.Public == nil {
		return false
	}
	may, err = d.mayRemoveLocked(d.table.byID[uint64(at.Public.ID)], p)
	return !may || err != nil
}

// tryLocked decides, and leaves it at that.
func (d *desk) tryLocked(c *call, load func() (*protocol.World, error)) (protocol.Decision, error) {
	w, err := load()
	if err != nil {
		return protocol.Decision{}, err
	}
	dec := protocol.Decide(w, &c.Event)
	if dec.Refuse != nil {
		return dec, refused{dec.Refuse}
	}
	return dec, nil
}

// orderRefused is an error for who gave the order.
func orderRefused(err error) string {
	var r refused
	switch {
	case errors.As(err, &r) && r.WhatNow != "":
		return r.WhatNow
	case errors.As(err, &r) && r.Reason == protocol.NotFound:
		return "somebody else was faster: there is no such file any more"
	case errors.As(err, &r) && r.Reason == protocol.NotPermitted:
		return "you may not put a file under this name: the folder's owner, the mount's owner or root may"
	case errors.As(err, &r):
		return r.Reason.String()
	case errors.Is(err, syscall.EEXIST):
		return "something else has this name: choose another with --as, or move it away"
	}
	return cause(err)
}

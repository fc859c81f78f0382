package fusefs

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// sayChangeLocked tells what an effect did to an item.
func (d *desk) sayChangeLocked(n *node, old *protocol.Item, x *protocol.Effect, c *call) {
	what, detail := describe(old, &n.bytes.item, x)
	if what == "" {
		return
	}
	path := d.pathLocked(n.bytes.item.Name)
	level := slog.LevelDebug
	if why := d.givenBackDetail(old, &n.bytes.item, c); why != "" {
		level, detail = slog.LevelInfo, strings.TrimSuffix(why+"; "+detail, "; ")
	}
	if verb := orderVerbs[c.Op]; verb != "" && n.id == uint64(c.Item) {
		what, detail, level = verb, d.orderDetail(old, &n.bytes.item, c), slog.LevelInfo
	}
	if what == "inherited" {
		detail = "now it is " + called(d.Callers.Party(n.bytes.item.Owner)) + "'s"
	}
	if old.Name != n.bytes.item.Name && x.Kind == protocol.Move && old.ID == n.bytes.item.ID {
		detail = strings.TrimSpace(detail + " from " + d.pathLocked(old.Name))
	}
	if c.why != "" {
		what, detail = cmp.Or(c.what, what), c.why
	}
	if what == "quarantined" || what == "abandoned" || c.why != "" {
		level = slog.LevelWarn
	}
	d.Log.Log(context.Background(), level, what, "path", path, "by", doer(c.By), "detail", detail)
	d.events.add(said{report.Event{Time: c.At, Item: n.id, Path: path, What: what, By: owner(c.By), Detail: detail},
		concerns(old, &n.bytes.item), detail})
}

// givenBackDetail says why a claim went back though its claimant has not settled it; "" if that is not what happened.
func (d *desk) givenBackDetail(old, now *protocol.Item, c *call) string {
	if old.State != protocol.Claimed || now.State == protocol.Claimed {
		return ""
	}
	who := called(d.Callers.Party(old.Owner))
	switch {
	case c.Op == protocol.OpReleased && c.Lingered:
		return who + " did not use it any more"
	case c.Op == protocol.OpReleased && old.Ending.Kind == protocol.Living:
		return "its last descriptor is closed"
	case c.Op == protocol.OpReleased:
		return fmt.Sprintf("%s %s, and its last descriptor is closed", who, old.Ending)
	case c.Op == protocol.OpEnded:
		return fmt.Sprintf("%s %s", who, c.Verdict)
	}
	return ""
}

// doer names who did something, which may be the mount itself.
func doer(p *protocol.Party) string {
	if p == nil {
		return "airlockfs"
	}
	return called(p)
}

// concerns is the user whose item it is that changed. What somebody else made of it under another name is not his
// business any more.
func concerns(old, now *protocol.Item) int64 {
	if now.Private() || now.Name == old.Name || now.Name == old.Home {
		return int64(now.UID)
	}
	return nobody
}

// orderVerbs name what an operator's order did to its item.
var orderVerbs = map[protocol.Op]string{protocol.OpOrderRelease: "released", protocol.OpOrderRequeue: "requeued",
	protocol.OpOrderDiscard: "discarded", protocol.OpOrderPublish: "published"}

// orderDetail says who gave an order, whose item it was about, and what became of that.
func (d *desk) orderDetail(old, now *protocol.Item, c *call) string {
	whose := fmt.Sprintf("of uid %d", old.UID)
	if p := d.Callers.Party(old.Owner); p != nil {
		whose = fmt.Sprintf("of %s, uid %d", called(p), p.Process.UID)
	}
	detail := fmt.Sprintf("by order of uid %d: it was %s %s since %s", c.By.Process.UID, old.State, whose, old.Since.Format("15:04:05"))
	if old.Taint.Detail != "" {
		detail += ": " + old.Taint.Detail
	}
	if now.State == protocol.Held {
		detail += "; it waits, barrier " + now.Barrier.String()
	}
	return detail
}

// describe names a change for people; "" if it is none they would care for.
func describe(old, now *protocol.Item, x *protocol.Effect) (what, detail string) {
	switch {
	case x.Kind == protocol.Make:
		if now.State == protocol.Public {
			return "created", "in place, as class " + now.Match.Class.String()
		}
		return "created", "hidden until it is complete"
	case x.Kind == protocol.Remove && old.State == protocol.Claimed:
		return "settled", "removed by its claimant"
	case x.Kind == protocol.Remove && old.State == protocol.Public:
		return "removed", ""
	case x.Kind == protocol.Remove && !old.Derived:
		return "discarded", ""
	case x.Kind != protocol.Move || old.State == now.State && old.Owner == now.Owner && old.Name == now.Name:
		return "", ""
	case old.State == now.State && now.State == protocol.Claimed && old.Name == now.Name && now.Owner != 0:
		return "inherited", ""
	case old.State == now.State && old.Name == now.Name:
		return "", ""
	}
	return became(old, now)
}

func became(old, now *protocol.Item) (what, detail string) {
	switch now.State {
	case protocol.Public:
		switch {
		case old.State == protocol.Claimed && now.Match.Class.InPlace():
			return "settled", "moved by its claimant"
		case old.State == protocol.Claimed && old.Home == now.Name:
			return "released", fmt.Sprintf("failed attempts so far: %d", now.Attempts)
		case old.State == protocol.Public:
			return "renamed", ""
		}
		return "published", ""
	case protocol.Held:
		return "held", "barrier " + now.Barrier.String()
	case protocol.Quarantined, protocol.Abandoned:
		return now.State.String(), now.Taint.Detail
	case protocol.Staged:
		if old.State == protocol.Staged {
			return "renamed", ""
		}
		return "hidden", ""
	}
	return now.State.String(), ""
}

func (d *desk) sayReplacedLocked(n *node, c *call) {
	d.events.add(said{report.Event{Time: c.At, Item: n.id, Path: d.pathLocked(n.bytes.item.Name), What: "replaced", By: owner(c.By)}, nobody, ""})
}

func owner(p *protocol.Party) *report.Owner {
	if p == nil {
		return nil
	}
	if p.Unseen {
		return &report.Owner{Program: "unseen", UID: p.Process.UID}
	}
	return &report.Owner{PID: p.Process.PID, Start: p.Process.Start, Program: p.Program, UID: p.Process.UID, Worker: p.Worker}
}

// commas writes a number of bytes for people.
func commas(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

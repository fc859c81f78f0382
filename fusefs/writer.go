package fusefs

import (
	"github.com/airlockfs/airlockfs/protocol"
)

// wroteLocked remembers who wrote a version. Under publish=exit everybody's end counts, so it is watched.
func (d *desk) wroteLocked(n *node, p *protocol.Party) {
	b := n.bytes
	if _, known := b.writers[p.ID]; known || !b.item.Private() {
		return
	}
	if b.writers == nil {
		b.writers = map[protocol.PartyID]struct{}{}
	}
	b.writers[p.ID] = struct{}{}
	if b.item.Match.Publish == protocol.PublishExit {
		d.estateLocked(p.ID).wrote[n] = struct{}{}
	}
}

// forgetWritersLocked: nobody's end can spoil the version any more.
func (d *desk) forgetWritersLocked(n *node) {
	for id := range n.bytes.writers {
		if e := d.owned[id]; e != nil {
			delete(e.wrote, n)
			d.dropIfEmptyLocked(id, e)
		}
	}
	n.bytes.writers = nil
}

// writerEndedLocked: somebody who wrote a version that publish=exit keeps back has ended. A bad end spoils it; the owner's
// own end is decided about with what he owns.
func (d *desk) writerEndedLocked(n *node, end protocol.End) {
	b := n.bytes
	delete(b.writers, end.Party)
	p := d.Callers.Party(end.Party)
	if p == nil || b.item.Owner == end.Party || b.item.State != protocol.Staged && b.item.State != protocol.Held {
		return
	}
	t := d.verdictTaint(&b.item, p, end.Verdict)
	if t.Kind == protocol.NoTaint {
		return
	}
	t.Detail = badEnd(t, p, b.written)
	d.taintLocked(n, t)
	if b.item.State != protocol.Held {
		return
	}
	if err := d.aboutItemLocked(n, d.call(protocol.OpLifted, p)); err != nil {
		d.Log.Error("a spoilt file could not be put aside", "path", d.pathLocked(b.item.Name), "error", err)
	}
}

// livingWriterLocked is one of those who wrote a version that publish=exit keeps back, and live.
func (d *desk) livingWriterLocked(n *node) *protocol.Party {
	if n.bytes.item.Match.Publish != protocol.PublishExit {
		return nil
	}
	for id := range n.bytes.writers {
		if p := d.Callers.Party(id); p != nil && !d.Callers.Ended(id) {
			return p
		}
	}
	return nil
}

package protocol

import "fmt"

// walkRelease is time that passes over a claim that is not used, and over what nobody wants.
func walkRelease(w *walker, _ *Party, s walkStep) string {
	n, text := w.name(s[2])
	f := w.sim.File(n)
	if len(f.Private) == 0 {
		return "release nothing"
	}
	i := f.Private[int(s[3])%len(f.Private)]
	op := map[State]Op{Claimed: OpReleased, Parked: OpExpired, Abandoned: OpExpired}[i.State]
	if op == OpOpen {
		return "release nothing"
	}
	w.sim.about(op, i)
	return "release " + text
}

// walkOrders are those that items of a state may be meant by; of all others release stands for the wrong one.
var walkOrders = map[State][]string{Staged: {"publish", "discard"}, Parked: {"publish", "requeue"}, Abandoned: {"requeue", "requeue"},
	Held: {"publish", "discard"}, Claimed: {"release", "discard"}, Quarantined: {"requeue", "discard"}}

// walkOrder is an operator's order about the newest item behind a name, or the one before, by who may order anything.
func walkOrder(w *walker, p *Party, s walkStep) string {
	n, text := w.name(s[2])
	f := w.sim.File(n)
	if len(f.Private) == 0 {
		return "order nothing"
	}
	i := f.Private[int(s[2]/32)%len(f.Private)]
	verb := walkOrders[i.State][s[3]&1]
	if s[3]&6 == 0 {
		verb = "release"
	}
	e := w.sim.event(orders[verb], p)
	e.Oversees, e.Force = true, s[3]&8 != 0
	var as *NameKey
	if key, path := w.name(s[3] / 16); s[3]&128 != 0 && key != n {
		as, text = &key, text+" as "+path
	}
	return fmt.Sprintf("%s #%d %s", verb, i.ID, text) + got(nil, w.sim.order(e, i, as))
}

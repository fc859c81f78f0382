package verdict

import (
	"slices"

	"github.com/airlockfs/airlockfs/tests/torture/journal"
)

// outage is a time in which a daemon ended, sooner or later, and another one began to serve; or one in which its disk
// failed now and then.
type outage struct{ from, to int64 }

// overlaps: something that was begun and ended then may have met it.
func (o outage) overlaps(begin, end int64) bool { return o.from <= end && o.to >= begin }

// failures are the times in which the daemon's disk failed now and then.
func failures(lines []journal.Line) []outage {
	var all []outage
	for _, l := range lines {
		if l.Verb != "up" {
			continue
		}
		if n := len(all); n > 0 && all[n-1].to == never {
			all[n-1].to = l.At
		}
		if len(l.Args) > 0 {
			all = append(all, outage{l.At, never})
		}
	}
	return all
}

// fulls are the times in which the disk was full.
func fulls(lines []journal.Line) []outage {
	var all []outage
	for _, l := range lines {
		switch {
		case l.Verb == "fault" && l.Args[0] == "full":
			all = append(all, outage{l.At, never})
		case l.Verb == "fault" && len(all) > 0:
			all[len(all)-1].to = l.At
		}
	}
	return all
}

// overwrittenUnkept: the parcel's name was published anew while the disk was full or failed. Then the version that was
// written over is not kept.
func (r *Result) overwrittenUnkept(d *dossier) bool {
	first := d.publish[0]
	for _, o := range r.ops {
		if o.Verb != "publish" || o.Path != first.Path || o.Outcome == no || o.End < first.Begin || slices.Contains(o.Parcels, d.parcel) {
			continue
		}
		full := func(f outage) bool { return f.overlaps(o.Begin, o.End) }
		if r.failed(o.Begin, o.End) || slices.ContainsFunc(r.fulls, full) {
			return true
		}
	}
	return false
}

// failed: the step may have met a disk that failed.
func (r *Result) failed(begin, end int64) bool {
	for _, f := range r.failures {
		if f.overlaps(begin, end) {
			return true
		}
	}
	return false
}

// relax makes of steps that may have met a failing disk what they tell then. What the disk refuses is tried again, so
// something may be there, or be back, later than it was said; and what was refused may have been done in part.
func (r *Result) relax() {
	for _, o := range r.ops {
		switch {
		case !r.failed(o.Begin, o.End):
		case o.Outcome == ok && o.Verb == "publish":
			o.End = never
		case o.Outcome == miss:
			o.Outcome = no
		case o.Outcome == no && o.Detail != "EBUSY" && o.Detail != "ENOENT" && o.Detail != "":
			o.Outcome, o.End = unsure, never
		}
	}
}

func outages(lines []journal.Line) []outage {
	var all []outage
	for _, l := range lines {
		switch {
		case l.Verb == "down":
			all = append(all, outage{l.At, never})
		case l.Verb == "up" && len(all) > 0:
			all[len(all)-1].to = l.At
		}
	}
	return all
}

// seen is how long a daemon may take to see the end of a descriptor, in nanoseconds.
const seen = 2e9

// mapperKilled: its writer was killed before the daemon had seen the end of its descriptor. Whether a mapping was gone by
// then, or went with the writer, nobody can tell.
func (r *Result) mapperKilled(d *dossier, publish *Op) bool {
	a := r.lives[publish.Actor]
	return d.mapped && publish.End != never && a.killed >= publish.Begin && a.killed <= publish.End+seen
}

// interrupted: a daemon ended while the item was being published, or before it had seen the end of its descriptor;
// or the disk failed.
func (r *Result) interrupted(publish *Op) bool {
	for _, o := range r.downs {
		if o.to >= publish.Begin && (publish.End == never || o.from <= publish.End+seen) {
			return true
		}
	}
	return r.failed(publish.Begin, publish.End)
}

// downAfter is when the daemon that was asked at a time may have ended. Whoever asked during an outage met one that was
// about to end.
func (r *Result) downAfter(at int64) int64 {
	for _, o := range r.downs {
		if o.to > at {
			return max(o.from, at)
		}
	}
	return never
}

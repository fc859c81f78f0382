package verdict

import "strings"

// Found is a parcel that was there in the end.
type Found struct {
	Parcel string
	Area   string // public, archive, or an area of the control folder
	Where  string // the file, below the backing
}

// Violation is something that must not be.
type Violation struct {
	Kind   string
	Parcel string // "": it is not about one
	Text   string
}

// dossier is all that is known about one parcel.
type dossier struct {
	parcel  string
	ops     []*Op  // that name it, or the file that only it has
	doomed  string // why it must not be delivered; "": it may
	mapped  bool   // it was written through a mapping
	found   []Found
	publish []*Op
}

// linked parcels have two names, so they are handed over once for each.
func (d *dossier) names() int {
	n := 1
	for _, o := range d.ops {
		if o.Verb == "link" && o.Outcome != no && o.Outcome != miss {
			n++
		}
	}
	return n
}

// count counts the steps of a kind.
func (d *dossier) count(verb, outcome string) int {
	n := 0
	for _, o := range d.ops {
		if o.Verb == verb && o.Outcome == outcome {
			n++
		}
	}
	return n
}

// settled counts the steps that settled it.
func (d *dossier) settled(outcome string) int {
	return d.count("settle", outcome) + d.count("archive", outcome)
}

// accepted: its producer was told that it is delivered.
func (d *dossier) accepted() bool { return d.count("publish", ok) > 0 }

// refusedOnly: its producer was told that it is not.
func (d *dossier) refusedOnly() bool {
	return len(d.publish) > 0 && d.count("publish", no) == len(d.publish)
}

// in counts the places of some areas where it was found.
func (d *dossier) in(areas ...string) int {
	n := 0
	for _, f := range d.found {
		for _, area := range areas {
			if f.Area == area {
				n++
			}
		}
	}
	return n
}

// where is where it was found, for people.
func (d *dossier) where() string {
	var all []string
	for _, f := range d.found {
		all = append(all, f.Where)
	}
	return strings.Join(all, ", ")
}

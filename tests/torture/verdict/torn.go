package verdict

import "fmt"

// tornReads are readers that did not get a whole parcel.
func tornReads(ops []*Op) []Violation {
	var all []Violation
	for _, o := range ops {
		if o.Outcome == torn {
			all = append(all, Violation{"torn", ownName(o.Path), o.String()})
		}
	}
	return all
}

// early are reads of a parcel before its producer let it go, or of one that must not be delivered at all.
func (d *dossier) early() []Violation {
	var all []Violation
	for _, o := range d.ops {
		if o.Verb != "claim" && o.Verb != "watch" || !o.sure() {
			continue
		}
		switch {
		case len(d.publish) == 0 && d.doomed == "":
			all = append(all, Violation{"from nowhere", d.parcel, o.String()})
		case len(d.publish) == 0:
			all = append(all, Violation{"torn", d.parcel, fmt.Sprintf("%s: delivered, though %s", o, d.doomed)})
		case o.End < d.firstPublish():
			all = append(all, Violation{"torn", d.parcel, o.String() + ": read before it was published"})
		case d.refusedOnly():
			all = append(all, Violation{"torn", d.parcel, o.String() + ": read, though its publication was refused"})
		}
	}
	return all
}

func (d *dossier) firstPublish() int64 {
	first := int64(never)
	for _, o := range d.publish {
		first = min(first, o.Begin)
	}
	return first
}

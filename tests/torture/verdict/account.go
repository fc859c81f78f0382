package verdict

// account tells what is wrong with where a parcel is in the end.
func (d *dossier) account(r *Result) []Violation {
	live := d.in("public", "held", "claimed", "staging")
	archived := d.in("archive")
	visible := d.in("public", "claimed", "archive") // what waits for its rename, and was never renamed, is nobody's yet
	done := d.settled(ok) > 0
	var bad []Violation
	say := func(kind, text string) { bad = append(bad, Violation{kind, d.parcel, text}) }
	switch {
	case len(d.publish) == 0 && d.doomed == "" && visible > 0:
		say("from nowhere", "nobody made what was found: "+d.where())
	case len(d.publish) == 0 && visible > 0:
		say("torn", "delivered, though "+d.doomed+": "+d.where())
	case d.refusedOnly() && live+archived > 0:
		say("torn", "delivered, though its publication was refused: "+d.where())
	}
	if live > d.names() || archived > d.names() || live > 0 && archived > 0 && d.names() == 1 {
		say("in two places", d.where())
	}
	if done && live > 0 && d.names() == 1 {
		say("back after it was settled", d.where())
	}
	if d.accepted() {
		bad = append(bad, d.accountAccepted(r, done || archived > 0)...)
	}
	return bad
}

// accountAccepted: what was accepted must be somewhere.
func (d *dossier) accountAccepted(r *Result, done bool) []Violation {
	where := "public"
	switch {
	case done:
		where = "settled"
	case d.in("public") > 0:
	case d.in("held") > 0:
		where = "held"
	case d.in("quarantine") > 0 && r.interrupted(d.publish[0]):
		where = "quarantined, as the daemon ended or the disk failed meanwhile"
	case d.in("quarantine") > 0 && r.mapperKilled(d, d.publish[0]):
		where = "quarantined, as its writer was killed when it had just unmapped it"
	case d.in("replaced") > 0:
		where = "replaced"
	case d.settled(unsure) > 0 || r.excuse(d):
		where = "perhaps settled by somebody who was killed"
	case ownName(d.parcel) == "" && r.overwrittenUnkept(d):
		where = "written over, and not kept on a disk that was full or failed"
	case len(d.found) > 0:
		return []Violation{{"lost", d.parcel, "it was accepted, and is in " + d.where()}}
	default:
		return []Violation{{"lost", d.parcel, "it was accepted, nobody settled it, and it is nowhere"}}
	}
	r.Where[where]++
	return nil
}

// excuse finds a removal of the parcel's name whose actor was killed in it: it may have met this parcel and not the one
// that was meant. It excuses one.
func (r *Result) excuse(d *dossier) bool {
	for _, o := range r.ops {
		if o.settles() && o.Outcome == unsure && !r.excused[o] && o.Path == d.publish[0].Path && o.End > d.firstPublish() {
			r.excused[o] = true
			return true
		}
	}
	return false
}

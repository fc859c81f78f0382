package protocol

import (
	"cmp"
	"slices"
	"strings"
)

// Rules says what every name is, by the user's rules and the name tables. It does not change once made, so any number
// of goroutines may ask it.
//
// The most specific rule that matches has the last word, among equally specific ones the first given; see
// compareSpecific. In queue and work folders the name tables have a say, unless the last part of the rule's pattern is
// something else than `*` or `**`: such a rule names the file itself. Where no rule matches, the folder is a queue.
type Rules struct {
	places []place // most specific first
	index  *nameIndex
	about  []string
}

// place is one pattern of a rule.
type place struct {
	pattern pattern
	rule    *Rule
	why     string
}

const whyDefault = "no rule matches: a queue, which is the default"

// NewRules takes the rules in the order in which the user gave them. It fails for a malformed pattern in names.
func NewRules(rules []Rule, names NameTables) (*Rules, error) {
	index, err := newNameIndex(&names)
	if err != nil {
		return nil, err
	}
	r := &Rules{index: index, places: places(rules)}
	r.about = slices.Concat(r.describePlaces(), describeNames(&names))
	return r, nil
}

// places gives the patterns of the rules, the most specific one first.
func places(rules []Rule) []place {
	var all []place
	for _, rule := range rules {
		for _, p := range rule.patterns {
			all = append(all, place{p, &rule, rule.title()})
		}
	}
	slices.SortStableFunc(all, func(a, b place) int { return compareSpecific(a.pattern, b.pattern) })
	return all
}

// At tells what a name is. The folder is a clean relative path, "" for the root of the mount. What the tables leave to
// the way in which a file is created, Match.Created decides. Folders and symlinks are never temp by their name: for
// them only the class counts.
func (r *Rules) At(folder, name string) Match {
	m := Match{Why: whyDefault}
	if p := r.find(folder, name); p != nil {
		m = Match{Vector: p.rule.vectorIn(folder), Why: p.why}
		if p.pattern.namesFile() {
			return m
		}
	}
	if m.Class.named() {
		r.byName(&m, folder, name)
	}
	return m
}

func (r *Rules) find(folder, name string) *place {
	for i := range r.places {
		if r.places[i].pattern.matches(folder, name) {
			return &r.places[i]
		}
	}
	return nil
}

// byName asks the name tables in their order.
func (r *Rules) byName(m *Match, folder, name string) {
	hits := r.index.find(folder, name)
	switch {
	case hits[tableLock] != "":
		*m = m.as(ClassLock, hits[tableLock])
		m.Unlisted = hits[tableUnlisted] != ""
		return
	case hits[tableLog] != "" && m.Class.Versioned():
		*m = m.as(ClassLog, hits[tableLog])
		return
	case hits[tablePlain] != "":
		*m = m.as(ClassPlain, hits[tablePlain])
		return
	case hits[tableMarker] != "":
		m.Marker = true
	case hits[tableTemp] != "":
		m.Temp, m.Resumable = TempByName, hits[tableResumable] != ""
	case hits[tableExclusive] != "":
		m.Temp = TempIfExclusive
	}
	m.LogIfAppend = hits[tableLog] != ""
	m.PlainIfDatabase = hits[tableDatabase] != ""
	if m.Litter = hits[tableLitter] != ""; m.Litter {
		m.Temp = TempByName // it never gets another name, so nobody else ever sees it
	}
	m.Why = cmp.Or(hits[tableMarker], hits[tableTemp], hits[tableExclusive], hits[tableDatabase], hits[tableLog], hits[tableLitter], m.Why)
}

// Deciding gives the rule that has the last word on a name, beside the name tables; false if no rule matches.
func (r *Rules) Deciding(folder, name string) (Rule, bool) {
	if p := r.find(folder, name); p != nil {
		return *p.rule, true
	}
	return Rule{}, false
}

// InOrder gives the rules in the order in which they are asked, the most specific first.
func (r *Rules) InOrder() []Rule {
	var all []Rule
	seen := map[*Rule]bool{}
	for i := range r.places {
		if rule := r.places[i].rule; !seen[rule] {
			seen[rule] = true
			all = append(all, *rule)
		}
	}
	return all
}

// Describe says which folders are queues and which names the tables know, a line each, for the start of a mount.
func (r *Rules) Describe() []string { return slices.Clone(r.about) }

// describePlaces lists the rules, in the order in which they are asked.
func (r *Rules) describePlaces() []string {
	var queues, others []string
	for i := range r.places {
		rule, list := r.places[i].rule, &others
		if rule.vector.Class.named() {
			list = &queues
		}
		if !slices.Contains(*list, rule.text) {
			*list = append(*list, rule.text)
		}
	}
	if !slices.ContainsFunc(r.places, func(p place) bool { return p.pattern.everywhere() }) {
		queues = append(queues, "everything that no rule matches")
	}
	return slices.Concat(describe("queues", queues, "; "), describe("other classes", others, "; "))
}

func describeNames(n *NameTables) []string {
	return slices.Concat(
		describe("lock names", n.Lock, " "),
		describe("log names, in queues if created with O_APPEND", n.Log, " "),
		describe("plain names", n.Plain, " "),
		describe("database names, if created O_RDWR|O_CREAT without O_EXCL and O_TRUNC", n.Database, " "),
		describe("marker names", n.Marker, " "),
		describe("temp names, hidden until renamed", n.Temp, " "),
		describe("temp names, if created O_RDWR|O_CREAT|O_EXCL with mode 0600", n.TempExclusive, " "),
		describe("litter, kept private", n.Litter, " "),
	)
}

// describe gives one line, or none for an empty list.
func describe(what string, list []string, separator string) []string {
	if len(list) == 0 {
		return nil
	}
	return []string{what + ": " + strings.Join(list, separator)}
}

package protocol

import "fmt"

// nameTable is one of the tables in NameTables.
type nameTable uint8

const (
	tableLock nameTable = iota
	tableUnlisted
	tableLog
	tablePlain
	tableDatabase
	tableMarker
	tableTemp
	tableExclusive
	tableResumable
	tableLitter
	tableCount
)

// tableText is a table before it is compiled.
type tableText struct {
	patterns []string
	why      string // the sentence for Match.Why, in which %q stands for the pattern
}

func (n *NameTables) tables() [tableCount]tableText {
	return [tableCount]tableText{
		tableLock:      {n.Lock, "the name matches %q, a lock name"},
		tableUnlisted:  {n.Unlisted, "the name matches %q, a name that is not listed"},
		tableLog:       {n.Log, "the name matches %q, a log name: class log in folders of class shared and serial, elsewhere if created with O_APPEND"},
		tablePlain:     {n.Plain, "the name matches %q, which is plain"},
		tableDatabase:  {n.Database, "the name matches %q, a database name: plain if created O_RDWR|O_CREAT without O_EXCL and O_TRUNC"},
		tableMarker:    {n.Marker, "the name matches %q, a marker for something else"},
		tableTemp:      {n.Temp, "the name matches %q, a temp name"},
		tableExclusive: {n.TempExclusive, "the name matches %q, a temp name if created O_RDWR|O_CREAT|O_EXCL with mode 0600"},
		tableResumable: {n.Resumable, "the name matches %q, a temp name that can be resumed"},
		tableLitter:    {n.Litter, "the name matches %q, litter that is kept private"},
	}
}

// nameIndex finds the tables that a name is in. Every name is looked up here, and matches next to nothing, so patterns
// are filed under a byte that the name must have: its first or its last.
type nameIndex struct {
	first, last [256][]namePattern
	rest        []namePattern // begin and end with a wildcard
}

type namePattern struct {
	pattern pattern
	table   nameTable
	why     string
}

// nameHits says for each table why the name is in it, "" if it is not.
type nameHits [tableCount]string

func newNameIndex(names *NameTables) (*nameIndex, error) {
	x := &nameIndex{}
	for table, t := range names.tables() {
		for _, text := range t.patterns {
			patterns, err := compilePatterns(text)
			if err != nil {
				return nil, fmt.Errorf("name pattern %q: %w", text, err)
			}
			for _, p := range patterns {
				x.add(namePattern{p, nameTable(table), fmt.Sprintf(t.why, text)})
			}
		}
	}
	return x, nil
}

func (x *nameIndex) add(p namePattern) {
	list := &x.rest
	switch name := &p.pattern[len(p.pattern)-1]; {
	case name.prefix != "":
		list = &x.first[name.prefix[0]]
	case name.suffix != "":
		list = &x.last[name.suffix[len(name.suffix)-1]]
	}
	*list = append(*list, p)
}

func (x *nameIndex) find(folder, name string) (hits nameHits) {
	if name == "" {
		return hits
	}
	hits.collect(x.first[name[0]], folder, name)
	hits.collect(x.last[name[len(name)-1]], folder, name)
	hits.collect(x.rest, folder, name)
	return hits
}

func (h *nameHits) collect(patterns []namePattern, folder, name string) {
	for i := range patterns {
		p := &patterns[i]
		if h[p.table] == "" && p.pattern.matches(folder, name) {
			h[p.table] = p.why
		}
	}
}

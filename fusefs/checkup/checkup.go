package checkup

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// Facts are what the disk can't say. All are required.
type Facts struct {
	Served func(control backing.ID) bool     // a daemon holds the control folder's lock
	Here   func(owner protocol.Process) bool // the process was one of this host's since it booted
	Alive  func(owner protocol.Process) bool // the process still runs
}

// checkup is one look at a backing.
type checkup struct {
	store  *backing.Store
	facts  Facts
	uid    uint32 // whom the control folder belongs to
	served bool
	now    time.Time

	keys     map[string]string // path of each folder that exists, by key
	places   []placed
	items    []item
	inodes   map[backing.ID]string // where a private item was seen
	findings []report.Finding
}

// Run looks at a backing that was opened, not acquired. The findings are sorted by place. It fails with
// backing.ErrNoControl where nothing was ever mounted, and if the root can't be looked at.
func Run(store *backing.Store, facts Facts) ([]report.Finding, error) {
	c := &checkup{store: store, facts: facts, uid: uint32(os.Geteuid()), now: time.Now(),
		keys: map[string]string{"0": ""}, inodes: map[backing.ID]string{}, findings: []report.Finding{}}
	readable, err := c.inspect()
	if err != nil {
		return nil, err
	}
	if readable {
		c.control()
		c.listPlaces()
		c.registry() // after the places: a key is made before the first place that uses it
		c.checkPlaces()
		c.checkItems()
		c.replaced()
		c.tokens()
		c.marks()
		c.public("")
	}
	sort.SliceStable(c.findings, func(i, j int) bool { return c.findings[i].Where < c.findings[j].Where })
	return c.findings, nil
}

// find adds a finding, unless it is normal for a moment and the backing is in use.
func (c *checkup) find(name, where, what string, args ...any) {
	k, ok := kinds[name]
	if !ok {
		panic("BUG: there is no kind of finding called " + name)
	}
	if k.transient && c.served {
		return
	}
	f := report.Finding{Kind: name, Problem: k.problem, Where: where, What: fmt.Sprintf(what, args...), Do: k.do}
	if !utf8.ValidString(where) {
		f.Raw = []byte(where)
	}
	c.findings = append(c.findings, f)
}

// failed reports what can't be read. What is gone by now is none of our business.
func (c *checkup) failed(where string, err error) bool {
	if err != nil && !errors.Is(err, syscall.ENOENT) {
		c.find("unreadable", where, "it can't be read: %v", err)
	}
	return err != nil
}

// list collects the names of a folder.
func (c *checkup) list(folder string) []string {
	var names []string
	c.failed(folder, c.store.List(folder, func(e backing.Entry) error {
		names = append(names, e.Name)
		return nil
	}))
	sort.Strings(names)
	return names
}

// stat is the state of an object, and its path.
func (c *checkup) stat(folder, name string) (st backing.Stat, path string, ok bool) {
	path = join(folder, name)
	st, err := c.store.Stat(backing.Object{Folder: folder, Name: name})
	return st, path, !c.failed(path, err)
}

func join(folder, name string) string { return strings.TrimPrefix(folder+"/"+name, "/") }

// inControl is a path below the control folder.
func inControl(name string) string { return backing.Control + "/" + name }

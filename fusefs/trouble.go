package fusefs

import (
	"errors"
	"sort"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
)

// trouble is what is wrong with the disk as a whole, for people: each kind is logged once, however many calls meet it. It
// has a lock of its own, since calls on the disk are made with and without the desk's.
type trouble struct {
	mu   sync.Mutex
	seen map[string]*spell // by sentence
}

// spell is the time in which one kind of trouble was met.
type spell struct{ since, last time.Time }

// overAfter is how long nobody must meet a kind of trouble before it counts as over.
const overAfter = time.Minute

// met takes note of an error, and tells whether it is news.
func (t *trouble) met(sentence string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen == nil {
		t.seen = map[string]*spell{}
	}
	s := t.seen[sentence]
	if s != nil && now.Sub(s.last) < overAfter {
		s.last = now
		return false
	}
	t.seen[sentence] = &spell{now, now}
	return true
}

// warnings are sentences about what is wrong now.
func (t *trouble) warnings(now time.Time) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []string
	for sentence, s := range t.seen {
		if now.Sub(s.last) >= overAfter {
			delete(t.seen, sentence)
			continue
		}
		all = append(all, sentence+" (since "+s.since.Format(time.TimeOnly)+")")
	}
	sort.Strings(all)
	return all
}

// diskFails is told by the store.
func (d *desk) diskFails(err error) {
	sentence := troubleSentence(err)
	if d.trouble.met(sentence, d.Now()) {
		d.Log.Error("the disk fails: " + sentence)
	}
}

func troubleSentence(err error) string {
	var gone *backing.GoneError
	switch {
	case errors.As(err, &gone):
		return gone.Error()
	case errors.Is(err, syscall.EROFS):
		return "the backing is mounted read-only: nothing can be written, claimed or given back until it is mounted read-write again"
	}
	return "the backing answers \"" + cause(err) + "\": see the kernel's log (dmesg), and to the disk"
}

// diskWarnings are what status says of the disk as a whole.
func (d *desk) diskWarnings() []string {
	st, err := d.Store.StatFS()
	switch {
	case d.Store.Gone() != nil:
		d.diskFails(d.Store.Gone()) // it will not be over
	case err == nil && st.Flags&unix.ST_RDONLY != 0 && !d.readOnly:
		d.diskFails(syscall.EROFS)
	}
	return d.trouble.warnings(d.Now())
}

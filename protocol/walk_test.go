package protocol

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// walkStep is one random call: what, who, on which names.
type walkStep [4]byte

var walkRules = []string{"plain/**=plain", "work/**=work", "both/**=queue,on-collision=keep-both", "exit/**=queue,publish=exit", "state/**=shared", "states/**=serial"}

var walkNames = []string{"q/x", "q/y", "both/z", "q/x.tmp", "q/y.tmp", "plain/p", "work/w", "exit/e", "exit/e.tmp", "state/s", "state/s", "state/s.tmp", "state/r", "states/n"}

// walker drives a sim, and a model that watches it, through steps.
type walker struct {
	sim   *sim
	model *model
	roles [4]*Party // a, its child b, and strangers c and d, as they live now
	log   []string
}

func newWalker(t testing.TB) *walker {
	w := &walker{sim: newSim(t, walkRules...)}
	w.model = newModel(w.sim)
	for n := range w.roles {
		w.spawn(n)
	}
	return w
}

// spawn starts the next process of a role.
func (w *walker) spawn(role int) {
	var parent *Party
	if role == 1 {
		parent = w.roles[0]
	}
	p := w.sim.add(fmt.Sprintf("%c%d", 'a'+role, len(w.sim.parties)), parent)
	if parent != nil {
		w.model.parent[p.ID] = parent.ID
	}
	w.roles[role] = p
}

// run walks until a guarantee is broken, and says how.
func run(t testing.TB, steps []walkStep) (broken string) {
	w := newWalker(t)
	defer func() {
		if p := recover(); p != nil {
			broken = fmt.Sprintf("%s\npanic: %v", strings.Join(w.log, "\n"), p)
		}
	}()
	for _, s := range steps {
		w.sim.now, w.sim.said = w.sim.now.Add(time.Second), nil
		verb, who, line := w.do(s)
		w.model.step(verb, who)
		w.log = append(w.log, line+"\n\t"+strings.Join(w.sim.said, "\n\t"))
		if len(w.model.errs) > 0 {
			return strings.Join(append(w.log, w.model.errs...), "\n")
		}
	}
	return ""
}

// walkVerbs are picked by a step's first byte.
var walkVerbs = []func(*walker, *Party, walkStep) string{
	walkCreate, walkCreate, walkCreate, walkRead, walkRead, walkRead, walkUpdate, walkUpdate, walkWrite, walkWrite,
	walkClose, walkClose, walkClose, walkClose, walkRename, walkRename, walkRename, walkLink, walkUnlink, walkUnlink,
	walkEnd, walkEnd, walkLeave, walkRelease, walkLock, walkTake, walkOrder, walkOrder, walkHold, walkHold,
}

func (w *walker) do(s walkStep) (verb string, who PartyID, line string) {
	p := w.roles[s[1]%4]
	did := walkVerbs[int(s[0])%len(walkVerbs)](w, p, s)
	verb, _, _ = strings.Cut(did, " ")
	return verb, p.ID, w.sim.names[p.ID] + " " + did
}

func (w *walker) name(b byte) (NameKey, string) {
	p := walkNames[int(b)%len(walkNames)]
	return w.sim.key(p), p
}

func got(h *simHandle, d Decision) string {
	switch {
	case h != nil:
		return fmt.Sprintf(" → #%d %s", h.item, accessNames[h.access])
	case d.Refuse != nil:
		return " → " + d.Refuse.Reason.String()
	}
	return ""
}

func walkCreate(w *walker, p *Party, s walkStep) string {
	n, text := w.name(s[2])
	m := OpenMode{Write: true, Exclusive: s[3]&3 == 0, Truncate: s[3]&3 == 1, Append: s[3]&3 == 2, Read: s[3]&4 != 0}
	return fmt.Sprintf("create %s %+v", text, m) + w.open(p, n, m, true)
}

func walkRead(w *walker, p *Party, s walkStep) string {
	n, text := w.name(s[2])
	h, d := w.sim.open(p, n, OpenMode{Read: true}, s[3]%8 == 0)
	w.model.knows(p, n, h, OpenMode{Read: true})
	return "read " + text + got(h, d)
}

func walkUpdate(w *walker, p *Party, s walkStep) string {
	n, text := w.name(s[2])
	m := OpenMode{Read: s[3]&1 != 0, Write: true, Truncate: s[3]&6 == 0}
	return fmt.Sprintf("update %s %+v", text, m) + w.open(p, n, m, false)
}

func (w *walker) open(p *Party, n NameKey, m OpenMode, create bool) string {
	h, d := w.sim.open(p, n, m, create)
	w.model.opened(h, m.Truncate)
	w.model.knows(p, n, h, m)
	return got(h, d)
}

// handle picks one of the party's descriptions.
func (w *walker) handle(p *Party, b byte) *simHandle {
	var own []*simHandle
	for _, h := range w.sim.handles {
		if h.party == p {
			own = append(own, h)
		}
	}
	if len(own) == 0 {
		return nil
	}
	return own[int(b)%len(own)]
}

func walkWrite(w *walker, p *Party, s walkStep) string {
	h := w.handle(p, s[2])
	if h == nil || !h.write || h.fenced {
		return "write nothing"
	}
	d := w.sim.write(h)
	if i := w.sim.items[h.item]; s[3]%8 == 0 && i.State == Staged {
		i.Taint = i.Taint.Worse(Taint{Kind: TaintWrite})
		w.model.torn[i.ID], w.model.lost[i.ID] = true, true
	}
	return fmt.Sprintf("write #%d%s", h.item, got(nil, d))
}

func walkClose(w *walker, p *Party, s walkStep) string {
	h := w.handle(p, s[2])
	if h == nil {
		return "close nothing"
	}
	d := w.sim.close(h, Verdict{})
	return fmt.Sprintf("close #%d%s", h.item, got(nil, d))
}

func walkRename(w *walker, p *Party, s walkStep) string {
	from, a := w.name(s[2])
	to, b := w.name(s[3])
	if from == to {
		return "rename nothing"
	}
	mode := s[3] / 16
	return fmt.Sprintf("rename %s %s %d", a, b, mode) + got(nil, w.sim.rename(p, from, to, mode == 0, mode == 1))
}

func walkLink(w *walker, p *Party, s walkStep) string {
	from, a := w.name(s[2])
	to, b := w.name(s[3])
	if i := w.sim.visible(p, from); i != nil && i.State != Staged && i.State != Held {
		return "link nothing" // hard links of what is public have transcripts of their own
	}
	return fmt.Sprintf("link %s %s", a, b) + got(nil, w.sim.link(p, from, to))
}

func walkUnlink(w *walker, p *Party, s walkStep) string {
	n, text := w.name(s[2])
	return "unlink " + text + got(nil, w.sim.unlink(p, n))
}

func walkTake(w *walker, p *Party, s walkStep) string {
	n, text := w.name(s[2])
	return "mkdir " + text + got(nil, w.sim.take(p, n))
}

func walkLock(w *walker, p *Party, s walkStep) string {
	h := w.handle(p, s[2])
	if h == nil {
		return "lock nothing"
	}
	return fmt.Sprintf("lock #%d%s", h.item, got(nil, w.sim.lock(h)))
}

// walkVerdicts by a step's third byte.
var walkVerdicts = []Verdict{{Kind: Clean}, {Kind: Failed, Status: 1}, {Kind: Killed, Status: 9}, {Kind: Unknown}}

// walkEnd is the exit of a process. Only b has an heir: a, if that still is its parent.
func walkEnd(w *walker, p *Party, s walkStep) string {
	v := walkVerdicts[s[2]%4]
	for _, h := range w.sim.handles {
		if h.party == p && (v.Kind == Failed || v.Kind == Killed) {
			w.model.ended(h)
		}
	}
	w.sim.end(p, v, w.heir(p, s))
	w.respawn(p)
	return "end " + v.String()
}

func (w *walker) heir(p *Party, s walkStep) *Party {
	if a := w.roles[0]; s[3]&1 != 0 && w.model.parent[p.ID] == a.ID {
		return a
	}
	return nil
}

func (w *walker) respawn(p *Party) {
	w.spawn(slices.Index(w.roles[:], p))
}

// walkLeave is the exit of a process that has closed all its descriptors, which its child b still has. It spoils temp files only:
// those need their owner.
func walkLeave(w *walker, p *Party, s walkStep) string {
	b := w.roles[1]
	if w.model.parent[b.ID] != p.ID {
		return "leave nobody"
	}
	v := walkVerdicts[s[2]%4]
	for _, h := range w.sim.handles {
		if h.party == p {
			h.party = b
		}
	}
	for _, i := range w.sim.owned(p) {
		if v.Kind == Killed && i.Writers > 0 && i.Temp() {
			w.model.torn[i.ID] = true
		}
	}
	w.sim.ended(p, v, nil)
	w.respawn(p)
	return "leave " + v.String()
}

// shrink drops steps while the walk still breaks something.
func shrink(t testing.TB, steps []walkStep) []walkStep {
	for size := len(steps) / 2; size > 0; {
		shorter := false
		for at := 0; at+size <= len(steps); {
			less := slices.Concat(steps[:at], steps[at+size:])
			if run(t, less) == "" {
				at += size
				continue
			}
			steps, shorter = less, true
		}
		if !shorter {
			size /= 2
		}
	}
	return steps
}

func walk(t testing.TB, steps []walkStep) {
	if run(t, steps) == "" {
		return
	}
	steps = shrink(t, steps)
	t.Fatalf("%d steps are enough:\n%s", len(steps), run(t, steps))
}

// TestWalk plays random calls of two kin and two strangers. The walk is the same each time; scripts/fuzz.sh takes others:
// WALK_SEED chooses one, and WALK_STEPS makes it longer.
func TestWalk(t *testing.T) {
	seed, count := uint64(1), 400
	if s, err := strconv.ParseUint(os.Getenv("WALK_SEED"), 10, 64); err == nil {
		seed = s
	}
	if n, err := strconv.Atoi(os.Getenv("WALK_STEPS")); err == nil {
		count = n
	}
	t.Logf("WALK_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 25 {
		walk(t, walkSteps(random, count))
	}
}

func walkSteps(random *rand.Rand, count int) []walkStep {
	steps := make([]walkStep, count)
	for n := range steps {
		for k := range steps[n] {
			steps[n][k] = byte(random.UintN(256))
		}
	}
	return steps
}

func FuzzWalk(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 0))
	for range 8 {
		var seed []byte
		for _, s := range walkSteps(random, 40) {
			seed = append(seed, s[:]...)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var steps []walkStep
		for s := range slices.Chunk(data[:len(data)/4*4], 4) {
			steps = append(steps, walkStep(s))
		}
		walk(t, steps[:min(len(steps), 500)])
	})
}

// TestWalkFindsBrokenRules: the model notices when a guarantee is broken behind the protocol's back.
func TestWalkFindsBrokenRules(t *testing.T) {
	w := newWalker(t)
	h, _ := w.sim.open(w.roles[0], w.sim.key("q/x"), OpenMode{Write: true}, true)
	w.model.step("create", 1)
	require.Empty(t, w.model.errs)
	i := w.sim.items[h.item]
	x := public(i, i.Name, i.Match, w.sim.now)
	w.sim.carryOut(&x, false)
	w.model.step("close", 1)
	require.NotEmpty(t, w.model.errs, "an item is public while it is written")
}

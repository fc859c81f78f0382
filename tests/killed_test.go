package tests

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// turn is one call of one client, and what there is afterwards.
type turn struct {
	call string  // the client's name, and words of the call; "die" kills it
	want string  // what the call gives
	then world   // what it changes
	late []world // what may be there instead if the daemon ends before it has seen all of it
}

func pub(content string) fate  { return fate{state: "published", content: content} }
func old(content string) fate  { return fate{state: "replaced", content: content} }
func bad(content string) fate  { return fate{state: "quarantined", content: content} }
func own(content string) fate  { return fate{state: "claimed", content: content, owned: true} }
func temp(content string) fate { return fate{state: "staged", content: content, owned: true} }
func torn(content string) fate { return fate{state: "abandoned", content: content} }

// script is a run through all that a mount does with files.
var script = []turn{
	{call: "a chdir M"}, {call: "b chdir M"}, {call: "c chdir M"}, {call: "d chdir M"},
	{call: "a mkdir in"}, {call: "a mkdir done"},

	// published by a rename
	{call: "a open t in/a.tmp wct", then: world{"in/a.tmp": {torn("")}}},
	{call: "a write t one", then: world{"in/a.tmp": {torn("one")}}},
	{call: "a close t", then: world{"in/a.tmp": {temp("one")}}, late: []world{{"in/a.tmp": {torn("one")}}}},
	{call: "a stat in/a.tmp", want: "3 bytes, 1 links"},
	{call: "a rename in/a.tmp in/a", then: world{"in/a.tmp": nil, "in/a": {pub("one")}}},
	// by the last close
	{call: "a open t in/b wct", then: world{"in/b": {bad("")}}},
	{call: "a write t two", then: world{"in/b": {bad("two")}}},
	{call: "a close t", then: world{"in/b": {pub("two")}}, late: []world{{"in/b": {bad("two")}}}},
	{call: "a stat in/b", want: "3 bytes, 1 links"},
	// over another, both ways
	{call: "a open t in/a.tmp wct", then: world{"in/a.tmp": {torn("")}}},
	{call: "a write t three", then: world{"in/a.tmp": {torn("three")}}},
	{call: "a close t", then: world{"in/a.tmp": {temp("three")}}, late: []world{{"in/a.tmp": {torn("three")}}}},
	{call: "a stat in/a.tmp", want: "5 bytes, 1 links"},
	{call: "a rename in/a.tmp in/a", then: world{"in/a.tmp": nil, "in/a": {pub("three"), old("one")}}},
	{call: "a open t in/b wt", then: world{"in/b": {bad(""), pub("two")}}},
	{call: "a write t four", then: world{"in/b": {bad("four"), pub("two")}}},
	{call: "a close t", then: world{"in/b": {pub("four"), old("two")}}, late: []world{{"in/b": {bad("four"), pub("two")}}}},
	{call: "a stat in/b", want: "4 bytes, 1 links"},
	// appended to
	{call: "a open t in/b wa"},
	{call: "a write t five", then: world{"in/b": {bad("fourfive"), pub("four"), old("two")}}, late: []world{ // it begins with a copy
		{"in/b": {bad(""), pub("four"), old("two")}}, {"in/b": {bad("\x00\x00\x00\x00"), pub("four"), old("two")}}, {"in/b": {bad("four"), pub("four"), old("two")}}}},
	{call: "a close t", then: world{"in/b": {pub("fourfive"), old("two"), old("four")}}, late: []world{{"in/b": {bad("fourfive"), pub("four"), old("two")}}}},
	{call: "a stat in/b", want: "8 bytes, 1 links"},
	// claimed, and settled by removing and by moving
	{call: "b open r in/a r", then: world{"in/a": {own("three"), old("one")}}},
	{call: "b unlink in/a", then: world{"in/a": {old("one")}}},
	{call: "b close r"},
	{call: "b open r in/b r", then: world{"in/b": {own("fourfive"), old("two"), old("four")}}},
	{call: "b close r"},
	{call: "b rename in/b done/b", then: world{"in/b": {old("two"), old("four")}, "done/b": {pub("fourfive")}}},
	// left by who was killed
	{call: "c open q in/q wct", then: world{"in/q": {bad("")}}},
	{call: "c write q half", then: world{"in/q": {bad("half")}}},
	{call: "c die", then: world{"in/q": {bad("half")}}},
	{call: "a stat in/q", want: "ENOENT"},
	// a folder is renamed
	{call: "a rename in out", then: world{"in/q": nil, "in/a": nil, "in/b": nil, "out/q": {bad("half")}, "out/a": {old("one")}, "out/b": {old("two"), old("four")}}},
	{call: "a stat out/q", want: "ENOENT"},
	// given back by who was killed
	{call: "a open t back wct", then: world{"back": {bad("")}}},
	{call: "a write t text", then: world{"back": {bad("text")}}},
	{call: "a close t", then: world{"back": {pub("text")}}, late: []world{{"back": {bad("text")}}}},
	{call: "d open r back r", then: world{"back": {own("text")}}},
	{call: "d die", then: world{"back": {{state: "published", content: "text", attempts: 1}}}, late: []world{{"back": {pub("text")}}}},
	{call: "a stat back", want: "4 bytes, 1 links"},
	// held back, and older ones
	{call: "a mkdir quiet"}, {call: "a mkdir both"}, {call: "f chdir M"},
	{call: "f open t quiet/f wct", then: world{"quiet/f": {bad("")}}},
	{call: "f write t text", then: world{"quiet/f": {bad("text")}}},
	{call: "f close t", then: world{"quiet/f": {{state: "held", content: "text", owned: true}}}, late: []world{{"quiet/f": {bad("text")}}}},
	{call: "f stat quiet/f", want: "4 bytes, 1 links"},
	{call: "f die", then: world{"quiet/f": {{state: "held", content: "text"}}}},
	{call: "a open t both/f wct", then: world{"both/f": {bad("")}}},
	{call: "a close t", then: world{"both/f": {pub("")}}, late: []world{{"both/f": {bad("")}}}},
	{call: "a stat both/f", want: "0 bytes, 1 links"},
	{call: "a rename back both/f", then: world{"back": nil, "both/f": {{state: "held", content: ""}, {state: "published", content: "text", attempts: 1}}}},
	// folders change places, with what is hidden in them
	{call: "a mkdir sub"}, {call: "a mkdir sub/deep"}, {call: "e chdir M"},
	{call: "e open q sub/deep/q wct", then: world{"sub/deep/q": {bad("")}}},
	{call: "e write q half", then: world{"sub/deep/q": {bad("half")}}},
	{call: "e die"},
	{call: "a stat sub/deep/q", want: "ENOENT"},
	{call: "a exchange sub out", then: world{"sub/deep/q": nil, "out/deep/q": {bad("half")},
		"out/q": nil, "out/a": nil, "out/b": nil, "sub/q": {bad("half")}, "sub/a": {old("one")}, "sub/b": {old("two"), old("four")}}},
	{call: "a rename done/b sub/q", then: world{"done/b": nil, "sub/q": {bad("half"), pub("fourfive")}}},
	// two names of one file, claimed together and removed one after the other
	{call: "a open t one wct", then: world{"one": {bad("")}}},
	{call: "a write t text", then: world{"one": {bad("text")}}},
	{call: "a close t", then: world{"one": {pub("text")}}, late: []world{{"one": {bad("text")}}}},
	{call: "a stat one", want: "4 bytes, 1 links"},
	{call: "a link one sub/two", then: world{"sub/two": {pub("text")}}},
	{call: "b open r one r", then: world{"one": {own("text")}, "sub/two": nil}},
	{call: "b close r"},
	{call: "b unlink one", then: world{"one": nil, "sub/two": {own("text")}}},
	{call: "b unlink sub/two", then: world{"sub/two": nil}},
}

// drama is a run of the script with a daemon that will be killed.
type drama struct {
	*Mount
	clients map[string]*Client
	now     world   // what there is
	may     []world // what may be there instead
}

func newDrama(t *testing.T, at int) *drama {
	t.Helper()
	d := &drama{Mount: &Mount{t: t, Backing: scratch(t), Dir: scratch(t)}, clients: map[string]*Client{}, now: world{}}
	d.flags = []string{"--rule", "done/**=archive", "--rule", "quiet/**=queue,publish=quiet=1h", "--rule", "both/**=queue,on-collision=keep-both"}
	d.startKilled(at)
	t.Cleanup(d.end)
	return d
}

// startKilled starts a daemon that will be killed before its n-th call, perhaps before it serves.
func (m *Mount) startKilled(n int) {
	m.t.Helper()
	m.under = killedAt(n)
	m.launch()
	require.Eventually(m.t, func() bool { return mounted(m.Dir) || m.dead() }, patience, 2*time.Millisecond, "the mount never came")
}

// run plays until the end, or until the daemon is killed.
func (d *drama) run() {
	d.t.Helper()
	if !d.serves() {
		return
	}
	for _, a := range script {
		before := append(d.may, d.now)
		gave := d.play(a)
		if gave == "ECONNABORTED" || gave == "ENOTCONN" {
			d.may = append(before, d.now.with(a.then))
			for _, w := range a.late {
				d.may = append(d.may, d.now.with(w))
			}
			return
		}
		require.Equal(d.t, a.want, gave, a.call)
		d.may = nil
		for _, w := range a.late {
			d.may = append(d.may, d.now.with(w))
		}
		d.now = d.now.with(a.then)
	}
	d.may = nil
	for _, c := range d.clients {
		c.Kill()
	}
	d.stop() // it may be killed in the middle of this, too
}

func (d *drama) play(a turn) string {
	d.t.Helper()
	who, call, _ := strings.Cut(a.call, " ")
	if d.clients[who] == nil {
		d.clients[who] = (&Mount{t: d.t, Dir: "/"}).Client()
	}
	if call == "die" {
		d.clients[who].Kill()
		return ""
	}
	var words []any
	for _, w := range strings.Fields(strings.ReplaceAll(call, "M", d.Dir)) {
		words = append(words, w)
	}
	return d.clients[who].Call(words...)
}

// comesBack mounts anew after the daemon was killed.
func (m *Mount) comesBack() {
	m.t.Helper()
	m.waitEnd()
	m.t.Log(m.log)
	if mounted(m.Dir) {
		require.NoError(m.t, syscall.Unmount(m.Dir, syscall.MNT_DETACH))
	}
	m.under = nil
	m.start()
}

// compare: one of the worlds that may be is there, and what is claimed in it is its claimant's.
func (d *drama) compare() {
	d.t.Helper()
	found, may := d.world(), append(d.may, d.now)
	if !slices.ContainsFunc(may, func(w world) bool { return assert.ObjectsAreEqual(w, found) }) {
		require.Fail(d.t, "what there is may not be", "is     %v\nmay be %v", found, may)
	}
	for d.settlesOne(found) {
		found = d.world() // what was claimed may have had another name
	}
}

// settlesOne has a claimant remove what it has, after a stranger could not.
func (d *drama) settlesOne(found world) bool {
	d.t.Helper()
	for path, all := range found {
		if all[0].state == "claimed" {
			d.clients["b"].OK("chdir " + d.Dir)
			require.Equal(d.t, "ENOENT", d.Client().Call("unlink", path))
			d.clients["b"].OK("unlink " + path)
			return true
		}
	}
	return false
}

func TestI4_KilledBeforeAnyCallOnTheDisk(t *testing.T) {
	calls := wholeDrama(t)
	for _, n := range chosen(t, calls) {
		t.Run(fmt.Sprint("call ", n), func(t *testing.T) {
			t.Parallel()
			d := newDrama(t, n)
			d.run()
			d.comesBack()
			d.compare()
		})
	}
}

// wholeDrama plays to the end, and counts the calls.
func wholeDrama(t *testing.T) (calls int) {
	t.Run("whole", func(t *testing.T) {
		d := newDrama(t, 0)
		d.run()
		calls = d.calls()
	})
	return calls
}

// TestI4_KilledBeforeAnyCallOfItsRecovery: a mount that takes up what an earlier one left may be killed in the middle of it.
func TestI4_KilledBeforeAnyCallOfItsRecovery(t *testing.T) {
	m := mountAlone(t)
	living := unsettled(m)
	whole := m.copied(0)
	require.True(t, whole.serves())
	whole.stop()
	for _, n := range chosen(t, whole.calls()) {
		killed := m.copied(n)
		if killed.serves() {
			killed.stop()
		}
		killed.comesBack()
		checkFates(t, killed)
		killed.crash()
	}
	m.start()
	checkOwner(t, m, living)
}

// copied starts a daemon on a copy of the backing that will be killed.
func (m *Mount) copied(n int) *Mount {
	m.t.Helper()
	c := &Mount{t: m.t, Backing: scratch(m.t), Dir: scratch(m.t)}
	out, err := exec.Command("cp", "-a", m.Backing+"/.", c.Backing).CombinedOutput()
	require.NoError(m.t, err, "%s", out)
	c.startKilled(n)
	return c
}

// calls is how many calls the killer has counted.
func (m *Mount) calls() (calls int) {
	m.t.Helper()
	m.waitEnd()
	lines := strings.Split(strings.TrimSpace(m.log.String()), "\n")
	_, err := fmt.Sscanf(lines[len(lines)-1], "%d calls", &calls)
	require.NoError(m.t, err, m.log)
	return calls
}

// chosen are the calls before which the daemon is killed: a few, or those of AIRLOCKFS_KILLS ("all", or numbers).
func chosen(t *testing.T, calls int) (all []int) {
	t.Helper()
	given, few := os.Getenv("AIRLOCKFS_KILLS"), 10
	for _, word := range strings.Fields(given) {
		if n, err := strconv.Atoi(word); err == nil {
			all = append(all, n)
		}
	}
	if len(all) > 0 {
		return all
	}
	stride := max(calls/few, 1)
	if given == "all" {
		stride = 1
	}
	for n := 1 + rand.IntN(stride); n <= calls; n += stride {
		all = append(all, n)
	}
	t.Logf("killed before %d of %d calls: AIRLOCKFS_KILLS=all does it before each", len(all), calls)
	return all
}

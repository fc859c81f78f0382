package verdict_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/tests/torture/journal"
	"github.com/airlockfs/airlockfs/tests/torture/verdict"
)

// judge judges a run of which each line is "ACTOR VERB ARGS", one millisecond after the other.
func judge(t *testing.T, story string, found ...verdict.Found) *verdict.Result {
	t.Helper()
	dir, n := t.TempDir(), 0
	for line := range strings.Lines(story) {
		if actor, text, is := strings.Cut(strings.TrimSpace(line), " "); is {
			n++
			f, err := os.OpenFile(journal.Path(dir, actor), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			require.NoError(t, err)
			_, err = f.WriteString(strings.Repeat("1", 1+n/100) + pad(n%100) + "000000 " + text + "\n")
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}
	}
	lines, err := journal.Read(dir, journal.Clock{})
	require.NoError(t, err)
	return verdict.Judge(lines, found)
}

func pad(n int) string { return string([]byte{byte('0' + n/10), byte('0' + n%10)}) }

// kinds are the kinds of what is wrong, each once.
func kinds(r *verdict.Result) []string {
	all := []string{}
	seen := map[string]bool{}
	for _, v := range r.Violations {
		if !seen[v.Kind] {
			all, seen[v.Kind] = append(all, v.Kind), true
		}
	}
	return all
}

const delivered = `
	driver start p maker
	driver start c taker
	driver start d taker
	p publish q/u/u-p-1.dat u-p-1
	p ok
`

func publicAt(where string) verdict.Found {
	return verdict.Found{Parcel: "u-p-1", Area: "public", Where: where}
}

// What is right is found right: a checker that convicts everything finds everything.
func TestWhatIsRightIsFoundRight(t *testing.T) {
	for name, story := range map[string]string{
		"settled":                 "c claim q/u/u-p-1.dat\nc ok u-p-1\nc settle q/u/u-p-1.dat u-p-1\nc ok",
		"archived":                "c claim q/u/u-p-1.dat\nc ok u-p-1\nc archive q/u/u-p-1.dat q/done/x u-p-1\nc ok",
		"the loser misses":        "c claim q/u/u-p-1.dat\nc ok u-p-1\nd claim q/u/u-p-1.dat\nd miss\nc settle q/u/u-p-1.dat u-p-1\nc ok",
		"claimed again by itself": "c claim q/u/u-p-1.dat\nc ok u-p-1\nc claim q/u/u-p-1.dat\nc ok u-p-1\nc settle q/u/u-p-1.dat u-p-1\nc ok",
		"given back by a death":   "c claim q/u/u-p-1.dat\nc ok u-p-1\ndriver kill c kill-all\nd claim q/u/u-p-1.dat\nd ok u-p-1\ndriver dead c\nd settle q/u/u-p-1.dat u-p-1\nd ok",
		"given back by an order":  "c claim q/u/u-p-1.dat\nc ok u-p-1\no release q/u/u-p-1.dat\no ok\nd claim q/u/u-p-1.dat\nd ok u-p-1\nc settle q/u/u-p-1.dat u-p-1\nc no EBUSY\nd settle q/u/u-p-1.dat u-p-1\nd ok",
		"killed while it settles": "c claim q/u/u-p-1.dat\nc ok u-p-1\nc settle q/u/u-p-1.dat u-p-1\ndriver kill c kill-all\ndriver dead c",
		"moved and then settled":  "c take q/u/u-p-1.dat q/work/u-p-1.dat\nc ok\nc claim q/work/u-p-1.dat\nc ok u-p-1\nd claim q/u/u-p-1.dat\nd miss\nc settle q/work/u-p-1.dat u-p-1\nc ok",
	} {
		r := judge(t, delivered+story)
		assert.Empty(t, r.Violations, name)
	}
	assert.Empty(t, judge(t, delivered, publicAt("q/u/u-p-1.dat")).Violations, "left")
	assert.Empty(t, judge(t, "p publish q/u/u-p-1.dat u-p-1\np unsure").Violations, "in doubt, and nowhere")
	assert.Empty(t, judge(t, "p publish q/u/u-p-1.dat u-p-1", publicAt("q/u/u-p-1.dat")).Violations, "in doubt, and there")
	assert.Empty(t, judge(t, "p note", verdict.Found{Parcel: "u-p-1", Area: "held"}).Violations, "killed before its rename")
	assert.Empty(t, judge(t, "p doomed u-p-1 it failed", verdict.Found{Parcel: "u-p-1", Area: "quarantine"}).Violations, "failed, and kept")
}

// Each fault that a filesystem could have is found, and named.
func TestEachFaultIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		story string
		found []verdict.Found
		kinds []string
	}{
		"a torn read":        {delivered + "c claim q/u/u-p-1.dat\nc torn u-p-1 has 3 of 9 bytes\ndriver dead c", []verdict.Found{publicAt("q/u/u-p-1.dat")}, []string{"torn"}},
		"a torn observation": {delivered + "c watch q/u/u-p-1.dat\nc torn 0 bytes", []verdict.Found{publicAt("q/u/u-p-1.dat")}, []string{"torn"}},
		"read before it was published": {"p note\nc claim q/u/u-p-1.dat\nc ok u-p-1\ndriver dead c\np publish q/u/u-p-1.dat u-p-1\np ok",
			[]verdict.Found{publicAt("q/u/u-p-1.dat")}, []string{"torn", "not linearizable"}},
		"a failed writer's file is delivered": {"p doomed u-p-1 its writer was killed\nc claim q/u/u-p-1.dat\nc ok u-p-1", nil, []string{"torn", "not linearizable"}},
		"a failed writer's file is left":      {"p doomed u-p-1 its writer was killed", []verdict.Found{publicAt("q/u/u-p-1.dat")}, []string{"torn"}},
		"a refused file is delivered":         {"p publish q/u/u-p-1.dat u-p-1\np no EIO", []verdict.Found{publicAt("q/u/u-p-1.dat")}, []string{"torn"}},
		"two claims": {delivered + "c claim q/u/u-p-1.dat\nc ok u-p-1\nd claim q/u/u-p-1.dat\nd ok u-p-1\nc settle q/u/u-p-1.dat u-p-1\nc ok\nd settle q/u/u-p-1.dat u-p-1\nd no ENOENT",
			nil, []string{"taken by two", "not linearizable"}},
		"settled twice": {delivered + "c claim q/u/u-p-1.dat\nc ok u-p-1\nc settle q/u/u-p-1.dat u-p-1\nc ok\nd claim q/u/u-p-1.dat\nd ok u-p-1\nd settle q/u/u-p-1.dat u-p-1\nd ok",
			nil, []string{"taken by two", "not linearizable"}},
		"settled by a former claimant": {delivered + "c claim q/u/u-p-1.dat\nc ok u-p-1\no release q/u/u-p-1.dat\no ok\nd claim q/u/u-p-1.dat\nd ok u-p-1\nc settle q/u/u-p-1.dat u-p-1\nc ok",
			nil, []string{"not linearizable"}},
		"public, and not there":       {delivered + "c look q/u/u-p-1.dat\nc miss", []verdict.Found{publicAt("q/u/u-p-1.dat")}, []string{"not linearizable"}},
		"a dead claimant's, for ever": {delivered + "c claim q/u/u-p-1.dat\nc ok u-p-1\ndriver dead c\nd claim q/u/u-p-1.dat\nd miss", []verdict.Found{publicAt("q/u/u-p-1.dat")}, []string{"not linearizable"}},
		"lost":                        {delivered, nil, []string{"lost"}},
		"lost by its claimant's death": {delivered + "c claim q/u/u-p-1.dat\nc ok u-p-1\ndriver kill c kill-all\ndriver dead c", nil,
			[]string{"lost"}},
		"in quarantine for no reason": {delivered, []verdict.Found{{Parcel: "u-p-1", Area: "quarantine"}}, []string{"lost"}},
		"in two places":               {delivered, []verdict.Found{publicAt("q/u/u-p-1.dat"), publicAt("q/out/u-p-1.dat")}, []string{"in two places"}},
		"back after it was settled":   {delivered + "c claim q/u/u-p-1.dat\nc ok u-p-1\nc settle q/u/u-p-1.dat u-p-1\nc ok", []verdict.Found{publicAt("q/u/u-p-1.dat")}, []string{"back after it was settled"}},
		"from nowhere":                {"p note", []verdict.Found{publicAt("q/u/u-p-1.dat")}, []string{"from nowhere"}},
		"taken from nowhere":          {"c claim q/hot/f\nc ok h-x-1", nil, []string{"from nowhere", "not linearizable"}},
		"a lock of two":               {"c lock q/locks/a\nc ok\nd lock q/locks/a\nd ok\nc unlock q/locks/a\nc ok\nd unlock q/locks/a\nd ok", nil, []string{"locked by two"}},
	} {
		assert.Equal(t, c.kinds, kinds(judge(t, c.story, c.found...)), name)
	}
}

// A daemon's end excuses what it can't have known, and nothing else.
func TestADaemonsEndExcuses(t *testing.T) {
	quarantined := verdict.Found{Parcel: "u-p-1", Area: "quarantine"}
	assert.Empty(t, judge(t, delivered+"driver down kill\ndriver up\nc claim q/u/u-p-1.dat\nc miss", quarantined).Violations)
	assert.Equal(t, []string{"lost"}, kinds(judge(t, "driver down kill\ndriver up"+delivered, quarantined)))
	locks := "c lock q/locks/a\nc ok\ndriver down kill\ndriver up\nd lock q/locks/a\nd ok\nc unlock q/locks/a\nc unsure"
	assert.Empty(t, judge(t, locks).Violations, "its locks went with it")
}

// Of a writer that is killed when it has just unmapped its file nobody can tell that it had. It excuses no other writer
// and no loss.
func TestADeathAfterAMappingExcuses(t *testing.T) {
	quarantined := verdict.Found{Parcel: "u-p-1", Area: "quarantine"}
	killed, mapped := "c claim q/u/u-p-1.dat\nc miss\ndriver kill p kill-all\ndriver dead p\n", "p mapped u-p-1\n"
	assert.Empty(t, judge(t, mapped+delivered+killed, quarantined).Violations)
	assert.Equal(t, []string{"lost", "not linearizable"}, kinds(judge(t, delivered+killed, quarantined)))
	assert.Equal(t, []string{"lost"}, kinds(judge(t, mapped+delivered, quarantined)))
	assert.Equal(t, []string{"lost"}, kinds(judge(t, mapped+delivered+"driver kill p stop", quarantined)))
	assert.Equal(t, []string{"lost", "not linearizable"}, kinds(judge(t, mapped+delivered+killed)))
}

// A disk that fails excuses that something is late, or was refused and half done. It excuses no torn read, no second claim
// and no loss.
func TestAFailingDiskExcuses(t *testing.T) {
	fails := "driver up rename:EIO:3\n"
	for name, story := range map[string]string{
		"published late":       delivered + "c claim q/u/u-p-1.dat\nc miss",
		"given back late":      delivered + "c claim q/u/u-p-1.dat\nc ok u-p-1\ndriver dead c\nd claim q/u/u-p-1.dat\nd miss",
		"refused, and claimed": delivered + "c claim q/u/u-p-1.dat\nc no EIO\nd claim q/u/u-p-1.dat\nd miss",
	} {
		assert.Empty(t, judge(t, fails+story, publicAt("q/u/u-p-1.dat")).Violations, name)
	}
	twice := delivered + "c claim q/u/u-p-1.dat\nc ok u-p-1\nd claim q/u/u-p-1.dat\nd ok u-p-1\nc note\n"
	assert.Equal(t, []string{"taken by two", "not linearizable"}, kinds(judge(t, fails+twice, publicAt("q/u/u-p-1.dat"))))
	assert.Equal(t, []string{"lost"}, kinds(judge(t, fails+delivered)))
	late := delivered + "driver up\ne look q/u/u-p-1.dat\ne ok\nc claim q/u/u-p-1.dat\nc miss"
	assert.Equal(t, []string{"not linearizable"}, kinds(judge(t, fails+late, publicAt("q/u/u-p-1.dat"))), "the next daemon's disk is sound")
}

// A version that was written over is not kept on a full disk; one that nobody wrote over is.
func TestAFullDiskExcusesWhatIsNotKept(t *testing.T) {
	story := "p publish q/hot/f h-p-1\np ok\ndriver fault full\nq publish q/hot/f h-q-1\nq ok\ndriver fault over\n"
	second := verdict.Found{Parcel: "h-q-1", Area: "public"}
	assert.Empty(t, judge(t, story, second).Violations)
	assert.Equal(t, []string{"lost"}, kinds(judge(t, story)), "nobody wrote over the second one")
	sound := "p publish q/hot/f h-p-1\np ok\nq publish q/hot/f h-q-1\nq ok\ndriver fault full\ndriver fault over"
	assert.Equal(t, []string{"lost"}, kinds(judge(t, sound, second)))
}

// An orphan's removal by name may have met another parcel of that name. It excuses one.
func TestARemovalInDoubtExcusesOne(t *testing.T) {
	story := "p publish q/hot/f h-p-1\np ok\nc claim q/hot/f\nc ok h-p-1\np publish q/hot/f h-p-2\np ok\nc settle q/hot/f h-p-1\ndriver kill c kill-all\ndriver dead c\n"
	back := verdict.Found{Parcel: "h-p-1", Area: "public"}
	assert.Empty(t, judge(t, story, back).Violations)
	assert.Equal(t, []string{"lost"}, kinds(judge(t, story+"p publish q/hot/f h-p-3\np ok", back)))
}

func TestTheReplayIsAboutTheParcelAndWhoDealtWithIt(t *testing.T) {
	r := judge(t, delivered+"p publish q/u/u-p-2.dat u-p-2\np ok\nd claim q/u/u-p-2.dat\nd ok u-p-2\nc claim q/u/u-p-1.dat\nc torn 0 bytes")
	var all []string
	for _, l := range r.Timeline("u-p-1") {
		all = append(all, l.Actor+" "+l.Verb)
	}
	assert.Equal(t, []string{"driver start", "driver start", "p publish", "p ok", "c claim", "c torn"}, all)
}

package main

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

var noon = time.Date(2024, 2, 3, 12, 0, 0, 0, time.UTC)

func TestPrintLocks(t *testing.T) {
	var b bytes.Buffer
	locks := []report.Lock{
		{Program: "a", PID: 1, Kind: "POSIX", Mode: "READ", Start: 3, End: 9, Path: "x", Binds: true, Since: noon},
		{Program: "b", PID: 22, Kind: "FLOCK", Mode: "WRITE", End: math.MaxInt64, Path: "x", Blocked: true, Since: noon.Add(time.Minute),
			BlockedBy: []report.Blocker{{PID: 1}, {PID: 0}, {PID: 7}}},
	}
	assert.NoError(t, printLocks(&b, locks, noon.Add(2*time.Minute), func(string) string { return "7" }))
	assert.Equal(t, ""+
		"COMMAND  PID  TYPE   SIZE  MODE    M  START  END  PATH  AGE  BLOCKER\n"+
		"a        1    POSIX  7     READ    1  3      9    x     2m   \n"+
		"b        22   FLOCK  7     WRITE*  0  0      EOF  x     1m   1 ← ? ← 7\n", b.String())
}

func TestPrintTimeline(t *testing.T) {
	var b bytes.Buffer
	by := &report.Owner{PID: 5, Program: "sh"}
	assert.NoError(t, printTimeline(&b, []report.Event{
		{Time: noon, Path: "a", What: "created", By: by, Detail: "hidden"},
		{Time: noon, Path: "b", What: "refused", By: by},
		{Time: noon.Add(1500 * time.Millisecond), Path: "a", What: "published"},
	}, map[subject]string{{path: "a"}: "public"}))
	assert.Equal(t, ""+
		"a\n  +0.000s  created    by sh (5)  hidden\n  +1.500s  published             \n  → public\n"+
		"b\n  +0.000s  refused  by sh (5)  \n", b.String())
	b.Reset()
	assert.NoError(t, printTimeline(&b, nil, nil))
	assert.Equal(t, "nothing happened to any file\n", b.String())
}

func TestExplainItem(t *testing.T) {
	var b bytes.Buffer
	explainItem(&b, report.Item{Path: "work/a", Home: "in/a", State: "claimed", Since: noon, Size: 4, Class: "work", Attempts: 1,
		Reason: "wc has claimed it", Lifts: "wc ends", Bytes: ".airlockfs/claimed/x/a", Readers: 1, Writers: 1, Until: noon.Add(3 * time.Hour), Warning: "idle"}, "/srv", noon.Add(time.Hour))
	assert.Equal(t, `
claimed for 1h, 4 bytes, class work
  why       wc has claimed it
  lifts     wc ends
  until     2024-02-03 15:00:00, in 2h, if nothing happens before
  warning   idle
  owner     -
  open      1 descriptor for writing, 1 for reading
  attempts  1 ended badly
  name      work/a, goes back to in/a
  bytes     /srv/.airlockfs/claimed/x/a
`, b.String())
}

func TestUsersText(t *testing.T) {
	assert.Equal(t, "sh (pid 5) has it as its working folder", usersText([]mountUser{{5, "sh", "has it as its working folder"}}))
	assert.Contains(t, usersText(nil), "can't see")
}

func TestDurations(t *testing.T) {
	var d time.Duration
	v := newDuration(&d, 24*time.Hour)
	assert.Equal(t, "24h", v.String())
	require.NoError(t, v.Set("90s"))
	assert.Equal(t, "1m30s", v.String())
	assert.ErrorContains(t, v.Set("5"), "such as 90s, 10m")
	for _, text := range []string{"0s", "1m", "1h", "10h5m", "20m", "1h0m5s"} {
		require.NoError(t, v.Set(text))
		want := d
		require.NoError(t, v.Set(v.String()))
		assert.Equal(t, want, d, text)
	}
}

func TestDays(t *testing.T) {
	var d time.Duration
	v := newDuration(&d, 14*24*time.Hour)
	assert.Equal(t, "14d", v.String())
	require.NoError(t, v.Set("1.5d"))
	assert.Equal(t, 36*time.Hour, d)
	for _, text := range []string{"d", "3dd", "1d2h"} {
		assert.Error(t, v.Set(text), text)
	}
}

func TestByteSizes(t *testing.T) {
	var n int64
	v := newByteSize(&n, 10<<30)
	assert.Equal(t, "10G", v.String())
	for text, want := range map[string]int64{"0": 0, "1023": 1023, "1k": 1 << 10, "500M": 500 << 20, "10GiB": 10 << 30, "2TB": 2 << 40, "7B": 7, "8191P": 8191 << 50} {
		require.NoError(t, v.Set(text), text)
		assert.Equal(t, want, n, text)
		require.NoError(t, v.Set(v.String()))
		assert.Equal(t, want, n, text)
	}
	for _, text := range []string{"", "G", "-1", "1X", "8192P", "1.5G", "B", "i", "1 G"} {
		assert.Error(t, v.Set(text), text)
	}
}

func TestClock(t *testing.T) {
	assert.Equal(t, "12:00:00.000", clock(noon, noon.Add(time.Hour)))
	assert.Equal(t, "2024-02-03 12:00:00.000", clock(noon, noon.Add(24*time.Hour)))
}

func TestOpenerText(t *testing.T) {
	o := &report.Owner{PID: 7, Program: "bash"}
	assert.Empty(t, openerText(report.Item{Owner: o}))
	assert.Empty(t, openerText(report.Item{Owner: o, Opener: "pid 7 (bash)"}))
	assert.Equal(t, "pid 9 (cat) read it; its heir keeps it: bash (pid 7)", openerText(report.Item{Owner: o, Opener: "pid 9 (cat)"}))
}

func TestGreeting(t *testing.T) {
	g := greeting{Found: []string{"f"}, Warnings: []string{"w"}, Notes: []string{"n"}, Details: []string{"d"}}
	assert.Equal(t, "f\nwarning: w\n", g.text(false, false))
	assert.Equal(t, "f\nwarning: w\nn\n", g.text(false, true))
	assert.Equal(t, "f\nwarning: w\nn\nd\n", g.text(true, false))
	assert.Empty(t, greeting{Notes: []string{"n"}}.text(false, false))
}

func TestCountsText(t *testing.T) {
	assert.Empty(t, countsText(nil))
	items := []report.Item{{State: "held"}, {State: "claimed"}, {State: "claimed"}}
	assert.Equal(t, "2 claims go on, 1 file held back", countsText(items))
}

func TestOutcomes(t *testing.T) {
	at := func(item uint64, path, what, detail string) report.Event {
		return report.Event{Item: item, Path: path, What: what, Detail: detail}
	}
	ends := outcomes([]report.Event{
		at(1, "a", "published", ""),
		{Item: 2, Path: "b", What: "claimed", By: &report.Owner{}}, at(2, "b", "released", ""),
		at(3, "c", "quarantined", "killed"),
		{Item: 4, Path: "d", What: "claimed", By: &report.Owner{PID: 7, Program: "cat"}}, at(4, "d", "inherited", ""), at(4, "d", "refused", "busy"),
		at(5, "e", "claimed", ""), at(5, "e", "settled", ""),
		at(0, "f", "refused", ""),
		at(6, "g.tmp", "created", ""), at(7, "h", "held", ""),
	}, []report.Item{{Path: "g.tmp", State: "staged", Barrier: "temp"}, {Path: "h", State: "held", Reason: "why"}, {Path: "d", State: "claimed", Reason: "sh has claimed it"}})
	assert.Equal(t, map[subject]string{
		{item: 1}: "public, nobody has taken it", {item: 2}: "public again, to be taken by another", {item: 3}: "quarantined: killed",
		{item: 4}: "claimed by cat (7), and neither removed nor moved: it comes back when the job ends", {item: 5}: "done",
		{item: 6}: "hidden: it has a temp name, and was not renamed", {item: 7}: "held: why",
	}, ends)
}

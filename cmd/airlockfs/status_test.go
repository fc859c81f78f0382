package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/fusefs/report"
)

// page is what status prints on a screen of this width.
func page(t *testing.T, width int, colours bool, s report.Status) string {
	var b bytes.Buffer
	require.NoError(t, printStatus(show.Screen{Out: &b, Width: width, Colours: colours}, s, noon.Add(5*time.Minute)))
	return b.String()
}

var someItems = report.Status{Warnings: []string{"the disk is full"}, Items: []report.Item{
	{State: "staged", Path: "a", Since: noon},
	{State: "claimed", Path: "in/a\tb", Owner: &report.Owner{PID: 12, Program: "wc", UID: 4294967294, Worker: "w"}, Since: noon, Size: 5, Attempts: 2, Reason: "it is claimed"},
	{State: "claimed", Path: "in/日本", Since: noon, Warning: "not used"},
	{State: "quarantined", Path: "in/c", Since: noon, Size: 1 << 20},
	{State: "reserved", Path: "s/n", Since: noon},
}}

func TestStatusPutsFirstWhatNeedsAPerson(t *testing.T) {
	assert.Equal(t, `
STATE        PATH       OWNER                      AGE  SIZE  ATTEMPTS  WHY
claimed      in/日本    -                           5m     0         0  `+`
quarantined  in/c       -                           5m  1.0M         0  `+`
claimed      "in/a\tb"  12 wc 4294967294 worker w   5m     5         2  it is claimed
reserved     s/n        -                           5m     0         0  `+`
staged       a          -                           5m     0         0  `+`
warning: in/日本: not used
warning: the disk is full
1 quarantined, 2 claimed, 1 reserved, 1 staged
`, "\n"+page(t, 0, false, someItems))
	assert.Equal(t, "nothing is hidden, claimed, held back or in quarantine\n", page(t, 0, false, report.Status{All: true}))
}

func TestStatusFitsTheTerminal(t *testing.T) {
	s := report.Status{Items: []report.Item{{State: "held", Path: "in/" + strings.Repeat("日本", 40) + "/order.xml", Since: noon,
		Owner: &report.Owner{PID: 1234567, Program: "a-program-name", UID: 0}, Reason: strings.Repeat("why ", 40)}}}
	for _, width := range []int{60, 80, 120, 200} {
		for _, line := range strings.Split(page(t, width, false, s), "\n") {
			assert.LessOrEqual(t, show.Width(line), width, line)
		}
	}
	assert.Regexp(t, `…日本日本/order.xml  1234567 a-program-…  +5m  +0  why why why why why…`, page(t, 80, false, s))
	assert.Contains(t, page(t, 0, false, s), strings.Repeat("why ", 40))
}

func TestStatusColours(t *testing.T) {
	text := page(t, 0, true, someItems)
	assert.Contains(t, text, "\x1b[31mquarantined\x1b[0m  in/c")
	assert.Contains(t, text, "\x1b[33mwarning: the disk is full\x1b[0m")
	assert.NotContains(t, page(t, 0, false, someItems), "\x1b")
}

func TestSeconds(t *testing.T) {
	var s seconds
	for text, want := range map[string]time.Duration{"5": 5 * time.Second, "0.5": time.Second / 2, "1m": time.Minute} {
		require.NoError(t, s.Set(text))
		assert.Equal(t, want, time.Duration(s))
	}
	assert.Equal(t, []string{"/mnt", "/"}, s.among([]string{"/mnt", "7", "/"}))
	assert.Equal(t, 7*time.Second, time.Duration(s))
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("9", 0o755))
	assert.Equal(t, []string{"9"}, s.among([]string{"9"}), "a folder of that name")
	for _, text := range []string{"0", "-1", "soon", "NaN"} {
		assert.Error(t, s.Set(text), text)
	}
}

func TestStatusIsOfThePathsAskedFor(t *testing.T) {
	i := report.Item{Path: "work/a", Home: "in/a"}
	for path, want := range map[string]bool{".": true, "work": true, "work/a": true, "in": true, "in/a": true, "wor": false, "work/a/b": false, "done": false} {
		assert.Equal(t, want, concerns(i, []string{path}), path)
	}
}

package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// orderTable says what becomes of items of a state by an order of root's or of their user's: the state, or a part of the
// refusal. What is nobody else's business is refused to others, in the same words for all.
var orderTable = map[string]map[string]string{
	"claimed":     {"release": "published", "requeue": "somebody works on it", "publish": "somebody works on it", "discard": "somebody works on it", "discard --force": "gone"},
	"held":        {"release": "it is held back", "requeue": "it is held back", "publish": "published", "discard": "it is held back", "discard --force": "gone"},
	"staged":      {"release": "it is unfinished", "requeue": "it is unfinished", "publish": "open for writing", "discard": "it is unfinished", "discard --force": "gone"},
	"quarantined": {"release": "it is in quarantine", "requeue": "published", "publish": "it is in quarantine", "discard": "gone", "discard --force": "gone"},
	"parked":      {"release": "nobody owns", "requeue": "say with --as", "publish": "say with --as", "discard": "gone", "discard --force": "gone", "publish --as %s.done": "published", "requeue --as %s.done": "published"},
	"abandoned":   {"release": "its writer was killed", "requeue": "say with --as", "publish": "its writer was killed", "discard": "gone", "discard --force": "gone", "requeue --as %s.done": "published"},
}

// orderCase is one order about an item made for it.
type orderCase struct{ state, order, want, name string }

func orderCases(by string) []orderCase {
	var all []orderCase
	for state, orders := range orderTable {
		for order, want := range orders {
			name := fmt.Sprintf("%s-%d", by, len(all))
			switch state {
			case "held":
				name = "byname/" + name
			case "parked", "abandoned":
				name += ".tmp"
			}
			all = append(all, orderCase{state, order, want, name})
		}
	}
	return all
}

// makeAll has alice make an item for each case. What lives goes on until the test ends.
func (m *Mount) makeAll(cases []orderCase) {
	m.t.Helper()
	names := map[string][]string{}
	for _, c := range cases {
		names[c.state] = append(names[c.state], quote(c.name))
	}
	list := func(state string) string { return strings.Join(names[state], " ") }
	r := m.RunAs(alice, `for f in %s %s %s; do echo text > $f; done
		for f in %s %s; do bash -c 'exec 3> $0; echo text >&3; kill -KILL $$' $f; done 2>/dev/null; true`,
		list("claimed"), list("held"), list("parked"), list("quarantined"), list("abandoned"))
	require.Zero(m.t, r.Code, r.Out)
	m.StartAs(alice, `for f in %s; do exec {fd}<$f; done; for f in %s; do exec {fd}>$f; done; read`, list("claimed"), list("staged"))
	m.Until("all are there", func() bool {
		status := m.Status()
		for _, c := range cases {
			if len(status[c.name]) != 1 || status[c.name][0].State != c.state {
				return false
			}
		}
		return true
	})
}

func TestOrdersInEachStateByEachUser(t *testing.T) {
	for by, uid := range map[string]uint32{"root": 0, "owner": alice, "stranger": bob} {
		t.Run(by, func(t *testing.T) {
			m := mount(t, "--rule", "byname/**=queue,publish=rename")
			require.NoError(t, os.Mkdir(m.Below("byname"), 0o755))
			require.NoError(t, unix.Chmod(m.Below("byname"), 0o777))
			require.NoError(t, unix.Chmod(m.Backing, 0o777))
			cases := orderCases(by)
			m.makeAll(cases)
			before := m.Status()
			for _, c := range cases {
				verb, rest, _ := strings.Cut(c.order, " ")
				if strings.Contains(rest, "%s") {
					rest = fmt.Sprintf(rest, strings.TrimSuffix(c.name, ".tmp"))
				}
				r := m.orderAs(uid, verb+" --json "+rest+" "+c.name)
				var out []report.Outcome
				require.NoError(t, json.Unmarshal([]byte(r.Out), &out), r.Out)
				m.checkOrder(c, r.Code, out[0], uid == bob, before)
			}
		})
	}
}

func (m *Mount) checkOrder(c orderCase, code int, out report.Outcome, stranger bool, before map[string][]report.Item) {
	m.t.Helper()
	what := c.order + " of a file that is " + c.state
	now := m.Status()[c.name]
	switch {
	case stranger:
		require.Equal(m.t, 1, code, what)
		require.Contains(m.t, out.Refused, "no file that you may", what)
		require.Nil(m.t, out.Item, what)
		require.Equal(m.t, before[c.name], now, what)
	case out.Done:
		require.Equal(m.t, []any{0, c.want}, []any{code, out.State}, what)
		require.Equal(m.t, c.state, out.Item.State, what)
		require.Empty(m.t, now, what)
	default:
		require.Equal(m.t, 1, code, what)
		require.Contains(m.t, out.Refused, c.want, what)
		require.Equal(m.t, before[c.name][0].State, now[0].State, what)
	}
}

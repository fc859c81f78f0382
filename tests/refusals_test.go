package tests

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// refusals are calls of a client that are refused, after what others did (holder: what a living stranger has done), each
// with the errno and what the event says of it.
var refusals = map[string]struct {
	holder, before []string
	call, errno    string
	path, says     string
}{
	"exclusive create": {[]string{"open w f wcx"}, nil, "open w f wcx", "EEXIST", "f", `create: name taken: met the unfinished file of HIM since TIME; .+`},
	"second writer":    {[]string{"open w f wc"}, nil, "open w f wc", "EBUSY", "f", `create: busy: met the unfinished file of HIM since TIME; wait .+`},
	"read a claimed":   {[]string{"open r old r"}, nil, "open r old r", "ENOENT", "old", ""},
	"append a claimed": {[]string{"open r old r"}, nil, "open a old wac", "EBUSY", "old", `create: busy: met the claim of HIM since TIME; .+`},
	"move over":        {[]string{"open w f wc"}, []string{"open w t.tmp wc", "close w"}, "rename t.tmp f", "EBUSY", "t.tmp → f", `rename: busy: met the unfinished file of HIM since TIME; .+`},
	"mkdir":            {[]string{"open w f wc"}, nil, "mkdir f", "EEXIST", "f", `make: name taken: met the unfinished file of HIM since TIME; .+`},
	"move a link over": {[]string{"open w f wc"}, nil, "rename link f", "EEXIST", "f", `rename: name taken: met the unfinished file of HIM since TIME; .+`},
	"rmdir":            {[]string{"open w d/f wc"}, nil, "rmdir d", "ENOTEMPTY", "d", `rmdir: hidden items below: met the unfinished file of HIM since TIME; .+: d/f`},
	"move a folder":    {[]string{"open w d/f wc"}, nil, "rename d e", "EBUSY", "d", `rename: busy: met the unfinished file of HIM since TIME; .+: d/f`},
	"link elsewhere":   {nil, []string{"open r old r"}, "link old plain/x", "EXDEV", "old", `link: other class.*; .+`},
	"reserved xattr":   {nil, nil, "setxattr old user.airlockfs.state x", "EPERM", "old", `setxattr: reserved; .+`},
	"too late":         {nil, []string{"open w old wa", "write w more", "other"}, "close w", "EIO", "old", `close: base replaced: met the claim of HIM since TIME; .+ in quarantine`},
	"released":         {nil, []string{"open r old r", "release"}, "read r", "ESTALE", "old", `read: claim is over; close it .+`},
	"first write":      {nil, []string{"open w old wa", "other"}, "write w more", "EBUSY", "old", `write: busy: met the claim of HIM since TIME; .+`},
}

// TestEveryRefusalSaysWhomItMet: who was refused what, what he met, whose, since when, and what to do.
func TestEveryRefusalSaysWhomItMet(t *testing.T) {
	m := mount(t, "--rule", "**/plain/**=plain")
	for name, c := range refusals {
		dir := strings.ReplaceAll(name, " ", "-")
		m.Must("mkdir -p %[1]s/d %[1]s/plain; cd %[1]s; echo x > old; ln -s nowhere link", dir)
		him, me := m.Client(), m.Client()
		him.OK("chdir " + dir)
		me.OK("chdir " + dir)
		him.OK(c.holder...)
		for _, call := range c.before {
			switch call {
			case "other":
				him.OK("open r old r")
			case "release":
				require.Zero(t, m.Airlock("release "+dir+"/old").Code)
			default:
				me.OK(call)
			}
		}
		words := []any{}
		for _, w := range strings.Fields(c.call) {
			words = append(words, w)
		}
		require.Equal(t, c.errno, me.Call(words...), name)
		if c.says == "" {
			continue
		}
		refused := m.refused(me.PID())
		require.NotEmpty(t, refused, name)
		e := refused[len(refused)-1]
		path := dir + "/" + strings.ReplaceAll(c.path, "→ ", "→ "+dir+"/")
		require.Equal(t, path, e.Path, name)
		says := strings.NewReplacer("HIM", `pid \d+ \(tests\.test\)`, "TIME", `\d\d:\d\d:\d\d`, ": d/f", ": "+dir+"/d/f").Replace(c.says)
		require.Regexp(t, "^"+says+"$", e.Detail, name)
		him.Kill()
		me.Kill()
	}
	require.Regexp(t, `msg=refused path=\S+ who="pid \d+ \(tests\.test\)" what=create why="busy: met the claim of`, m.log.String())
}

// refused are the events of a process's calls that were refused.
func (m *Mount) refused(pid int) []report.Event {
	m.t.Helper()
	var all, some []report.Event
	require.NoError(m.t, json.Unmarshal([]byte(m.Must("cat .airlockfs/events")), &all))
	for _, e := range all {
		if e.What == "refused" && e.By != nil && e.By.PID == pid {
			some = append(some, e)
		}
	}
	return some
}

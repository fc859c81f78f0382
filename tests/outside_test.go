package tests

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What others do in the backing, past the mount. docs/outside.md lists it.

// outside runs a script in the backing.
func (m *Mount) outside(script string, args ...any) {
	m.t.Helper()
	m.Must("cd %s && "+script, append([]any{quote(m.Backing)}, args...)...)
}

// arrivals are ways in which an outsider brings or changes something; f, if it was there before, was "old". seen is what
// a stranger then finds under f, and all names.
var arrivals = map[string]struct{ do, seen, names string }{
	"cp":          {`cp $S f`, "bytes", "f"},
	"rsync":       {`rsync $S f`, "bytes", "f"},
	"rename":      {`cp $S f.tmp && mv f.tmp f`, "bytes", "f"},
	"append":      {`cat $S >> f`, "bytes", "f"},
	"truncate":    {`truncate -s 0 f && cat $S > f`, "bytes", "f"},
	"remove":      {`cp $S f; rm f`, "", ""},
	"move away":   {`cp $S f; mv f g`, "", "g"},
	"temp name":   {`cp $S f.part`, "", ""},
	"hard link":   {`cp $S g; ln g f`, "bytes", "f g"},
	"symlink":     {`cp $S g; ln -s g f`, "bytes", "f g"},
	"FIFO":        {`mkfifo f`, "pipe", "f"},
	"folder":      {`mkdir f; cp $S f/inner`, "folder", "f"},
	"folder gone": {`mkdir f; rmdir f`, "", ""},
	"chmod":       {`cp $S f; chmod 600 f; touch f; chown 1:1 f`, "bytes", "f"},
}

// see says what is under f, as a stranger sees it.
const see = `if [ -p f ]; then echo pipe; elif [ -d f ]; then echo folder; [ $(cat f/inner) = bytes ]; elif [ -e f ]; then cat f; fi; ls`

// TestOutside_WhatComesAndGoesIsSeenAtOnce: in a folder that nobody has looked at, and in one that was just listed, and
// with a file there that was read and given back.
func TestOutside_WhatComesAndGoesIsSeenAtOnce(t *testing.T) {
	m := mount(t)
	source := scratch(t) + "/source"
	m.Must("echo bytes > %s", source)
	for name, a := range arrivals {
		for _, known := range []string{"", "ls; cat f; stat no", "echo old > f; cat f; ls; stat f"} {
			dir := strings.ReplaceAll(name, " ", "-") + fmt.Sprint(len(known))
			m.outside("mkdir %s", dir)
			if strings.Contains(known, "old") && !strings.HasPrefix(a.do, "mk") && name != "hard link" && name != "symlink" {
				m.Run("cd %s; %s", dir, known)
				m.Until("what was read is back", func() bool { return m.State(dir+"/f") == "" })
			} else {
				m.Run("cd %s; ls; cat f; stat no", dir)
			}
			m.outside("cd %s; S=%s; %s", dir, source, a.do)
			seen := strings.Fields(m.Run("cd %s; %s", dir, see).Out)
			want := strings.Fields(a.seen + " " + a.names)
			if name == "append" && len(seen) == len(want)+1 {
				want = append([]string{"old"}, want...)
			}
			if name == "temp name" && len(seen) == 2 {
				want = []string{"old", "f"}
			}
			require.Equal(t, want, seen, "%s in %s", name, dir)
		}
	}
}

// TestI1_AFileThatAnOutsiderWritesAgainIsHiddenUntilItIsClosed: it was complete, and is opened for writing a second time.
func TestI1_AFileThatAnOutsiderWritesAgainIsHiddenUntilItIsClosed(t *testing.T) {
	m := mount(t, "--observer", "name=md5sum", "--rule", "shared/=shared")
	marks := scratch(t)
	for n, f := range []string{"f", "shared/g"} {
		m.outside("mkdir -p shared; echo first > %s", f)
		m.Must("cat %s", f)
		m.Until("it is back", func() bool { return m.State(f) == "" })
		o := m.Start(`exec 3>> %s; : > %s; read; echo second >&3; read`, quote(m.Below(f)), quote(marks+"/"+filepath.Base(f)))
		m.untilMarked(marks, n+1)
		require.NotZero(t, m.Run("cat %s", f).Code)
		require.Equal(t, "first\n", m.Run("cat %s", quote(m.Below(f))).Out, "it was not taken away")
		require.Equal(t, "outside", m.State(f))
		r := m.Run("echo more >> %s", f)
		require.NotZero(t, r.Code)
		require.Contains(t, r.Out, "Device or resource busy")
		require.NotZero(t, m.Run("md5sum %s", f).Code)
		require.Contains(t, m.Airlock("events .").Out, "somebody outside the mount has it open for writing")
		o.Say()
		m.Until("the outsider has written", func() bool { return strings.Contains(m.Run("cat %s", quote(m.Below(f))).Out, "second") })
		require.NotZero(t, m.Run("stat %s || md5sum %s || cat %s", f, f, f).Code, "half of it")
		require.NotContains(t, m.List(filepath.Dir(f)), filepath.Base(f))
		o.Say()
		o.Wait()
		require.Equal(t, "first\nsecond", m.Must("cat %s", f))
	}
	m.Until("it is back", func() bool { return m.State("f") == "" })
	m.outside("echo third >> f")
	require.Equal(t, "first\nsecond\nthird", m.Must("cat f"))
	require.Contains(t, m.Airlock("events .").Out, "somebody outside the mount has written to it")
}

// TestI4_WhatAnOutsiderPutsUnderAClaimedNameIsAnItemOfItsOwn: both are there in the end, one after the other.
func TestI4_WhatAnOutsiderPutsUnderAClaimedNameIsAnItemOfItsOwn(t *testing.T) {
	m := mount(t)
	for n, do := range []string{`echo new > f`, `echo new > f.tmp; mv f.tmp f`, `echo new > g; ln g f; rm g`, `rm -f f; echo new >> f`} {
		dir := fmt.Sprint("d", n)
		m.Must("mkdir %[1]s; echo old > %[1]s/f", dir)
		c := m.Client()
		c.OK("open r " + dir + "/f r")
		m.outside("cd %s; %s", dir, do)
		require.Equal(t, "old\n", c.Call("read", "r"), do)
		require.Equal(t, "new", m.Must("cat %s/f", dir), do)
		m.Until("the new one is back", func() bool { return len(m.Status()[dir+"/f"]) == 1 })
		c.Kill()
		m.Until("the claim is back, behind the newer one", func() bool { return m.State(dir+"/f") == "held" })
		require.Equal(t, "older", m.Item(dir+"/f").Barrier)
		require.Equal(t, "new", m.Must("cat %[1]s/f; rm %[1]s/f", dir), do)
		require.Equal(t, "old", m.Must("cat %[1]s/f", dir), do)
	}
}

// TestI4_WhatAnOutsiderPutsUnderANameThatIsBeingWrittenIsKept: the program's version takes the name, the outsider's is kept
// as one that was replaced.
func TestI4_WhatAnOutsiderPutsUnderANameThatIsBeingWrittenIsKept(t *testing.T) {
	m := mount(t)
	c := m.Client()
	c.OK("open w f wc", "write w mine")
	m.outside("echo outsider > f")
	require.Equal(t, "outsider", m.Must("cat f"), "it is complete, and the other one is not")
	c.OK("close w")
	require.Equal(t, "mine", m.Must("cat f"))
	require.Equal(t, "outsider", m.Must(`cat "$(find %s/.airlockfs/replaced -type f)"`, quote(m.Backing)))
}

// TestI6_AVersionWhoseBaseAnOutsiderReplacedIsNotPublished: it goes to quarantine, and its writer is told.
func TestI6_AVersionWhoseBaseAnOutsiderReplacedIsNotPublished(t *testing.T) {
	m := mount(t)
	m.Must("echo base > f")
	c := m.Client()
	c.OK("open w f wa", "write w mine")
	m.outside("echo outsider > g; mv g f")
	require.Equal(t, "EIO", c.Call("close", "w"))
	m.Until("it is in quarantine", func() bool { return m.State("f") == "quarantined" })
	require.Equal(t, "outsider", m.Must("cat f"))
}

// TestOutside_ALostItemIsReported: somebody removes what is not public from the control folder.
func TestOutside_ALostItemIsReported(t *testing.T) {
	m := mount(t)
	area := func(name string) { m.outside("rm -r .airlockfs/%s/*", name) }
	claimant := func(f string) *Client {
		m.Must("echo %[1]s > %[1]s", f)
		c := m.Client()
		c.OK("open r " + f + " r")
		area("claimed")
		require.Equal(t, f+"\n", c.Call("read", "r"), "what is open can be read")
		return c
	}
	for f, call := range map[string][]any{"look": {"stat", "look"}, "open": {"open", "again", "open", "r"},
		"move": {"rename", "move", "moved"}, "rm": {"unlink", "rm"}} {
		require.Equal(t, "ENOENT", claimant(f).Call(call...), f)
	}
	claimant("status")
	require.Empty(t, m.State("status"))
	claimant("close").OK("close r")
	m.Must("cat close; echo anew > close; cat close")
	m.Until("it is back", func() bool { return m.State("close") == "" })
	claimant("killed").Kill()
	m.Until("every loss is told", func() bool { return strings.Count(m.Airlock("events .").Out, " lost ") == 7 })
	m.Until("the log has come here", func() bool { return strings.Contains(m.log.String(), "level=WARN msg=lost path=killed") })

	w := m.Client()
	w.OK("open w written wc", "write w bytes")
	area("staging")
	require.Equal(t, "EIO", w.Call("close", "w"))
	require.Contains(t, m.refused(w.PID())[0].Detail, "somebody outside the mount removed it")
	m.Must("echo anew > written; cat written")
}

// TestOutside_AreasThatAreRemovedAreMadeAgain: each with all in it, while the mount serves.
func TestOutside_AreasThatAreRemovedAreMadeAgain(t *testing.T) {
	m := mount(t)
	m.Must("mkdir in; echo old > in/f; cat in/f; echo x > in/x.tmp; echo b > in/b")
	m.Until("what was read is back", func() bool { return m.State("in/f") == "" })
	m.outside("cd .airlockfs; rm -r claimed staging parked abandoned held quarantine replaced folders")
	require.Equal(t, "a", m.Must("mkdir new; echo a > new/a; cat new/a"))
	m.Must("echo new > in/f; (trap 'kill -9 $BASHPID' EXIT; exec 3> in/dead; echo x >&3); true")
	require.Equal(t, "old", m.Must(`cat "$(find %s/.airlockfs/replaced -type f)"`, quote(m.Backing)))
	m.Until("the writer's end is settled", func() bool { return m.State("in/dead") == "quarantined" })
	require.Equal(t, "b", m.Must("cat in/b; rm in/b"))
	require.Empty(t, m.Run("%s check %s | grep PROBLEM", binary, quote(m.Backing)).Out)
}

// TestOutside_FoldersThatAreRenamedKeepTheirItems: also over a restart.
func TestOutside_FoldersThatAreRenamedKeepTheirItems(t *testing.T) {
	m := mount(t)
	m.Must("mkdir -p in/sub; for f in in/a in/sub/b; do echo text > $f; done")
	c := m.Client()
	c.OK("open a in/a r", "open b in/sub/b r")
	p := m.Start("echo temp > in/sub/c.tmp; read; cd $M; mv out/sub/c.tmp out/sub/c")
	m.Until("the temp file is there", func() bool { return m.State("in/sub/c.tmp") == "staged" })
	m.outside("mv in out")
	require.Equal(t, "out\nout/sub", m.Must("find * -type d"))
	require.Equal(t, "claimed claimed staged", m.State("out/a")+" "+m.State("out/sub/b")+" "+m.State("out/sub/c.tmp"))
	m.crash()
	m.start()
	require.Equal(t, "claimed claimed staged", m.State("out/a")+" "+m.State("out/sub/b")+" "+m.State("out/sub/c.tmp"))
	p.Say()
	require.Zero(t, p.Wait().Code)
	c.Kill()
	require.Equal(t, "text\ntext\ntemp", m.Must("cat out/a out/sub/b out/sub/c"))
}

// TestOutside_AFolderThatIsRemovedCanBeMadeAgain: what was claimed below it waits for that.
func TestOutside_AFolderThatIsRemovedCanBeMadeAgain(t *testing.T) {
	m := mount(t)
	m.Must("mkdir in; echo text > in/f")
	c := m.Client()
	c.OK("open r in/f r")
	m.outside("rm -r in")
	require.Equal(t, "text\n", c.Call("read", "r"))
	c.Kill()
	m.Until("it can't go back", func() bool { return strings.Contains(m.Item("in/f").Reason, "its folder was removed") })
	require.Contains(t, m.Item("in/f").Lifts, "make the folder again")
	m.Must("mkdir in")
	m.Until("it is back", func() bool { return m.Run("cat in/f").Out == "text\n" })
}

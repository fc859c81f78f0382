package tests

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// orderAs has a user give an order: release, requeue, publish or discard, with what else is on the command line.
func (m *Mount) orderAs(uid uint32, order string) result {
	m.t.Helper()
	return m.RunAs(uid, "%s %s </dev/null", quote(binary), order)
}

// order is root's order, which must be carried out.
func (m *Mount) order(order string) {
	m.t.Helper()
	r := m.orderAs(0, order)
	require.Zero(m.t, r.Code, r.Out)
}

// broken leaves files in quarantine.
func (m *Mount) broken(names ...string) {
	m.t.Helper()
	for _, name := range names {
		m.Run(`exec 3> %s; echo broken >&3; kill -KILL $$`, quote(name))
		require.Equal(m.t, "quarantined", m.State(name))
	}
}

func TestI5_WhoseClaimIsReleasedHasNothingLeftOfIt(t *testing.T) {
	m := mount(t)
	m.Must("echo text > f")
	worker, next := m.Client(), m.Client()
	worker.OK("open f f r", "open out f.tmp wct", "write out result", "close out")
	require.Equal(t, "text\n", worker.Call("read", "f"))
	require.Equal(t, "ENOENT", next.Call("open", "f", "f", "r"))
	m.order("release f")
	require.Equal(t, "ESTALE", worker.Call("read", "f"))
	for _, call := range []string{"unlink f", "rename f g", "rename f.tmp f", "exchange f.tmp f", "truncate f 0", "open w f w", "open w f wt"} {
		require.Equal(t, "EBUSY", worker.Call(callWords(call)...), call)
	}
	next.OK("open f f r")
	require.Equal(t, "text\n", next.Call("read", "f"))
	require.Equal(t, "ENOENT", worker.Call("unlink", "f"))
	require.Equal(t, "ENOENT", worker.Call("rename", "f", "g"))
	require.Equal(t, "ESTALE", worker.Call("read", "f"))
	next.OK("unlink f")
	require.Empty(t, m.List("."))
}

func callWords(call string) []any {
	var all []any
	for _, w := range strings.Fields(call) {
		all = append(all, w)
	}
	return all
}

func TestI5_WhoOpensAnewAfterAReleaseMayGoOn(t *testing.T) {
	m := mount(t)
	m.Must("echo text > f")
	worker := m.Client()
	worker.OK("open f f r")
	m.order("release f")
	worker.OK("open again f r")
	require.Equal(t, "text\n", worker.Call("read", "again"))
	require.Equal(t, "ESTALE", worker.Call("read", "f"))
	worker.OK("unlink f")
	require.Equal(t, "0", m.Must("ls | wc -l"))
}

func TestI5_WhatWasWrittenInAReleasedClaimIsNotDelivered(t *testing.T) {
	m := mount(t)
	m.Must("printf old > f")
	worker := m.Client()
	worker.OK("open f f rw", "write f new")
	m.order("release f")
	require.Equal(t, "EIO", worker.Call("close", "f"))
	require.Equal(t, "old", m.Must("cat f"))
	require.Equal(t, "quarantined", m.State("f"), "what was written is kept")
}

func TestI4_AReleasedItemWaitsBehindANewerOne(t *testing.T) {
	m := mount(t)
	m.Must("printf older > f")
	worker := m.Client()
	worker.OK("open f f r")
	m.Must("printf newer > f")
	m.order("release f")
	require.Equal(t, "held", m.State("f"))
	m.order("publish f")
	require.Equal(t, "held", m.State("f"), "they have exchanged their turns")
	m.order("publish f")
	require.Equal(t, "newer older", m.Must("cat f; rm f; echo -n ' '; cat f"))
}

// Of many who order the same at once, one succeeds, whatever the order.
func TestOfManyOrdersOneIsCarriedOut(t *testing.T) {
	m := mount(t)
	m.broken("requeue", "discard")
	m.Must("echo text > release")
	worker := m.Client()
	worker.OK("open f release r")
	for _, order := range []string{"requeue", "discard", "release"} {
		out := m.Must(`for n in $(seq 16); do (%[1]s %[2]s %[2]s >/dev/null 2>&1; echo $?) & done; wait`, quote(binary), order)
		require.Equal(t, 1, strings.Count(out, "0"), out)
		require.Equal(t, 15, strings.Count(out, "1"), out)
	}
	require.Equal(t, []string{"release", "requeue"}, m.List("."))
	events := m.Must("%s events .", quote(binary))
	for _, what := range []string{"requeued +requeue", "discarded +discard", "released +release"} {
		require.Len(t, regexp.MustCompile(`(?m)^\S+ +(\d+ +)?`+what+` .*by order of uid 0`).FindAllString(events, -1), 1, "%s\n%s", what, events)
	}
	require.Equal(t, 1, strings.Count(m.log.String(), "msg=requeued"), m.log.String())
}

func TestSeveralItemsOfANameAreToldApart(t *testing.T) {
	m := mount(t)
	m.broken("f")
	m.Run(`exec 3> f; echo second >&3; kill -KILL $$`)
	r := m.orderAs(0, "requeue f")
	require.Equal(t, 1, r.Code)
	items := m.Status()["f"]
	require.Len(t, items, 2)
	for _, i := range items {
		require.Regexp(t, fmt.Sprintf("--item %d +quarantined", i.Item), r.Out)
	}
	require.Contains(t, m.Must("%s why f", quote(binary)), fmt.Sprintf("airlockfs requeue --item %d %s", items[1].Item, m.Path("f")))
	m.order(fmt.Sprintf("requeue --item %d f", items[1].Item))
	require.Equal(t, "second", m.Must("cat f"))
	m.order("discard f")
	require.Equal(t, 1, m.orderAs(0, "discard f").Code, "what is left is public")
	require.Equal(t, "second", m.Must("cat f"))
}

// An order is done or it is not done, whenever the daemon is killed.
func TestI4_OrdersBeforeAndDuringACrash(t *testing.T) {
	m := mount(t)
	names := strings.Fields(m.Must("echo f{1..30}"))
	m.Must(`for f in %s; do bash -c 'exec 3> $0; echo text >&3; kill -KILL $$' $f; done 2>/dev/null; echo text > claimed`, strings.Join(names, " "))
	worker := m.Client()
	worker.OK("open f claimed r")
	m.order("requeue f1")
	m.order("discard f2")
	m.order("release claimed")
	p := m.Start(`for f in %s; do %s requeue $f; done`, strings.Join(names[2:], " "), quote(binary))
	m.Until("some are delivered", func() bool { return len(m.List(".")) > 6 })
	m.crash()
	p.Wait()
	m.start()
	status, public := m.Status(), strings.Join(append(m.List("."), ""), " ")
	require.Contains(t, public, "claimed f1 ")
	require.NotContains(t, public, "f2 ")
	require.Empty(t, status["f2"])
	for _, f := range names[2:] {
		require.NotEqual(t, strings.Contains(public, f+" "), len(status[f]) == 1, "%s is in one place: %v, %s", f, status[f], public)
	}
	require.Equal(t, "text", m.Must("cat f1"))
	worker.OK("chdir /")
}

// The order of who may order something about an item does not lend him rights that he has not on its folder.
func TestOrdersLendNoRightsOnTheFolder(t *testing.T) {
	m := mount(t, "--rule", "**=queue,publish=rename")
	require.NoError(t, unix.Chmod(m.Backing, 0o1777))
	require.Zero(t, m.RunAs(alice, "echo alice > f; mkdir shut; chmod 777 shut; exec 3> shut/f; echo alice >&3; kill -KILL $$").Code-137)
	require.Zero(t, m.RunAs(bob, "echo bob > f.tmp; mv f.tmp f").Code)
	require.Contains(t, m.orderAs(alice, "publish f").Out, "you may not put a file under this name", "it would replace bob's")
	require.Equal(t, "bob", m.Must("cat %s", quote(m.Below("f"))))
	require.NoError(t, firstError(os.Chown(m.Below("shut"), 0, 0), os.Chmod(m.Below("shut"), 0o755)))
	require.Contains(t, m.orderAs(alice, "requeue shut/f").Out, "you may not put a file under this name")
	require.Zero(t, m.orderAs(alice, "publish --as g f").Code, "this is only hers")
	require.Zero(t, m.orderAs(0, "requeue shut/f").Code)
	require.Equal(t, "alice\nalice", m.Must("cat g shut/f"))
}

func TestAnotherNameMustBeFree(t *testing.T) {
	m := mount(t)
	m.Must("echo parked > f.tmp; echo text > taken; mkdir folder; ln -s nowhere link")
	writer := m.Client()
	writer.OK("open f written wct")
	for name, code := range map[string]int{"taken": 1, "folder": 1, "link": 1, "written": 1, "other.tmp": 1, "folder/f": 2, "..": 2, ".airlockfs": 1} {
		r := m.orderAs(0, "publish --as "+name+" f.tmp")
		require.Equal(t, code, r.Code, "%s: %s", name, r.Out)
		require.Equal(t, "parked", m.State("f.tmp"), name)
	}
	m.order("publish --as free f.tmp")
	require.Equal(t, "parked text", m.Must("echo $(cat free taken)"))
}

func TestDiscardOfWhatIsOpenIsTold(t *testing.T) {
	m := mount(t)
	m.Must("echo text > f")
	worker, writer := m.Client(), m.Client()
	worker.OK("open f f r")
	writer.OK("open g g wct", "write g text")
	m.order("discard --force f g")
	require.Equal(t, "ESTALE", worker.Call("read", "f"))
	require.Equal(t, "ESTALE", writer.Call("write", "g", "more"))
	require.Equal(t, "ESTALE", writer.Call("close", "g"))
	require.Empty(t, m.List("."))
	require.Empty(t, m.Status())
}

func TestDiscardAsksAtATerminal(t *testing.T) {
	m := mount(t)
	m.broken("f")
	ask := func(answer string) string {
		return m.Run(`printf '%s\n' | timeout 20 script -qec %s /dev/null`, answer, quote(quote(binary)+" discard f")).Out
	}
	require.Contains(t, ask("n"), "Remove it for good?")
	require.Equal(t, "quarantined", m.State("f"))
	require.Contains(t, ask("y"), "discarded")
	require.Equal(t, "", m.State("f"))
}

// A descriptor that was opened by one user and is written by another is nobody's order.
func TestAnOrderIsWhoseWritesIt(t *testing.T) {
	m := mount(t)
	m.broken("f")
	order := `printf '{"do":"discard","path":"f"}' >&3`
	r := m.Run(`exec 3<>.airlockfs/command; setpriv --reuid %d --clear-groups bash -c %s; cat <&3`, alice, quote(order))
	require.Contains(t, r.Out, "Operation not permitted")
	require.Equal(t, "quarantined", m.State("f"))
	r = m.RunAs(alice, `exec 3<>.airlockfs/command; %s; cat <&3; printf nonsense >&3`, order)
	require.Contains(t, r.Out, `"done":false`)
	require.Contains(t, r.Out, "Invalid argument")
	r = m.Run(`exec 3<>.airlockfs/command; %s; cat <&3; %s; cat <&3`, order, order)
	require.Regexp(t, `^{"done":true,.*}\n{"done":false,"refused":.*}\n$`, r.Out)
}

func TestOrdersSayWhereTheyCanNotReach(t *testing.T) {
	m := mount(t)
	m.Must("echo text > public; mkdir folder")
	for path, want := range map[string]string{"public": "it is public already", "folder": "it is a folder", "nothing": "no file that you may", "/": "is not on an airlockfs mount"} {
		require.Contains(t, m.orderAs(0, "publish "+path).Out, want)
	}
	require.Contains(t, m.orderAs(0, "discard public").Out, "remove it with rm")
	holder := m.Start("mkdir x.lock; read")
	m.Until("the mark is the shell's", func() bool {
		return m.Must("%s status --json . | jq -r '.items[] | select(.state == \"marked\") | .owner.pid'", binary) == strconv.Itoa(holder.PID())
	})
	for _, order := range []string{"discard --force", "release"} {
		require.Regexp(t, fmt.Sprintf(`it is marked: a lock by its existence of pid %d .*, until its holder removes it, or ends`, holder.PID()),
			m.orderAs(0, order+" x.lock").Out)
	}
	out, err := exec.Command(binary, "publish").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "an argument is missing")
}

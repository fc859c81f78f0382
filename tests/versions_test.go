package tests

import (
	"fmt"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// states are the states of all items that status shows for a path, in alphabetical order.
func (m *Mount) states(path string) []string {
	m.t.Helper()
	var all []string
	for _, i := range m.Status()[path] {
		all = append(all, i.State)
	}
	sort.Strings(all)
	return all
}

// item is the one item that status shows for a path.
func (m *Mount) item(path string) report.Item {
	m.t.Helper()
	items := m.Status()[path]
	require.Len(m.t, items, 1, path)
	return items[0]
}

// size is the length that a stranger sees.
func (m *Mount) size(path string) string {
	m.t.Helper()
	return m.Must("stat -c %%s %s", quote(path))
}

func TestI1_OldVersionIsReadableUntilTheSwap(t *testing.T) {
	m := mount(t, "--rule", "state/**=shared", "--keep-replaced", "0")
	m.Must("mkdir state; echo old > state/s")
	before, writer := m.Client(), m.Client()
	before.OK("open r state/s r", "chdir state")
	writer.OK("open w state/s wt", "write w new")
	require.Equal(t, "old", m.Must("cat state/s"), "the new version is not complete")
	require.Equal(t, "4", m.size("state/s"))
	writer.OK("close w")
	require.Equal(t, "new", m.Must("cat state/s"))
	require.Equal(t, "old\n", before.Call("read", "r"), "who opened the old version keeps it")
	require.Equal(t, "4 bytes, 1 links", before.Call("fstat", "r"), "as if it had been written in place")
	before.OK("open again s r")
	require.Equal(t, "new", before.Call("read", "again"))
}

func TestI1_RewriteShowsTheOldVersionUntilItsClose(t *testing.T) {
	m := mount(t)
	m.Must("echo old > f")
	writer, reader := m.Client(), m.Client()
	writer.OK("open w f wt", "write w longer-than-before")
	require.Equal(t, "4", m.size("f"))
	reader.OK("open r f r")
	require.Equal(t, "old\n", reader.Call("read", "r"))
	writer.OK("close w")
	require.Equal(t, "old\n", reader.Call("read", "r"))
	require.Equal(t, "longer-than-before", m.Must("cat f"))
}

func TestI4_ClaimantRemovesOnlyWhatItClaimed(t *testing.T) {
	deliveries := map[string]string{
		"write":  `echo new > f`,
		"cp":     `cp "$SRC/f" f`,
		"rename": `echo new > f.tmp && mv f.tmp f`,
		"mv":     `cp "$SRC/f" "$SRC/g" && mv "$SRC/g" f`,
		"tar":    `tar xf "$SRC/f.tar"`,
		"excl":   `set -o noclobber; echo new > f`,
	}
	for how, script := range deliveries {
		t.Run(how, func(t *testing.T) {
			m := mount(t)
			src := scratch(t)
			m.Must(`cd %s && echo new > f && tar cf f.tar f`, quote(src))
			m.Must("echo old > f")
			claimant := m.Client()
			claimant.OK("open r f r")
			require.Empty(t, m.List("."), "the claim hides it")
			m.Must("SRC=%s\n%s", quote(src), script)
			require.Equal(t, []string{"f"}, m.List("."))
			require.Equal(t, "old\n", claimant.Call("read", "r"))
			claimant.OK("unlink f")
			require.Equal(t, "new", m.Must("cat f"), "the re-delivery stays")
			require.Equal(t, "old\n", claimant.Call("read", "r"), "an open file outlives its name")
		})
	}
}

// Who published an item may look at it for a while though it is claimed. That must not keep him from delivering the next
// one under the same name.
func TestI4_ProducerDeliversAgainWhileItsFirstIsClaimed(t *testing.T) {
	for _, flags := range []string{"wct", "temp"} {
		t.Run(flags, func(t *testing.T) {
			m := mount(t)
			producer, consumer := m.Client(), m.Client()
			producer.OK("open w f wct", "write w one", "close w")
			consumer.OK("open r f r")
			require.Equal(t, "3 bytes, 1 links", producer.Call("stat", "f"), "its publisher may look")
			if flags == "temp" {
				producer.OK("open w f.tmp wct", "write w second", "close w", "rename f.tmp f")
			} else {
				producer.OK("open w f "+flags, "write w second", "close w")
			}
			require.Equal(t, "one", consumer.Call("read", "r"))
			require.Equal(t, []string{"f"}, m.List("."))
			consumer.OK("unlink f")
			require.Equal(t, "second", m.Must("cat f"))
		})
	}
}

// install(1) sets the rights of a file by name after it has closed it, and readers may be quick.
func TestAPublisherMayLookThoughOneReaderAfterTheOtherClaimsIt(t *testing.T) {
	m := mount(t)
	producer, consumer := m.Client(), m.Client()
	producer.OK("open w f wct", "write w one", "close w")
	require.Equal(t, "one", m.Must("cat f"))
	consumer.OK("open r f r")
	require.Equal(t, "3 bytes, 1 links", producer.Call("stat", "f"))
	require.Equal(t, "ENOENT", m.Client().Call("stat", "f"), "nobody else may")
}

func TestI4_AppendToAClaimedItemIsRefused(t *testing.T) {
	m := mount(t)
	producer, claimant, appender := m.Client(), m.Client(), m.Client()
	producer.OK("open w f wct", "write w one", "close w")
	claimant.OK("open r f r")
	require.Equal(t, "EBUSY", appender.Call("open", "a", "f", "wca"), "a delivery would be split")
	require.Equal(t, "EBUSY", producer.Call("open", "a", "f", "wca"), "its publisher's next line too")
	claimant.OK("close r", "unlink f")
	appender.OK("open a f wca", "write a two", "close a")
	require.Equal(t, "two", m.Must("cat f"))
}

func TestI6_AppendToAPublicItemIsOneNewVersion(t *testing.T) {
	m := mount(t)
	m.Must("echo one > f")
	appender := m.Client()
	appender.OK("open a f wca", "write a two")
	require.Equal(t, "4", m.size("f"))
	appender.OK("close a")
	require.Equal(t, "one\ntwo", m.Must("cat f"))
}

func TestI6_AppendWhoseBaseWasClaimedComesTooLate(t *testing.T) {
	m := mount(t)
	m.Must("echo one > f")
	appender, reader := m.Client(), m.Client()
	appender.OK("open a f wca", "write a two")
	reader.OK("open r f r")
	require.Equal(t, "EIO", appender.Call("close", "a"))
	reader.OK("unlink f")
	require.Empty(t, m.List("."))
	require.Equal(t, []string{"quarantined"}, m.states("f"))
}

func TestI3_TempNamesArePrivateAndBothRenamesSucceed(t *testing.T) {
	for _, flags := range []string{"wct", "wcx"} {
		t.Run(flags, func(t *testing.T) {
			m := mount(t)
			a, b := m.Client(), m.Client()
			a.OK("open w f.tmp "+flags, "write w from-a")
			b.OK("open w f.tmp "+flags, "write w from-b")
			a.OK("close w")
			b.OK("close w")
			require.Equal(t, []string{"staged", "staged"}, m.states("f.tmp"))
			require.Empty(t, m.List("."))
			a.OK("rename f.tmp a")
			b.OK("rename f.tmp b")
			require.Equal(t, "from-a", m.Must("cat a"))
			require.Equal(t, "from-b", m.Must("cat b"))
			require.Empty(t, m.Status()["f.tmp"])
		})
	}
}

func TestI4_SecondRenameOntoOneNameReplacesUnread(t *testing.T) {
	m := mount(t)
	a, b := m.Client(), m.Client()
	a.OK("open w f.tmp wcx", "write w from-a", "close w", "rename f.tmp f")
	b.OK("open w f.tmp wcx", "write w from-b", "close w", "rename f.tmp f")
	require.Equal(t, "from-b", m.Must("cat f"))
	require.Equal(t, "from-a", m.Must(`cat "$(find %s/.airlockfs/replaced -type f)"`, quote(m.Backing)), "kept for a day")
}

func TestI3_SecondWriterOfAFinalNameIsRefused(t *testing.T) {
	m := mount(t)
	first, second := m.Client(), m.Client()
	first.OK("open w f wct", "write w one")
	require.Equal(t, "EBUSY", second.Call("open", "w", "f", "wct"))
	require.Equal(t, "EBUSY", second.Call("open", "w", "f", "wca"))
	require.Equal(t, "EEXIST", second.Call("open", "w", "f", "wcx"))
	second.OK("open t f.tmp wct", "write t two", "close t")
	require.Equal(t, "EBUSY", second.Call("rename", "f.tmp", "f"))
	first.OK("close w")
	second.OK("rename f.tmp f")
	require.Equal(t, "two", m.Must("cat f"))
}

// racers is how many processes try the same at the same time.
const racers = 16

// race has all racers make the same call, and counts how each ended ("" is success).
func race(all []*Client, words ...any) map[string]int {
	for _, c := range all {
		c.Begin(words...)
	}
	ends := map[string]int{}
	for _, c := range all {
		ends[c.End()]++
	}
	return ends
}

func TestI3_ExclusiveCreateHasOneWinnerInEveryState(t *testing.T) {
	m := mount(t)
	var all []*Client
	for range racers {
		all = append(all, m.Client())
	}
	other := m.Client()
	lost := map[string]int{"EEXIST": racers}
	won := map[string]int{"": 1, "EEXIST": racers - 1}

	require.Equal(t, won, race(all, "open", "w", "free", "wcx"))
	other.OK("open w staged wct")
	require.Equal(t, lost, race(all, "open", "w", "staged", "wcx"))
	m.Must("echo old > public; echo old > claimed")
	require.Equal(t, lost, race(all, "open", "w", "public", "wcx"))
	other.OK("open r claimed r")
	require.Equal(t, won, race(all, "open", "w", "claimed", "wcx"), "as if it had been renamed away")
	require.Equal(t, map[string]int{"": racers}, race(all, "open", "w", "f.tmp", "wcx"), "temp names are private")
	require.Len(t, m.states("f.tmp"), racers)
}

func TestI3_MakingOneNameHasOneWinner(t *testing.T) {
	for call, words := range map[string][]any{"mkdir": {"name"}, "link": {"own.tmp", "name"}, "noreplace": {"own.tmp", "name"}} {
		t.Run(call, func(t *testing.T) {
			m := mount(t)
			var all []*Client
			for range racers {
				c := m.Client()
				c.OK("open w own.tmp wct", "write w x", "close w")
				all = append(all, c)
			}
			ends := race(all, append([]any{call}, words...)...)
			require.Equal(t, map[string]int{"": 1, "EEXIST": racers - 1}, ends)
			require.Equal(t, []string{"name"}, m.List("."))
		})
	}
}

func TestI3_OneOfManyReadersClaims(t *testing.T) {
	m := mount(t)
	var all []*Client
	for range racers {
		all = append(all, m.Client())
	}
	for round := range 8 {
		name := fmt.Sprint("f", round)
		m.Must("echo x > %s", name)
		require.Equal(t, map[string]int{"": 1, "ENOENT": racers - 1}, race(all, "open", "r", name, "r"))
		m.Must("echo x > m%s", name)
		require.Equal(t, map[string]int{"": 1, "ENOENT": racers - 1}, race(all, "rename", "m"+name, "moved"+name))
		m.Must("echo x > u%s", name)
		require.Equal(t, map[string]int{"": 1, "ENOENT": racers - 1}, race(all, "unlink", "u"+name))
	}
}

func TestI5_TruncateByPathIsANewVersion(t *testing.T) {
	m := mount(t)
	m.Must("echo 0123456789 > f")
	before, c := m.Client(), m.Client()
	c.OK("truncate f 4")
	require.Equal(t, "4", m.size("f"))
	before.OK("open r f r")
	require.Equal(t, "0123", before.Call("read", "r"))
	require.Equal(t, "EBUSY", c.Call("truncate", "f", 2), "its publisher may look at what was claimed, and not change it")
	require.Equal(t, "ENOENT", m.Client().Call("truncate", "f", 2), "a claimed item is nobody else's to change")
	require.Equal(t, "0123", before.Call("read", "r"))
}

func TestI1_TruncateByPathOfASharedFileKeepsReaders(t *testing.T) {
	m := mount(t, "--rule", "state/**=shared")
	m.Must("mkdir state; echo 0123456789 > state/s")
	before, c := m.Client(), m.Client()
	before.OK("open r state/s r")
	c.OK("truncate state/s 4")
	require.Equal(t, "0123456789\n", before.Call("read", "r"), "public bytes never change in place")
	require.Equal(t, "0123", m.Must("cat state/s"))
	c.OK("truncate state/s 6")
	require.Equal(t, `0123\0\0`, m.Must(`od -An -c state/s | tr -d ' '`))
}

func TestI5_UnlinkOfOpenFilesKeepsTheirBytes(t *testing.T) {
	m := mount(t)
	c := m.Client()
	c.OK("open w f.tmp rwct", "write w temp", "unlink f.tmp", "write w more")
	require.Equal(t, "tempmore", c.Call("read", "w"))
	require.Equal(t, "8 bytes, 0 links", c.Call("fstat", "w"))
	c.OK("close w")
	m.Must("echo item > f")
	c.OK("open r f r")
	require.Empty(t, m.List("."), "it is claimed")
	c.OK("unlink f")
	require.Equal(t, "item\n", c.Call("read", "r"))
	require.Equal(t, "5 bytes, 0 links", c.Call("fstat", "r"))
	c.OK("open again f wct", "write again x", "unlink f", "close again")
	require.Empty(t, m.List("."), "given up before it was complete")
	require.Empty(t, m.Status())
}

// tar(1) and rsync(1) compare these before and after they read, and call it a changed file.
func TestI8_ClaimChangesNoTimesOfFileOrFolder(t *testing.T) {
	m := mount(t)
	m.Must("mkdir q; echo x > q/f; ln q/f q/g")
	look := "stat -c '%s %h %x %y %z' q/f; stat -c '%y %z' q"
	before := m.Must("%s", look)
	after := m.Must("%s; exec 3<q/f; setsid -w ls q; %s", look, look)
	require.Equal(t, before+"\n"+before, after)
	require.Equal(t, before, m.Must("%s", look), "nor does giving it back")
	m.Must("echo x > f; tar cf %s/all.tar f", quote(scratch(t)))
}

// TestI8_AClaimantMayRemoveWhatItIsWriting, and its close fails no more than anywhere else.
func TestI8_AClaimantMayRemoveWhatItIsWriting(t *testing.T) {
	m := mount(t)
	m.Must("echo text > f; echo text > g")
	c := m.Client()
	c.OK("open f f rw", "write f more", "unlink f", "close f", "open r g r", "open g g wt", "write g more", "unlink g", "close g")
	require.Empty(t, m.Status())
}

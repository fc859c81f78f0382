package protocol

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRulesTranscript plays testdata/rules.txt. Its commands are
//
//	rules            takes rules and table options, one a line; gives warnings and errors
//	describe         gives what the mount says at its start
//	at               takes paths; gives what each of them is
//	create FLAGS     the same for files that are created so
func TestRulesTranscript(t *testing.T) {
	rules, err := NewRules(nil, DefaultNames())
	require.NoError(t, err)
	runTranscript(t, "testdata/rules.txt", func(command string, input []string) string {
		verb, flags, _ := strings.Cut(command, " ")
		switch verb {
		case "rules":
			var said []string
			rules, said = readRules(t, input)
			return strings.Join(said, "\n")
		case "describe":
			return strings.Join(rules.Describe(), "\n")
		case "at", "create":
			return answers(rules, verb, flags, input)
		}
		return "unknown command"
	})
}

func readRules(t *testing.T, input []string) (*Rules, []string) {
	var rules []Rule
	var said []string
	names := DefaultNames()
	for _, line := range input {
		line = unquote(line)
		if option, value, _ := strings.Cut(line, " "); strings.HasPrefix(option, "--") {
			said = append(said, tableOption(&names, option, value)...)
			continue
		}
		r, err := ParseRule(line)
		if err != nil {
			said = append(said, err.Error())
			continue
		}
		rules, said = append(rules, r), append(said, r.Warnings()...)
	}
	r, err := NewRules(rules, names)
	require.NoError(t, err)
	return r, said
}

func tableOption(names *NameTables, option, value string) []string {
	var err error
	switch option {
	case "--temp":
		err = names.AddTemp(value)
	case "--no-temp":
		err = names.DropTemp(value)
	case "--ignore-litter":
		names.IgnoreLitter()
	default:
		err = fmt.Errorf("unknown option %s", option)
	}
	if err != nil {
		return []string{err.Error()}
	}
	return nil
}

func answers(rules *Rules, verb, flags string, paths []string) string {
	var out []string
	for _, p := range paths {
		p = unquote(p)
		m := rules.At(split(p))
		if verb == "create" {
			m = m.Created(creation(flags))
		}
		out = append(out, fmt.Sprintf("%s: %s [%s]", strconv.QuoteToASCII(p), verdict(m), m.Why))
	}
	return strings.Join(out, "\n")
}

// unquote reads a Go string, for text that can't stand in a line; other text stands for itself.
func unquote(text string) string {
	if raw, err := strconv.Unquote(text); err == nil {
		return raw
	}
	return text
}

func split(p string) (folder, name string) {
	folder, name = path.Split(p)
	return strings.TrimSuffix(folder, "/"), name
}

// verdict writes all of a match but the reason.
func verdict(m Match) string {
	words := []string{m.Vector.String()}
	for _, w := range []struct {
		on   bool
		word string
	}{
		{m.Temp != NotTemp, m.Temp.String()}, {m.Resumable, "resumable"}, {m.Unlisted, "unlisted"},
		{m.LogIfAppend, "log if appended"}, {m.PlainIfDatabase, "plain if a database"}, {m.Marker, "marker"},
		{m.Litter, "litter"}, {m.Ghost, "ghost"},
	} {
		if w.on {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, "; ")
}

// creation reads flags as open(2) names them, without O_, and a mode: "RDWR EXCL 0600".
func creation(flags string) Creation {
	c := Creation{Mode: 0o644}
	for _, f := range strings.Fields(flags) {
		if mode, err := strconv.ParseUint(f, 8, 32); err == nil {
			c.Mode = uint32(mode)
		}
		c.ReadOnly = c.ReadOnly || f == "RDONLY"
		c.ReadWrite = c.ReadWrite || f == "RDWR"
		c.Append = c.Append || f == "APPEND"
		c.Exclusive = c.Exclusive || f == "EXCL"
		c.Truncate = c.Truncate || f == "TRUNC"
	}
	return c
}

func mustRules(t testing.TB, names NameTables, texts ...string) *Rules {
	t.Helper()
	var rules []Rule
	for _, text := range texts {
		r, err := ParseRule(text)
		require.NoError(t, err)
		rules = append(rules, r)
	}
	r, err := NewRules(rules, names)
	require.NoError(t, err)
	return r
}

// Whatever the order in which rules are given, the most specific one decides.
func TestOrderOfRulesDoesNotMatter(t *testing.T) {
	given := []string{"**=plain", "in/**=queue", "in/a/**=work", "in/a/*.csv=queue,publish=exit", "in/a/b*.csv=queue,publish=rename",
		"in/a/b.csv=log"}
	paths := map[string]string{"x": "plain", "in/x": "queue", "in/a/x": "work", "in/a/x.csv": "exit", "in/a/bx.csv": "rename", "in/a/b.csv": "log"}
	for turn := range given {
		rules := mustRules(t, DefaultNames(), append(append([]string{}, given[turn:]...), given[:turn]...)...)
		for p, want := range paths {
			assert.Contains(t, rules.At(split(p)).Vector.String(), want, "%s, turned by %d", p, turn)
		}
	}
}

func TestFirstOfEquallySpecificRulesDecides(t *testing.T) {
	assert.Equal(t, ClassLog, mustRules(t, DefaultNames(), "in/**=log", "in/**=plain").At("in", "x").Class)
	assert.Equal(t, ClassPlain, mustRules(t, DefaultNames(), "in/**/*=plain", "in/**=log").At("in", "x").Class)
	assert.Equal(t, ClassPlain, mustRules(t, DefaultNames(), "**/a/**=plain", "**/b/**=log").At("b/a/b", "x").Class)
}

func TestNewRulesRefusesMalformedNames(t *testing.T) {
	names := DefaultNames()
	names.Marker = append(names.Marker, "[z")
	_, err := NewRules(nil, names)
	require.ErrorContains(t, err, `"[z"`)
}

// Every name that the tables give as a temp name is one, and none of the names that must not be.
func TestTempNames(t *testing.T) {
	rules := mustRules(t, DefaultNames())
	for _, name := range []string{"a.tmp", "a.temp", "a.TMP", "a.part", "a.partial", "a.filepart", "a.crdownload", "a.opdownload",
		"a.wkdownload", "a.!ut", "a.bc!", "a.!qB", "a.!sync", "a.xltd", "a.aria2", "a.writing", "a._COPYING_", "a.uploading",
		"a.incomplete", "a.inprogress", "a.unfinished", "a.temp.mkv", "a.temp.opus", "a.dpkg-new", "a.dpkg-tmp", "a___jb_tmp___",
		".in.a.", ".pureftpd-upload.1", ".pureftpd-rename.1", ".sftpgo-upload.a", ".sftpgo-partial.a", ".syncthing.a.tmp",
		"~syncthing~a.tmp", "a.ocTransferId1.part", ".unison.a.unison.tmp", ".goutputstream-AB12CD", ".nfs0001", ".fuse_hidden01",
		".__afs01", ".uploading-a", ".tmp"} {
		assert.Equal(t, TempByName, rules.At("in", name).Temp, name)
	}
	for _, name := range []string{".a.AbCdEf", "sedAbCdEf", "tmpab12", ".tmpab12", "tmp.AbCdEfGhIj", "XXAbCdEf"} {
		assert.Equal(t, TempIfExclusive, rules.At("in", name).Temp, name)
	}
	for _, name := range []string{"a~", "a.bak", "a.download", ".a", "..data_tmp", "a.csv", "4913", "part", "tmp.done", "atmp", "a.tmp.csv",
		"a.temp.csv", ".goutputstream-AB12CDE", "._a", ".DS_Store"} {
		assert.Equal(t, NotTemp, rules.At("in", name).Temp, name)
	}
}

// A state file's name tables are those of a queue, but that a log is one by its name alone.
func TestNamesInSharedFolders(t *testing.T) {
	rules := mustRules(t, DefaultNames(), "state/**=shared")
	assert.Equal(t, TempByName, rules.At("state", "a.tmp").Temp)
	assert.Equal(t, ClassLog, rules.At("state", "app.log").Class)
	assert.Equal(t, ClassLock, rules.At("state", "a.lock").Class)
}

func TestAtDoesNotAllocate(t *testing.T) {
	rules := mustRules(t, DefaultNames(), "in/**=queue", "done/**=archive", "in/**/x-?.csv=queue,publish=exit")
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		rules.At("in/2024", "report-17.csv")
		rules.At("in", ".report.csv.Ab12Cd")
		rules.At("done", "error.csv")
	}))
}

// FuzzAt asks for the same name twice, and compares with what must hold for all names.
func FuzzAt(f *testing.F) {
	f.Add("in/**=queue,publish=quiet=1s", "in/a", "b.csv")
	f.Add("*.{a,b}[x-z]?=log", "", "q.axx")
	f.Add("**/a/**/b*c*=archive", "x/a/error", "b\xffc")
	f.Add("?=log", "", "")
	f.Add(`\*[!a]*=plain`, "", "*b[")
	f.Add("a/*/c/=work", "a/b/c/d", strings.Repeat("n", 255))
	f.Fuzz(func(t *testing.T, text, folder, name string) {
		r, err := ParseRule(text)
		if err != nil || strings.Contains(name, "/") || len(folder) > 200 || len(text) > 100 {
			return
		}
		folder = strings.TrimPrefix(path.Clean("/"+folder), "/")
		rules, err := NewRules([]Rule{r}, DefaultNames())
		require.NoError(t, err)
		m := rules.At(folder, name)
		assert.Equal(t, m, rules.At(folder, name))
		assert.NotEmpty(t, m.Why)
		assert.False(t, m.Class.InPlace() && m.Temp != NotTemp, "no temp files in place")
		for _, c := range []Creation{{ReadOnly: true}, {Append: true}, {ReadWrite: true}, {ReadWrite: true, Exclusive: true, Mode: 0o600}} {
			made := m.Created(c)
			assert.Equal(t, made, made.Created(c), "the answer is final")
			assert.NotEqual(t, TempIfExclusive, made.Temp)
			assert.False(t, made.LogIfAppend || made.PlainIfDatabase)
		}
	})
}

func BenchmarkAt(b *testing.B) {
	rules := mustRules(b, DefaultNames(), "in/**=queue", "done/**=archive", "error/**=plain", "state/**=shared", "lk/**=lock")
	for _, p := range []string{"in/report-2024-01-17.csv", "in/a/b/c/report.csv", "in/report.csv.part", "in/.report.csv.Ab12Cd", "in/tmpab12cd34",
		"in/orders.sqlite3", "done/report.csv", "other/report.csv"} {
		folder, name := split(p)
		b.Run(strings.ReplaceAll(p, "/", "|"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rules.At(folder, name)
			}
		})
	}
}

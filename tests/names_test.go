package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// oddNames are names that careless programs trip over.
var oddNames = map[string]string{
	"255 bytes":    strings.Repeat("n", 255),
	"not UTF-8":    "caf\xe9\xff",
	"newline":      "two\nlines",
	"only spaces":  "  ",
	"dash":         "-rf",
	"glob":         "*",
	"tilde":        "0~0~staging",
	"control byte": "bell\a\x1b[31m",
}

func TestI8_OddNamesAreHandedOver(t *testing.T) {
	m := mount(t)
	for what, name := range oddNames {
		t.Run(what, func(t *testing.T) {
			w, r := m.Client(), m.Client()
			require.Empty(t, w.Call("open", "w", name, "wct"))
			require.Empty(t, w.Call("write", "w", "bytes"))
			require.Equal(t, "ENOENT", r.Call("open", "r", name, "r"))
			require.Equal(t, []string{"staged"}, m.states(inJSON(name)))
			require.Empty(t, w.Call("close", "w"))
			require.Empty(t, r.Call("open", "r", name, "r"))
			require.Equal(t, "bytes", r.Call("read", "r"))
			require.Equal(t, "ENOENT", m.Client().Call("stat", name))
			require.Empty(t, r.Call("unlink", name))
			require.Empty(t, m.Status())
		})
	}
}

// inJSON is a name as JSON has it: with a replacement character for each byte that is not UTF-8.
func inJSON(name string) string {
	var b strings.Builder
	for _, r := range name {
		b.WriteRune(r)
	}
	return b.String()
}

func TestI8_OneByteMoreIsTooLong(t *testing.T) {
	m := mount(t)
	c := m.Client()
	long := strings.Repeat("n", 256)
	require.Equal(t, "ENAMETOOLONG", c.Call("open", "w", long, "wct"))
	c.OK("open w f.tmp wct", "close w")
	require.Equal(t, "ENAMETOOLONG", c.Call("rename", "f.tmp", long))
	require.Empty(t, c.Call("rename", "f.tmp", long[:255]))
	require.Equal(t, long[:255], m.Must("ls"))
}

func TestI8_StatusKeepsRawBytesOfNames(t *testing.T) {
	m := mount(t)
	w := m.Client()
	require.Empty(t, w.Call("open", "w", "caf\xe9", "wct"))
	item := m.item("caf\ufffd")
	require.Equal(t, []byte("caf\xe9"), item.Raw)
	require.Empty(t, w.Call("close", "w"))
}

func TestI1_DeepTreesHandOver(t *testing.T) {
	m := mount(t)
	deep := strings.TrimSuffix(strings.Repeat("d/", 50), "/")
	m.Must("mkdir -p %s", deep)
	w := m.Client()
	w.OK("chdir "+deep, "open w f wct", "write w deep")
	require.Empty(t, m.Must("find . -type f"))
	require.Equal(t, []string{"staged"}, m.states(deep+"/f"))
	require.Equal(t, "50", m.Must("rm -r d 2>/dev/null; find d -type d | wc -l"), "the folder of a hidden item stays")
	w.OK("close w")
	require.Equal(t, "deep", m.Must("cat %s/f", deep))
	m.Must("mv d e && rm -r e")
	require.Empty(t, m.List("."))
}

func TestI3_ClaimHidesAllNamesOfAnInode(t *testing.T) {
	m := mount(t)
	m.Must("mkdir a b; echo x > a/one; ln a/one b/two; ln a/one a/three")
	require.Equal(t, "5 bytes, 3 links", m.link3(t))
	c := m.Client()
	c.OK("open r b/two r")
	require.Empty(t, m.List("a"), "the claim is of the file, not of one name")
	require.Empty(t, m.List("b"))
	require.Equal(t, "ENOENT", m.Client().Call("open", "r", "a/one", "r"))
	require.Equal(t, "ENOENT", m.Client().Call("unlink", "a/three"))
	require.Equal(t, "ENOENT", m.Client().Call("rename", "a/three", "mine"))
	c.OK("unlink a/one")
	require.Empty(t, m.List("a"))
	require.Equal(t, "2 bytes, 2 links", c.Call("fstat", "r"))
	c.OK("unlink b/two")
	require.Equal(t, "2 bytes, 1 links", c.Call("fstat", "r"))
	require.Equal(t, "x\n", c.Call("read", "r"))
	c.OK("unlink a/three")
	require.Empty(t, m.Status(), "the last name settles")
	m.Must("rmdir a b")
}

func (m *Mount) link3(t *testing.T) string {
	t.Helper()
	m.Must("printf 12345 > a/one.tmp; cat a/one.tmp >/dev/null; rm a/one.tmp")
	return "5 bytes, " + m.Must("stat -c %%h %s", "a/one") + " links"
}

func TestI4_LinkedItemComesBackUnderAllItsNames(t *testing.T) {
	m := mount(t)
	m.Must("echo x > one; ln one two")
	c := m.Client()
	c.OK("open r two r")
	require.Empty(t, m.List("."))
	c.Kill()
	require.Equal(t, []string{"one", "two"}, m.List("."))
	m.Must("rm one")
	require.Equal(t, "x", m.Must("cat two"), "removing one name removes that name")
}

func TestI8_SymlinksStaySymlinks(t *testing.T) {
	m := mount(t)
	outside := scratch(t)
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o644))
	m.Must("ln -s %s/secret out; ln -s ../../.. up; ln -s loop loop; ln -s nowhere dangling", quote(outside))
	require.Equal(t, outside+"/secret", m.Must("readlink out"))
	require.Equal(t, "secret", m.Must("cat out"), "the caller's kernel follows it, outside of the mount")
	require.Equal(t, outside+"/secret", m.Must("cp -a out copy; readlink copy"))
	require.Equal(t, "../../..", m.Must("mv up up2; readlink up2"))
	require.Equal(t, "ELOOP", m.Client().Call("open", "r", "loop", "r"))
	require.Equal(t, "ENOENT", m.Client().Call("open", "r", "dangling", "r"))
	m.Must("rm out")
	require.FileExists(t, filepath.Join(outside, "secret"))
}

// Somebody with access to the backing replaces a folder by a link to elsewhere, under the daemon's feet.
func TestI8_DaemonFollowsNoSymlinkInTheBacking(t *testing.T) {
	m := mount(t)
	outside := scratch(t)
	m.Must("mkdir sub; echo x > sub/item; echo x > victim")
	require.NoError(t, os.WriteFile(filepath.Join(outside, "item"), []byte("outside"), 0o644))
	inside := m.Client()
	inside.OK("chdir sub")
	require.NoError(t, os.Rename(m.Below("sub"), m.Below("was")))
	require.NoError(t, os.Symlink(outside, m.Below("sub")))
	if inside.Call("open", "r", "item", "r") == "" {
		require.Equal(t, "x\n", inside.Call("read", "r"))
	}
	for _, call := range [][]any{
		{"unlink", "item"}, {"mkdir", "planted"}, {"open", "w", "made", "wct"}, {"write", "w", "made"}, {"close", "w"},
		{"open", "t", "f.tmp", "wct"}, {"close", "t"}, {"rename", "f.tmp", "renamed"}, {"rename", "../victim", "moved"},
	} {
		inside.Call(call...) // may work in the folder that was, or fail
	}
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, "item", left[0].Name())
	require.Equal(t, "outside", content(t, filepath.Join(outside, "item")))
	inside.Kill()
	require.NoError(t, os.Remove(m.Below("sub")))
	require.NoError(t, os.Rename(m.Below("was"), m.Below("sub")))
}

func TestI8_PublicNameSwappedForASymlinkIsNotOpened(t *testing.T) {
	m := mount(t)
	outside := scratch(t)
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600))
	m.Must("echo x > f")
	require.Equal(t, []string{"f"}, m.List("."), "the backing itself may lag behind close(2)")
	require.NoError(t, os.Remove(m.Below("f")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), m.Below("f")))
	r := m.RunAs(65534, "cat f")
	require.NotZero(t, r.Code)
	require.NotContains(t, r.Out, "secret\n")
}

func TestI8_FifosAndSocketsPassThrough(t *testing.T) {
	m := mount(t)
	m.Must("mkfifo p; (echo through > p) & cat p > got.tmp; wait; mv got.tmp got")
	require.Equal(t, "through", m.Must("cat got"))
	require.Equal(t, "fifo", m.Must("stat -c %%F %s", "p"))
	m.Must("rm p")
}

func TestI4_FoldersWithPrivateItemsStay(t *testing.T) {
	for what, hide := range map[string]string{"being written": "open w sub/f wct", "claimed": "open r sub/item r", "temp": "open w sub/f.tmp wct"} {
		t.Run(what, func(t *testing.T) {
			m := mount(t)
			m.Must("mkdir -p sub/below; echo x > sub/item")
			c := m.Client()
			c.OK(hide)
			if what != "claimed" {
				m.Must("rm sub/item")
			}
			m.Must("rmdir sub/below")
			other := m.Client()
			require.Equal(t, "ENOTEMPTY", other.Call("rmdir", "sub"))
			require.Equal(t, "EBUSY", other.Call("rename", "sub", "elsewhere"))
			m.Must("mkdir -p new/er")
			require.Equal(t, "ENOTEMPTY", other.Call("rename", "new", "sub"))
			require.Equal(t, "1", other.Call("xattr", "sub", "user.airlockfs.hidden"))
			c.Kill()
			other.OK("rename sub elsewhere")
		})
	}
}

func TestI8_AbandonedItemsDoNotKeepAFolder(t *testing.T) {
	m := mount(t)
	m.Must("mkdir sub; echo x > sub/parked.tmp")
	c := m.Client()
	c.OK("open w sub/lost.tmp wct", "write w x")
	c.Kill()
	m.Must("rmdir sub")
	require.Empty(t, m.List("."))
	var states []string
	for _, items := range m.Status() {
		for _, i := range items {
			states = append(states, i.State)
		}
	}
	require.Equal(t, []string{"quarantined", "quarantined"}, states, "kept all the same")
}

func TestI4_RenamedFolderTakesItsItemsAlong(t *testing.T) {
	m := mount(t)
	m.Must("mkdir -p a/b; echo x > a/b/f; echo y > a/b/parked.tmp")
	m.Must("mv a c")
	require.Equal(t, "c/b/parked.tmp", m.item("c/b/parked.tmp").Path)
	require.Equal(t, "x", m.Must("cat c/b/f"))
	m.Must("mv c/b/parked.tmp c/b/delivered")
	require.Equal(t, "y", m.Must("cat c/b/delivered"))
}

func TestI4_NoReplaceAndExchangeAreAtomic(t *testing.T) {
	m := mount(t)
	m.Must("echo a > a; echo b > b; echo t > t")
	c := m.Client()
	require.Equal(t, "EEXIST", c.Call("noreplace", "a", "b"))
	c.OK("exchange a b")
	require.Equal(t, "b a", m.Must(`echo $(cat a) $(cat b)`))
	require.Equal(t, "ENOENT", c.Call("exchange", "t", "missing"))
	hidden := m.Client()
	hidden.OK("open w h wct")
	require.Equal(t, "EEXIST", c.Call("noreplace", "t", "h"), "the name is taken, though c can't see it")
	hidden.OK("close w")
	c.OK("open r h r")
	require.Equal(t, "ENOENT", hidden.Call("exchange", "t", "h"), "claimed by somebody else")
	m.Client().OK("noreplace t h")
	require.Equal(t, "t", m.Must("cat h"))
}

func TestI4_ArchivesKeepBothOnCollision(t *testing.T) {
	m := mount(t, "--rule", "done/**=archive")
	m.Must("mkdir done; echo one > f; mv f done/f; echo two > f; mv f done/f; echo three > f; mv f done/f")
	require.Equal(t, "one three two", m.Must(`cat done/* | sort | xargs`))
	require.Len(t, m.List("done"), 3)
	require.Equal(t, "one", m.Must("cat done/f; cat done/f >/dev/null"), "reading claims nothing there")
	require.Empty(t, m.Status())
}

func TestI8_ControlFolderIsNotForPrograms(t *testing.T) {
	m := mount(t)
	c := m.Client()
	require.NotContains(t, m.List("."), ".airlockfs")
	m.Must("mkdir sub; echo x > f")
	for _, call := range [][]any{
		{"mkdir", ".airlockfs"}, {"rename", "f", ".airlockfs"}, {"rename", "sub", ".airlockfs"}, {"rename", ".airlockfs", "x"},
		{"rmdir", ".airlockfs"}, {"unlink", ".airlockfs"}, {"link", "f", ".airlockfs"}, {"open", "w", ".airlockfs", "wcx"},
		{"open", "w", ".airlockfs/x", "wct"}, {"mkdir", ".airlockfs/x"}, {"rename", "f", ".airlockfs/x"}, {"exchange", "f", ".airlockfs"},
		{"unlink", ".airlockfs/status"}, {"open", "w", ".airlockfs/status", "w"}, {"link", "f", ".airlockfs/x"},
		{"open", "r", ".airlockfs/staging", "r"},
	} {
		require.NotEmpty(t, c.Call(call...), "%v", call)
	}
	require.Equal(t, []string{"f", "sub"}, m.List("."))
	m.Must("mkdir sub/.airlockfs; rmdir sub/.airlockfs")
	require.Equal(t, "x", m.Must("cat f"))
}

func TestI8_ControlFolderOfSomebodyElseIsRefused(t *testing.T) {
	for what, make := range map[string]func(dir string) error{
		"a stranger's": func(dir string) error { return firstError(os.Mkdir(dir, 0o700), os.Chown(dir, 65534, 65534)) },
		"open to all":  func(dir string) error { return firstError(os.Mkdir(dir, 0o777), os.Chmod(dir, 0o777)) },
		"a symlink":    func(dir string) error { return os.Symlink("/tmp", dir) },
		"a file":       func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"a fifo":       func(dir string) error { return unix.Mkfifo(dir, 0o600) },
		"of a later version": func(dir string) error {
			return firstError(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "format"), []byte("99999\n"), 0o600))
		},
	} {
		t.Run(what, func(t *testing.T) {
			backing, dir := scratch(t), scratch(t)
			require.NoError(t, make(filepath.Join(backing, ".airlockfs")))
			out, err := exec.Command("timeout", "-s", "KILL", "20", binary, "mount", "-f", backing, dir).CombinedOutput()
			require.Error(t, err)
			require.NotContains(t, fmt.Sprint(err), "signal", "it is refused at once")
			require.Contains(t, string(out), ".airlockfs")
			require.False(t, mounted(dir))
		})
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestI1_AFileOfSeveralNamesStaysInItsClass: what is written in place under one of its names, or hidden under it, would be
// so under the others.
func TestI1_AFileOfSeveralNamesStaysInItsClass(t *testing.T) {
	m := mount(t, "--rule", "plain/**=plain", "--rule", "log/**=log", "--rule", "work/**=work", "--rule", "shared/**=shared")
	m.Must("mkdir plain log work shared; echo whole > q; ln q q2; echo whole > shared/s; ln shared/s shared/s2; echo text > plain/p; ln plain/p plain/p2")
	c := m.Client()
	for _, r := range [][2]string{{"q", "plain/q"}, {"q", "shared/q"}, {"shared/s", "s"}, {"plain/p", "p"}, {"plain/p", "p.tmp"}, {"plain/p", "shared/p"}} {
		require.Equal(t, "EXDEV", c.Call("rename", r[0], r[1]), r)
	}
	c.OK("rename plain/p log/p", "rename log/p plain/p", "rename shared/s shared/s3")
	m.Must("mv q plain/q; echo more >> plain/q; mv plain/p p; echo more >> plain/p2")
	require.Equal(t, "whole", m.Must("cat q2"), "mv copied it")
	require.Equal(t, "text", m.Must("cat p"))
	m.Must("echo again > r; ln r r2; mv r work/r; setsid -w test ! -e r2 && rm work/r")
}

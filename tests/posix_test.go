package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The same calls on the backing itself, in a plain folder and in a queue folder: what they give and what can be seen of
// it. A plain folder is as the backing; a queue folder deviates where deviations.md says so, and nowhere else.

// posixtest is the program that go-fuse's tests of filesystems are; they leave out the two of them that fail on any.
func posixtest(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "posixtest")
	out, err := exec.Command("go", "test", "-c", "-o", program, "github.com/hanwen/go-fuse/v2/posixtest").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

var ended = regexp.MustCompile(`(?m)^ +--- (PASS|FAIL|SKIP): TestAll/(\w+)`)

// played are the scenes as they went in a folder, by name, and as one more how go-fuse's tests ended.
func played(t *testing.T, m *Mount, folder string) map[string][]string {
	t.Helper()
	require.NoError(t, os.MkdirAll(folder+"/posixtest", 0o777))
	require.NoError(t, os.Chmod(folder, 0o777))
	all := map[string][]string{}
	for line := range strings.SplitSeq(m.Must("%s", helperCommand("scenes", folder)), "\n") {
		if scene, said, ok := strings.Cut(line, ": "); ok && scenes[scene] != nil {
			all[scene] = append(all[scene], said)
		}
	}
	require.Len(t, all, len(scenes), "every scene says something")
	out := m.Run("%s -test.v -posixdir %s", posixtest(t), quote(folder+"/posixtest")).Out
	for _, end := range ended.FindAllStringSubmatch(out, -1) {
		all["posixtest"] = append(all["posixtest"], end[2]+" "+end[1])
	}
	slices.Sort(all["posixtest"])
	require.Contains(t, all["posixtest"], "FileBasic PASS", out)
	return all
}

// differences are what went otherwise than on the backing, as diff(1) shows it: by scene.
func differences(t *testing.T, backing, folder map[string][]string) map[string]string {
	t.Helper()
	all, dir := map[string]string{}, t.TempDir()
	for scene := range backing {
		if strings.Join(backing[scene], "\n") == strings.Join(folder[scene], "\n") {
			continue
		}
		a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		require.NoError(t, os.WriteFile(a, []byte(strings.Join(backing[scene], "\n")+"\n"), 0o600))
		require.NoError(t, os.WriteFile(b, []byte(strings.Join(folder[scene], "\n")+"\n"), 0o600))
		out, _ := exec.Command("diff", "-U0", a, b).Output()
		all[scene] = regexp.MustCompile(`(?m)^(---|\+\+\+|@@) .*\n`).ReplaceAllString(string(out), "")
	}
	return all
}

func TestI8_FoldersDeviateAsListed(t *testing.T) {
	m := mount(t, "--rule", "plain/**=plain")
	m.Must("mkdir plain queue")
	backing := played(t, m, scratch(t)+"/scenes")
	for _, class := range []string{"plain", "queue"} {
		want := deviations(t, class)
		for scene, diff := range differences(t, backing, played(t, m, m.Path(class+"/scenes"))) {
			if want[scene] != diff {
				t.Errorf("%s deviates in a %s folder otherwise than tests/deviations.md says:\n%s", scene, class, diff)
			}
			delete(want, scene)
		}
		assert.Empty(t, sortedKeys(want), "tests/deviations.md lists what does not deviate in a %s folder", class)
	}
}

// deviations are the deviations of a class of folders in deviations.md. Each stands under a heading that gives its rule.
func deviations(t *testing.T, class string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("deviations.md")
	require.NoError(t, err)
	protocol, err := os.ReadFile("../docs/protocol.md")
	require.NoError(t, err)
	all := map[string]string{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		heading, _, _ := strings.Cut(section, "\n")
		rule := regexp.MustCompile(`(?m)^Rule: \[(\d+\. [^\]]+)\]\(\.\./docs/protocol\.md#`).FindStringSubmatch(section)
		require.NotNil(t, rule, "%s: which rule makes it so?", heading)
		require.Contains(t, string(protocol), "\n## "+rule[1]+"\n", heading)
		blocks := regexp.MustCompile("(?ms)^```diff (\\w+) ([\\w-]+)\n(.*?)^```$").FindAllStringSubmatch(section, -1)
		require.NotEmpty(t, blocks, heading)
		for _, b := range blocks {
			if b[1] == class {
				all[b[2]] = b[3]
			}
		}
	}
	return all
}

func TestI4_ARefusedRemovalOfAFolderClearsNothing(t *testing.T) {
	m := mount(t)
	m.Must("mkdir d e; echo public > d/f; echo half > d/up.tmp")
	require.Equal(t, "parked", m.State("d/up.tmp"))
	require.NotZero(t, m.Run("rmdir d").Code)
	require.NotZero(t, m.Run("mv -T e d").Code)
	require.Equal(t, "parked", m.State("d/up.tmp"), "the folder is still there, and so is what was left in it")
	m.Must("rm d/f; rmdir d")
	require.Equal(t, []string{"quarantined"}, m.states("d/up.tmp"))
}

func TestI3_AFurtherNameOfAClaimedFileIsFreeForADelivery(t *testing.T) {
	m := mount(t)
	m.Must("echo old > a; ln a b")
	c := m.Client()
	c.OK("open r b r")
	m.Must("echo new > a")
	require.Equal(t, "new", m.Must("cat a"))
	require.Equal(t, "old\n", c.Call("read", "r"))
	require.Equal(t, "4 bytes, 1 links", c.Call("fstat", "r"))
	c.Kill()
	require.Equal(t, []string{"a", "b"}, m.List("."))
	require.Equal(t, "old", m.Must("cat b"))
}

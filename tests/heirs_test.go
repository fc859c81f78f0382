package tests

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A script settles what a program of its own has read, by the commonest of ways. What was taken from the program was taken
// from the script that would have inherited it.
func TestI5_TheHeirOfAFormerClaimantIsOne(t *testing.T) {
	for name, end := range map[string]func(m *Mount){
		"released":           func(m *Mount) { m.order("release in/f") },
		"released, restart":  func(m *Mount) { m.order("release in/f"); m.again(); m.Must("exec stat in/f") },
		"lingered":           func(m *Mount) { m.Until("it is back", func() bool { return m.claimed() == 0 }) },
		"back from a second": func(m *Mount) { m.order("release in/f"); m.Must("exec cat in/f"); m.Must("exec cat in/f") },
	} {
		t.Run(name, func(t *testing.T) {
			m := mount(t, map[string][]string{"lingered": {"--linger", "200ms"}}[name]...)
			m.Must("mkdir in done; echo text > in/f")
			for n, script := range []string{
				`%s < in/f > /dev/null && cd %s && rm in/f`,
				`v=$(%s < in/f) && cd %s && mv in/f done/`,
				`%s < in/f > /dev/null; cd %s; echo new > in/f.tmp; mv in/f.tmp in/f`,
			} {
				marks := scratch(t)
				worker := fmt.Sprintf(`sh -c 'cat; exec <&-; : > %s/read; read x < %[1]s/go'`, marks)
				m.Must("mkfifo %s/go", marks)
				p := m.Start(script, worker, m.Dir)
				m.untilMarked(marks, 2)
				end(m)
				require.NoError(t, os.WriteFile(marks+"/go", []byte("go\n"), 0))
				require.NotZero(t, p.Wait().Code, "%d", n)
				require.Equal(t, "text", m.Must("cat in/f"))
				require.Empty(t, m.List("done"))
			}
		})
	}
}

// again starts a new daemon after a crash.
func (m *Mount) again() {
	m.crash()
	m.start()
}

// Who has ended while no daemon looked has an heir, too; but nothing was taken from what the script runs beside.
func TestI5_HeirsOfFormerClaimantsAreRemembered(t *testing.T) {
	m := mount(t)
	m.Must("mkdir in; echo text > in/f; echo text > in/g")
	marks := scratch(t)
	m.Must("mkfifo %s/go", marks)
	p := m.Start(`sh -c 'cat < in/f; cat < in/g; : > %[1]s/read; read x < %[1]s/go'; cd %[2]s; rm in/f || exit 9; cat in/f && rm in/f`, marks, m.Dir)
	m.untilMarked(marks, 2)
	m.order("release in/f")
	m.order("release in/g")
	m.crash()
	require.NoError(t, os.WriteFile(marks+"/go", []byte("go\n"), 0))
	m.start()
	require.Equal(t, 9, p.Wait().Code)
	require.Equal(t, "text", m.Must("cat in/f"))
}

// A folder that is moved takes along what lies in it, but not what was taken from who moves it.
func TestI5_AFormerClaimantMovesNoFolderOfIt(t *testing.T) {
	m := mount(t, "--rule", "done/**=archive")
	m.Must("mkdir -p in/sub/deep other done; echo text > in/sub/deep/g; echo text > in/sub/h")
	worker := m.Client()
	worker.OK("open g in/sub/deep/g r")
	m.order("release in/sub/deep/g")
	for _, call := range []string{"rename in/sub done/sub", "rename in done/in", "rename in/sub other/sub", "exchange other in/sub", "exchange in/sub other"} {
		require.Equal(t, "EBUSY", worker.Call(callWords(call)...), call)
	}
	require.Contains(t, m.log.String(), "open it again first: in/sub/deep/g")
	require.Equal(t, "published", m.Must(`getfattr --only-values -n user.airlockfs.state in/sub/deep/g`))
	worker.OK("open g in/sub/deep/g r", "unlink in/sub/deep/g", "rename in/sub done/sub")
	require.Equal(t, []string{"deep", "h"}, m.List("done/sub"))
}

package tests

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A file of two names that was written over at one of them has one name left, and is settled with it.
func TestI4_OneOfTwoNamesIsWrittenOver(t *testing.T) {
	m := mount(t)
	m.Must(`echo old > a; ln a b; setsid -w sh -c 'echo new > a'`)
	require.Equal(t, "1", m.Must("%s", `stat -c %h b`))
	require.Equal(t, "old", m.Must(`cat b; rm b; ls b 2> /dev/null; true`))
	require.Empty(t, m.State("b"))
	require.Equal(t, "a", m.Must(`ls`))
	require.Equal(t, "new", m.Must(`cat a; rm a`))
	require.Empty(t, m.List("."))
}

// The temp name that ln(1) left behind goes on as a name of its own when what it was published as is settled: it can be
// removed, and it can be written anew.
func TestI8_ATempNameIsFreeWhenItsLinkIsSettled(t *testing.T) {
	m := mount(t)
	m.Must(`echo x > a.tmp; ln a.tmp f; setsid -w rm f; rm a.tmp`)
	require.Contains(t, m.Run(`echo x > b.tmp; ln b.tmp f; setsid -w rm f; cat b.tmp`).Out, "No such file")
	require.Equal(t, "new", m.Must(`echo x > c.tmp; ln c.tmp f; setsid -w rm f; echo new > c.tmp; mv c.tmp g; setsid -w cat g`))
}

// A claim hides all names of the file, also from strangers to a mount that has never seen the other one: nobody looked for
// that since it was mounted. The claimant removes the one, and has the other.
func TestI3_ANameThatNobodyAskedForStaysTheClaimants(t *testing.T) {
	m := mount(t)
	m.Must(`mkdir -p in/deep; echo x > in/deep/a; ln in/deep/a b; for i in $(seq 100); do : > in/$i; done`)
	m.crash()
	m.start()
	c := m.Client()
	c.OK("open f b r", "unlink b")
	require.Equal(t, "ENOENT", c.Call("unlink", "b"))
	require.Equal(t, "x\n", c.Call("read", "f"), "what it has open is the same file")
	require.Equal(t, "claimed", m.State("in/deep/a"))
	require.Empty(t, m.List("in/deep"))
	c.Kill()
	require.Equal(t, "x", m.Must(`until cat in/deep/a 2> /dev/null; do :; done; rm in/deep/a`))
	require.Empty(t, m.List("in/deep"))
}

// Neither name comes to light when the mount ends and comes back, however often, while the claimant lives; the last one that
// it removes settles the file.
func TestI3_TwoNamesOfAClaimStayHiddenAcrossRestarts(t *testing.T) {
	m := mount(t)
	m.Must(`mkdir in; echo x > in/a; ln in/a b`)
	c := m.Client()
	c.OK("open f in/a r", "close f")
	again := func() {
		m.crash()
		m.start()
		c.OK("chdir " + m.Dir)
		for _, name := range []string{"b", "in/a"} {
			for _, call := range []string{"stat", "unlink"} {
				require.Equal(t, "ENOENT", m.Client().Call(call, name))
			}
		}
		require.Equal(t, "in", m.Must(`ls . in/. | grep -v -e : -e '^$'; true`))
	}
	again()
	c.OK("unlink in/a")
	again()
	require.Equal(t, "claimed", m.State("b"))
	require.Equal(t, "ENOENT", c.Call("unlink", "in/a"))
	c.OK("unlink b")
	again()
	require.Empty(t, m.Status())
	require.Empty(t, m.Must(`find . -type f`))
}

// A claim of two names that ends is back under both.
func TestI4_BothNamesComeBackAfterARestart(t *testing.T) {
	m := mount(t)
	m.Must(`echo x > a; ln a b`)
	c := m.Client()
	c.OK("open f a r")
	require.Empty(t, m.List("."))
	m.crash()
	c.Kill()
	m.start()
	require.Equal(t, []string{"a", "b"}, m.List("."))
	require.Equal(t, "x", m.Must(`cat b; rm a; test -e b && rm b`))
	require.Empty(t, m.List("."))
}

// Who has found a file by one of its names opens it, though another one is removed meanwhile.
func TestI8_AFileIsOpenedByOneNameWhileAnotherGoes(t *testing.T) {
	m := mount(t, "--rule", "lk/**=lock")
	m.Must(`mkdir lk; echo x > lk/a; ln lk/a lk/b`)
	require.Equal(t, "x", m.Must("%s", `exec python3 -c 'import os, subprocess
fd = os.open("lk/b", os.O_PATH)
subprocess.run(["setsid", "-w", "rm", "lk/a"], check=True)
print(open("/proc/self/fd/%d" % fd).read().strip())'`))
}

package tests

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// fetch has rsync fetch $S/f by a connection that halts after 700,000 bytes until resume is called. (Below 262,144 bytes rsync
// writes nothing.)
func (z *zoo) fetch(options string) (rsync *Process, resume func()) {
	z.t.Helper()
	const limit = `for ($n = 700000; $n > 0 && sysread(STDIN, $b, $n); $n -= length $b) { syswrite STDOUT, $b }`
	z.Must(`rm -f $S/go; mkfifo $S/go; cat > $S/rsh << '.' && chmod +x $S/rsh
#!/bin/bash
shift
"$@" | { echo $BASHPID > $S/link; perl -e ` + quote(limit) + `; read -r < $S/go; cat; }
.`)
	rsync = z.Start("rsync -t " + options + " -e $S/rsh x:$S/f .")
	z.halfway(1)
	return rsync, func() { z.Must(`echo > $S/go`) }
}

// cut ends the connection, as a network does.
func (z *zoo) cut() { z.Must(`kill -9 $(cat $S/link)`) }

var rsyncs = []string{"", "--inplace", "--partial", "--partial-dir=.rsync-partial", "--delay-updates", "--preallocate", "--sparse"}

func TestI1_ZooRsyncShowsAFileWhenItIsWhole(t *testing.T) {
	for _, options := range rsyncs {
		t.Run("rsync "+options, func(t *testing.T) {
			z := newZoo(t)
			rsync, resume := z.fetch(options)
			require.Empty(t, z.seen())
			resume()
			require.Equal(t, result{}, rsync.Wait())
			z.Must(`[ "$(ls -A)" = f ] && cmp f $S/f && [ "$(stat -c %Y f)" = "$(stat -c %Y $S/f)" ]`)
			require.Empty(t, z.Must("rsync -ti "+options+" $S/f ."), "nothing is left to do")
			require.Empty(t, z.Status())
		})
	}
}

func TestI2_ZooRsyncKilledHalfWayDeliversNothing(t *testing.T) {
	for _, options := range rsyncs {
		t.Run("rsync "+options, func(t *testing.T) {
			z := newZoo(t)
			rsync, _ := z.fetch(options)
			rsync.Kill()
			require.Empty(t, z.seen())
			for path, state := range z.left() {
				if options == "--inplace" {
					require.Equal(t, "f quarantined", path+" "+state)
				} else {
					require.Regexp(t, `^\.f\.\w{6} abandoned$`, path+" "+state)
				}
			}
			require.Len(t, z.left(), 1)
			z.Must("rsync -t " + options + " $S/f . && cmp f $S/f")
		})
	}
}

// TestI2_ZooRsyncWhoseConnectionBreaks ends in order: it removes what it has, or keeps it as it was told to.
func TestI2_ZooRsyncWhoseConnectionBreaks(t *testing.T) {
	for _, c := range []struct{ options, rule, left string }{
		{"", "**=queue", `^$`},
		{"--preallocate", "**=queue", `^$`},
		{"--partial-dir=.rsync-partial", "**=queue", `^\.rsync-partial/f parked$`},
		{"--delay-updates", "**=queue", `^\.~tmp~/f parked$`},
		{"--inplace", "**=queue,publish=exit", `^f quarantined$`},
		{"--partial", "**=queue,publish=exit", `^f quarantined$`},
	} {
		t.Run("rsync "+c.options+" "+c.rule, func(t *testing.T) {
			z := newZoo(t, "--rule", c.rule)
			rsync, _ := z.fetch(c.options)
			z.cut()
			require.NotZero(t, rsync.Wait().Code)
			require.Regexp(t, `^(\./\.rsync-partial|\./\.~tmp~)?$`, z.seen(), "no file")
			left := ""
			for path, state := range z.left() {
				left += path + " " + state
			}
			require.Regexp(t, c.left, left)
			z.Must("rsync -t --no-whole-file " + c.options + " $S/f . && cmp f $S/f && [ \"$(ls -A)\" = f ]")
		})
	}
}

// TestZooRsyncInPlaceWhoseConnectionBreaksCanNotBeTold: it closes what it has in order, or renames it.
func TestZooRsyncInPlaceWhoseConnectionBreaksCanNotBeTold(t *testing.T) {
	for _, options := range []string{"--inplace", "--partial"} {
		t.Run("rsync "+options, func(t *testing.T) {
			z := newZoo(t)
			rsync, _ := z.fetch(options)
			z.cut()
			require.NotZero(t, rsync.Wait().Code)
			z.Must(`[ "$(ls -A)" = f ] && [ $(stat -c %s f) -lt 1000000 ]`)
			z.Must("rsync -t --no-whole-file " + options + " $S/f . && cmp f $S/f")
		})
	}
}

// TestI3_ZooRsyncTakesWhatNobodyElseHas, and what it has when it is killed comes back at once. No attempt counts: it serves
// sessions.
func TestI3_ZooRsyncTakesWhatNobodyElseHas(t *testing.T) {
	z := newZoo(t)
	z.Must(`cp $S/f f; echo g > g`)
	one := z.Start(at("STOP", "read", 2, "f", "rsync -a --remove-source-files . $S/one"))
	z.stopped()
	require.Equal(t, "claimed", z.State("f"))
	z.Must(`rsync -a --remove-source-files . $S/two; [ "$(ls $S/two)" != f ]`)
	one.Kill()
	z.Must(`cmp f $S/f && [ "$(getfattr --only-values -n user.airlockfs.attempts f)" = 0 ]`)
	z.Must(`rsync -a --remove-source-files . $S/three; cmp $S/three/f $S/f; [ -z "$(ls)" ]`)
}

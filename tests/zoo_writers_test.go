package tests

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// delivery is a program that makes f, or f.zip, or f.gz. With the nth call of a kind it is half-way.
type delivery struct {
	name, command string
	call          string
	n             int
	file          string // that the call is on, "" if it can't be said
	check         string // that what it has made is right
}

var deliveries = []delivery{
	{"cp", `cp -p --reflink=never $S/f f`, "write", 2, "f", `cmp f $S/f`},
	{"install", `install -m 600 $S/f f`, "write", 2, "f", `cmp f $S/f && [ $(stat -c %a f) = 600 ]`},
	{"dd", `dd if=$S/f of=f bs=64k conv=fsync status=none`, "write", 2, "f", `cmp f $S/f`},
	{"tar", `tar xf $S/f.tar`, "write", 2, "f", `cmp f $S/f && [ $(stat -c %Y f) = $(stat -c %Y $S/f) ]`},
	{"unzip", `unzip -q $S/f.zip`, "write", 2, "f", `cmp f $S/f && [ $(stat -c %Y f) = $(stat -c %Y $S/f) ]`},
	{"zip", `zip -qj f.zip $S/f`, "write", 2, "", `unzip -p f.zip | cmp - $S/f`},
	{"gzip >", `sh -c 'gzip -c $S/f > f.gz'`, "write", 2, "f.gz", `zcat f.gz | cmp - $S/f`},
	{"tee", `sh -c 'tee f < $S/f > /dev/null'`, "write", 2, "f", `cmp f $S/f`},
	{"split", `split -b 2M $S/f f`, "write", 2, "faa", `cmp faa $S/f`},
	{"curl", `curl -sR -o f file://$S/f`, "write", 2, "f", `cmp f $S/f && [ $(stat -c %Y f) = $(stat -c %Y $S/f) ]`},
	{"sort -o", `sort -o f $S/f`, "write", 2, "f", `sort $S/f | cmp - f`},
	{"python, os.replace", `/usr/bin/python3 -c 'import os, tempfile; t = tempfile.NamedTemporaryFile(dir=".", delete=False); b = open(os.environ["S"] + "/f", "rb").read(); t.write(b[:9]); t.flush(); t.write(b[9:]); t.close(); os.replace(t.name, "f")'`,
		"write", 2, "", `cmp f $S/f`},
}

const archives = `cd $S; tar cf f.tar f; zip -q f.zip f`

// TestI1_ZooAStrangerSeesNothingOfAHalfMadeFile: each program is stopped half-way.
func TestI1_ZooAStrangerSeesNothingOfAHalfMadeFile(t *testing.T) {
	for _, d := range deliveries {
		t.Run(d.name, func(t *testing.T) {
			z := newZoo(t)
			z.Must(archives)
			p := z.Start(at("STOP", d.call, d.n, d.file, d.command))
			z.stopped()
			require.Empty(t, z.seen())
			p.Continue()
			require.Equal(t, result{}, p.Wait())
			z.Must(d.check)
			require.Empty(t, z.Status())
		})
	}
}

// TestI2_ZooAProgramKilledHalfWayDeliversNothing, and may simply be run again.
func TestI2_ZooAProgramKilledHalfWayDeliversNothing(t *testing.T) {
	for _, d := range deliveries {
		t.Run(d.name, func(t *testing.T) {
			z := newZoo(t)
			z.Must(archives)
			require.NotZero(t, z.Run(at("KILL", d.call, d.n, d.file, d.command)).Code)
			require.Empty(t, z.seen())
			require.Len(t, z.left(), 1, "it is kept, and explained")
			for _, state := range z.left() {
				require.Contains(t, []string{"quarantined", "abandoned"}, state)
			}
			z.Must(d.command + " && " + d.check)
		})
	}
}

// TestI2_ZooTheExitStatusCountsWhereItIsKnown, and where it is not, and what to do about it.
func TestI2_ZooTheExitStatusCountsWhereItIsKnown(t *testing.T) {
	for _, c := range []struct{ name, rule, script, seen string }{
		{"a command fails with its output open", "**=queue", `sh -c 'echo half; exit 3' > f`, ""},
		{"a linter that exits with 1 has made its report", "**=queue,nonzero-exit=publish", `sh -c 'echo finding; exit 1' > f`, "./f\nfinding"},
		{"can't be told: the producer of a pipe fails", "**=queue", `{ echo half; false; } | cat > f`, "./f\nhalf"},
		{"the producer of a pipe fails, a rename says that all is well", "**=queue", `set -o pipefail; { echo half; false; } | cat > f.tmp && mv f.tmp f`, ""},
		{"a dump is compressed", "**=queue", `set -o pipefail; sqlite3 $S/db 'create table t (x)' .dump | gzip > f.tmp && mv f.tmp f && zcat f | grep CREATE && gunzip < f > g && rm f && mv g f && exit 1`,
			"./f\nPRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE t (x);\nCOMMIT;"},
		{"can't be told: it closes in order, and fails then", "**=queue", `sort -o f $S/none || cat $S/f $S/none > /dev/null || python3 -c 'with open("f", "w") as f: f.write("half\n"); raise SystemExit(1)'`, "./f\nhalf"},
		{"it closes in order, and fails then", "**=queue,publish=exit", `python3 -c 'with open("f", "w") as f: f.write("half\n"); raise SystemExit(1)'`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			z := newZoo(t, "--rule", c.rule)
			z.Run(c.script)
			require.Equal(t, c.seen, z.seen())
		})
	}
}

package tests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// longNames are names that leave no room for a number behind them.
var longNames = []string{strings.Repeat("x", 255), strings.Repeat("ä", 127) + "x", strings.Repeat("x", 250) + ".csv"}

// move is mv by which no mount may be stopped.
const move = "timeout -s KILL 10 mv "

func TestI4_ArchivesKeepBothUnderTheLongestNames(t *testing.T) {
	m := mount(t, "--rule", "done/**=archive", "--rule", "error/**=archive,outcome=failed")
	m.Must("mkdir in done error")
	for _, name := range longNames {
		for _, folder := range []string{"done", "error"} {
			m.Must("for n in $(seq 10); do echo $n > in/%[1]s; "+move+"in/%[1]s %[2]s/ || exit; done", name, folder)
			require.Equal(t, "1 2 3 4 5 6 7 8 9 10", m.Must("cat %s/* | sort -n | xargs", folder))
			for _, kept := range m.List(folder) {
				require.LessOrEqual(t, len(kept), 255)
				require.Equal(t, strings.ToValidUTF8(kept, ""), kept, "cut within a character")
			}
			m.Must("rm %s/*", folder)
		}
	}
}

func TestI4_TheLongestNamesCollideAsOthers(t *testing.T) {
	m := mount(t, "--rule", "both/**=queue,on-collision=keep-both", "--rule", "none/**=queue,on-collision=refuse")
	m.Must("mkdir both none")
	for _, name := range longNames {
		m.Must("for n in 1 2 3; do echo $n > both/%[1]s; done", name)
		require.Equal(t, "1 2 3", m.Must("for n in 1 2 3; do cat both/%[1]s; rm both/%[1]s; done | sort | xargs", name))
		m.Must("echo 1 > none/%[1]s; echo 2 > t; ! "+move+"t none/%[1]s 2>/dev/null", name)
		require.Equal(t, "1", m.Must("cat none/%[1]s; rm none/%[1]s t", name))
		m.broken(name)
		m.order("requeue --as " + name + " " + name)
		m.broken("b")
		require.NotZero(t, m.orderAs(0, "requeue --as "+name+" b").Code, "the name is taken")
		m.order("discard b")
		require.Equal(t, "broken", m.Must("cat %[1]s; rm %[1]s", name))
	}
}

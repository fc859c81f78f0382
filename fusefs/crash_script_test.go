package fusefs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// script is testdata/crash/NAME.trace: what may be there after a crash, and the calls in their order, each with what a
// crash before it leads to. The outcomes are written by hand: -update writes the calls anew, and nothing else. A file
// that is not there is made as a draft, with outcomes to be judged.
type script struct {
	live  []string // the programs outlive the daemon
	boot  []string // nothing does: the machine was started again
	cut   []string // beyond those: the power failed, and the disk has not all that was done
	calls []string
}

const (
	liveTitle  = "the daemon is killed, programs live on"
	bootTitle  = "the machine starts again"
	cutTitle   = "also after a power cut"
	callsTitle = "calls"
)

func scriptPath(name string) string {
	return filepath.Join("testdata", "crash", strings.ReplaceAll(name, " ", "-")+".trace")
}

func readScript(t *testing.T, name string) (sc script) {
	text, err := os.ReadFile(scriptPath(name))
	if os.IsNotExist(err) && *update {
		return sc
	}
	require.NoError(t, err)
	var into *[]string
	for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if section := sc.section(line); section != nil {
			into = section
		} else if line != "" {
			line = strings.TrimPrefix(line, "  ")
			if into != &sc.calls {
				_, line, _ = strings.Cut(line, "  ") // its number
			}
			*into = append(*into, line)
		}
	}
	return sc
}

// section is the list that a title begins.
func (sc *script) section(title string) *[]string {
	return map[string]*[]string{liveTitle: &sc.live, bootTitle: &sc.boot, cutTitle: &sc.cut, callsTitle: &sc.calls}[title]
}

func (sc *script) String() string {
	var b strings.Builder
	for _, title := range []string{liveTitle, bootTitle, cutTitle} {
		list := *sc.section(title)
		if len(list) > 0 {
			fmt.Fprintln(&b, title)
		}
		for n, view := range list {
			fmt.Fprintf(&b, "  %d  %s\n", n, view)
		}
	}
	fmt.Fprintln(&b, callsTitle)
	for _, call := range sc.calls {
		fmt.Fprintf(&b, "  %s\n", call)
	}
	return b.String()
}

// call adds a line: what a crash before a call leads to.
func (sc *script) call(live, boot, line string) {
	sc.calls = append(sc.calls, fmt.Sprintf("%d %d  %s", slices.Index(sc.live, live), slices.Index(sc.boot, boot), line))
}

func (sc *script) write(t *testing.T, name string) {
	require.NoError(t, os.MkdirAll(filepath.Dir(scriptPath(name)), 0o755))
	require.NoError(t, os.WriteFile(scriptPath(name), []byte(sc.String()), 0o644))
}

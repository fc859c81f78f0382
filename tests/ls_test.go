package tests

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

func TestLsTellsTheStateOfEachFile(t *testing.T) {
	const user = 12345
	m := mount(t)
	m.Must("mkdir -m 777 d d/sub; echo x > d/public; echo x > d/claimed; ln -s public d/link")
	m.Run("%s", fails("d/broken", "echo x"))
	c := m.Client()
	c.OK("open r d/claimed r", "open w d/staged wc")

	out := m.Airlock("ls d").Out
	require.Regexp(t, `(?m)^link +root +\d+s +- +link\npublished +root +\d+s +2 +public\nfolder +root +\d+s +- +sub/\n\z`, out)
	require.Equal(t, 4, strings.Count(out, "\n"), "it shows what a stranger sees: %s", out)

	out = m.Airlock("ls --hidden d").Out
	for state, name := range map[string]string{"quarantined +-|quarantined +root": "broken", "claimed +%d tests.test root": "claimed", "staged +%d tests.test root": "staged"} {
		state = strings.ReplaceAll(state, "%d", `\d+`)
		require.Regexp(t, `(?m)^(`+state+`) .* `+name+`$`, out)
	}
	require.NotRegexp(t, "broken|claimed|staged", m.RunAs(user, "%s ls --hidden d", quote(binary)).Out, "that is not his")
	require.Zero(t, m.RunAs(user, "echo x > d/his; exec 3>d/open; %s ls --hidden d | grep -q 'staged.* open$'", quote(binary)).Code)
	require.Equal(t, "published", m.Must("getfattr --only-values -n user.airlockfs.state d/public"), "nothing was claimed")

	require.Regexp(t, `^STATE.*\npublished .* public\n$`, m.Airlock("ls d/public").Out)
	require.Equal(t, 1, m.Airlock("ls d/staged").Code)
	require.Regexp(t, `^STATE.*\nstaged .* staged\n$`, m.Airlock("ls --hidden d/staged").Out)
	require.Regexp(t, ` d/public\n(.*\n)* d/sub/a$`, m.Must("echo > d/sub/a; %s ls d d/sub | sed 's/.* / /'", quote(binary)))

	var all []struct {
		report.Item
		Type    string
		Visible bool
	}
	require.NoError(t, json.Unmarshal([]byte(m.Airlock("ls --hidden --json d").Out), &all))
	seen := ""
	for _, e := range all {
		seen += e.Path + " " + e.Type + " " + e.State + map[bool]string{true: " visible", false: ""}[e.Visible] + "\n"
	}
	require.Contains(t, seen, "d/broken file quarantined\nd/claimed file claimed\nd/his file published visible\n")
}

// TestNoNameDrivesATerminal: what stands in the name of a file, a folder, a process or a worker is told by every command,
// and none of it as it is.
func TestNoNameDrivesATerminal(t *testing.T) {
	m := mount(t, "--log-level", "debug", "--linger", "6s")
	evil := "evil\x1b]0;owned\a\x1b[2J\nPROBLEM forged: \u009b31m\u202e\x7f"
	m.Must("mkdir %[1]s; echo x > %[1]s/%[1]s", quote(evil))
	m.Run("cd %s; %s", quote(evil), fails(quote("broken"+evil), "echo x"))
	p := m.Start(`cd %s; exec perl -e '$0 = "\e[31m\nPROBLEM forged"; open A, "<", $ARGV[0]; open B, ">", $ARGV[1]; open C, ">", $ARGV[2]; <STDIN>' %s %s %s`,
		quote(evil), quote(evil), quote("open"+evil), quote(evil+".lock"))
	m.Until("it has them", func() bool { return m.State(evil+"/open"+evil) == "staged" && m.State(evil+"/"+evil) == "claimed" })
	require.NotZero(t, m.Run("cd %s; exec 3>>%s", quote(evil), quote(evil)).Code)
	m.Must("touch %s", quote(m.Below(".airlockfs/"+strings.ReplaceAll(evil, "/", ""))))
	for _, command := range []string{"status .", "status --color always . | sed 's/\x1b\\[[0-9]*m//g'", "status --all .", "status --json .", "ls --hidden --color never " + quote(evil),
		"ls --json --hidden " + quote(evil), "why " + quote(evil) + " " + quote(evil+"/"+evil) + " " + quote(evil+"/broken"+evil), "why --json " + quote(evil),
		"locks .", "locks --json .", "events .", "events --json .", "events " + quote(evil), "check .", "check --json .", "rules " + quote(evil), "rules --json " + quote(evil),
		"status " + quote(evil+"/none"), "why " + quote("/"+evil), "ls " + quote(evil+"none"), "events --nosuch" + quote(evil), quote(evil), "umount " + quote(evil),
		"requeue " + quote(evil+"/"+evil), "requeue --json " + quote(evil+"/"+evil), "publish " + quote(evil+"/open"+evil),
		"requeue --as " + quote("as"+evil) + " " + quote(evil+"/broken"+evil), "release " + quote(evil+"/"+evil), "discard " + quote(evil+"/none")} {
		out := m.Airlock(command).Out
		require.NotRegexp(t, "[\\x00-\\x09\\x0b-\\x1f\\x7f\u0080-\u009f\u202e]", out, command)
		require.NotRegexp(t, "(?m)^PROBLEM forged", out, command)
		require.NotEmpty(t, out, command)
	}
	require.Contains(t, m.Airlock("status .").Out, `"\x1b[31m\nPROBLEM f`, "the process is named")
	m.Until("it was refused", func() bool { return strings.Contains(m.log.String(), "refused") })
	require.NotRegexp(t, "[\\x00-\\x09\\x0b-\\x1f\\x7f\u0080-\u009f\u202e]|(?m:^PROBLEM)", m.log.String(), "the log")
	m.Must("rm %s", quote(m.Below(".airlockfs/"+evil)))
	p.Say()
	p.Wait()
}

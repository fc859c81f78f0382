package tests

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// The short words that scripts of these tests end with: what a stranger lists and reads, and what is kept of what was
// written over (the backing itself may lag behind close(2), whoever looks through the mount does not).
const (
	listed   = `; setsid -w ls -A in`
	replaced = `; ls in >/dev/null; cd "$BACKING/.airlockfs/replaced"; `
	readable = `; setsid -w cat in/f 2>/dev/null; true`
)

// effects are flags that change what a stranger sees of what a script does in the folder in.
var effects = []struct {
	flags, base   []string // base: what is given with and without the flags
	script        string
	with, without string
}{
	{flags: rule("in/**=queue"), base: rule("**=plain"), script: `exec 3>in/f` + listed, without: "f"},
	{flags: rule("in/**=work"), script: `echo x >f; mv f in/f` + listed, without: "f"},
	{flags: rule("in/**=shared"), script: `echo x >in/f; exec 3<in/f` + listed, with: "f"},
	{flags: rule("in/**=serial"), script: `echo x >in/f; exec 3<in/f` + listed, with: "f"},
	{flags: rule("in/**=lock"), script: `exec 3>in/f` + listed, with: "f"},
	{flags: rule("in/**=log"), script: `exec 3>>in/f; echo x >&3` + readable, with: "x"},
	{flags: rule("in/**=archive"), script: `echo x >f; mv f in/f; echo y >f; mv f in/f` + listed, with: "f\nf.1", without: "f"},
	{flags: rule("in/**=plain"), script: `exec 3>in/f` + listed, with: "f"},
	{flags: rule("in/**=records"), script: `exec 3>in/f` + listed, with: "f"},
	{flags: rule("in/f=queue,publish=close"), base: rule("in/**=queue,publish=rename"), script: `echo x >in/f` + listed, with: "f"},
	{flags: rule("in/**=queue,publish=exit"), script: `echo x >in/f` + listed, without: "f"},
	{flags: rule("in/**=queue,publish=rename"), script: `echo x >in/f` + listed, without: "f"},
	{flags: rule("in/**=queue,publish=quiet=1h"), script: `echo x >in/f` + listed, without: "f"},
	{flags: rule("in/**=queue,on-collision=refuse"), script: `echo x >in/f; echo y >t; mv t in/f 2>/dev/null` + readable, with: "x", without: "y"},
	{flags: rule("in/**=queue,on-collision=keep-both"), script: `echo x >in/f; echo y >in/f; setsid -w rm in/f` + readable, with: "x"},
	{flags: rule("in/f=queue,on-collision=replace"), base: rule("in/**=queue,on-collision=keep-both"),
		script: `echo x >in/f; echo y >in/f; setsid -w rm in/f` + readable, without: "x"},
	{flags: rule("in/**=queue,nonzero-exit=publish"), script: `(exec 3>in/f; exit 3)` + listed, with: "f"},
	{flags: rule("in/f=queue,nonzero-exit=quarantine"), base: rule("in/**=queue,nonzero-exit=publish"),
		script: `(exec 3>in/f; exit 3)` + listed, without: "f"},

	{flags: []string{"--temp", "*.mine"}, script: `echo x >in/f.mine` + listed, without: "f.mine"},
	{flags: []string{"--no-temp", "*.tmp"}, script: `echo x >in/f.tmp; echo x >in/f.part` + listed, with: "f.tmp"},
	{flags: []string{"--no-temp", "all"}, script: `echo x >in/f.part; echo x >"$(mktemp in/tmp.1234XXXXXX)"; mv in/tmp* in/tmp` + listed,
		with: "f.part\ntmp", without: "tmp"},
	{flags: []string{"--ignore-litter"}, script: `for f in ._f .DS_Store Thumbs.db desktop.ini; do echo x >in/$f; done` + listed,
		without: ".DS_Store\n._f\nThumbs.db\ndesktop.ini"},
	{flags: []string{"--when-claimed", "busy"}, script: `echo x >in/f; exec 3<in/f` + listed, with: "f"},
	{flags: []string{"--read-only"}, script: `echo x 2>/dev/null >in/f` + listed, without: "f"},
	{flags: []string{"--keep-replaced", "0"}, script: `echo x >in/f; echo y >in/f` + replaced + `cat */f 2>/dev/null`, without: "x"},
	{flags: []string{"--keep-replaced", "1us"}, script: `echo x >in/f; echo y >in/f; echo z >in/f` + replaced + `cat */f 2>/dev/null | grep -c x`,
		with: "0", without: "1"},

	{flags: []string{"-o", "temp=*.mine,ro,rw"}, script: `echo x >in/f.mine` + listed, without: "f.mine"},
	{flags: []string{"-o", "ignore-litter", "-o", `rule=in/**=queue\,publish=rename`}, script: `echo x >in/f; echo x >in/._f` + listed, without: "._f\nf"},
	{flags: []string{"-o", "ro"}, script: `echo x 2>/dev/null >in/f` + listed, without: "f"},
	{flags: []string{"-o", "noexec"}, script: `cp /bin/true in/f; chmod +x in/f; setsid -w in/f 2>/dev/null; echo $?`, with: "126", without: "0"},
}

func rule(text string) []string { return []string{"--rule", text} }

// TestFlagsDoWhatTheySay, and without the flag it is not so.
func TestFlagsDoWhatTheySay(t *testing.T) {
	for _, e := range effects {
		t.Run(strings.ReplaceAll(strings.Join(e.flags, " "), "/", "|"), func(t *testing.T) {
			require.NotEqual(t, e.with, e.without)
			m := mount(t, append(e.base, e.flags...)...)
			require.Equal(t, e.with, m.seen(e.script), "with it")
			bare := mountAlone(t, e.base...)
			require.Equal(t, e.without, bare.seen(e.script), "without it")
		})
	}
}

// seen is what a script prints in a mount with a folder in.
func (m *Mount) seen(script string) string {
	m.t.Helper()
	require.NoError(m.t, os.Mkdir(m.Below("in"), 0o755))
	r := m.Run("BACKING=%s; %s", quote(m.Backing), script)
	return strings.TrimSuffix(r.Out, "\n")
}

// flagTests names a test for each flag of `airlockfs mount`.
var flagTests = map[string]string{
	"rule": "TestFlagsDoWhatTheySay", "temp": "TestFlagsDoWhatTheySay", "no-temp": "TestFlagsDoWhatTheySay",
	"ignore-litter": "TestFlagsDoWhatTheySay", "when-claimed": "TestFlagsDoWhatTheySay", "read-only": "TestFlagsDoWhatTheySay",
	"keep-replaced": "TestFlagsDoWhatTheySay", "options": "TestFlagsDoWhatTheySay", "observer": "TestAnObserverReadsWithoutClaiming",
	"linger": "TestLinger", "abandoned-after": "TestAbandonedAfter", "sync": "TestSync", "unknown-exit": "TestUnknownExit",
	"quarantine-keep": "TestQuarantineKeep", "quarantine-max": "TestQuarantineMax",
	"require": "TestRequireRefusesABackingThatCanNot", "log": "TestLog", "log-level": "TestLogLevel", "log-format": "TestLogFormat",
	"wait": "TestWait", "reserve": "TestI6_AStuckReaderKeepsOthersWaitingForSoLong", "root-override": "TestRootOverride", "drain": "TestDrain", "verbose": "TestLogLevel", "config": "TestConfig", "foreground": "TestForeground", "help": "TestEveryFlagHasATest",
}

func TestEveryFlagHasATest(t *testing.T) {
	help, err := exec.Command(binary, "mount", "--help").Output()
	require.NoError(t, err)
	sources, err := exec.Command("sh", "-c", "cat *_test.go").Output()
	require.NoError(t, err)
	flags := regexp.MustCompile(`(?m)^ +(?:-\w, |    )--([a-z-]+)`).FindAllStringSubmatch(string(help), -1)
	require.Len(t, flags, len(flagTests))
	for _, f := range flags {
		require.Contains(t, flagTests, f[1])
		require.Contains(t, string(sources), "\nfunc "+flagTests[f[1]]+"(t *testing.T)", "--%s", f[1])
	}
}

func TestUnknownOptionsAreRefused(t *testing.T) {
	backing, dir := scratch(t), scratch(t)
	for _, args := range [][]string{
		{"--nosuch"}, {"-o", "nosuch"}, {"-o", "temp"}, {"--sync", "often"}, {"--when-claimed", "no"}, {"--unknown-exit", "no"},
		{"--log-level", "loud"}, {"--log-format", "xml"}, {"--linger", "soon"}, {"--drain", "soon"}, {"--quarantine-max", "much"}, {"--quarantine-keep", "5"}, {"--rule", "in/**=magic"}, {"--rule", "in/**=queue,magic"},
		{"--temp", "[a"}, {"--require", "magic"}, {"--observer", "gid=0"}, {"--no-temp", "*.nosuch"},
	} {
		out, code := refusal(t, backing, dir, args...)
		require.Equal(t, 2, code, "%v: %s", args, out)
		require.Contains(t, out, strings.TrimLeft(args[len(args)-1], "-"), "it says which one")
	}
}

// refusal is what a mount that must not come says, and its exit status.
func refusal(t *testing.T, backing, dir string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command("timeout", append(append([]string{"-s", "KILL", "20", binary, "mount", "-f"}, args...), backing, dir)...)
	out, _ := cmd.CombinedOutput() // its status says it
	require.False(t, mounted(dir), "%v", args)
	return string(out), cmd.ProcessState.ExitCode()
}

func TestARuleWithoutEffectIsToldSo(t *testing.T) {
	m := mountAlone(t, "--rule", "in/**=queue,gate=manifest")
	m.untilLogged("gate=manifest has no effect yet")
}

// untilLogged waits until the daemon, which serves already, has printed something.
func (m *Mount) untilLogged(text string) {
	m.t.Helper()
	m.Until("it says: "+text, func() bool { return strings.Contains(m.log.String(), text) })
}

// facts is the control file "mount".
func (m *Mount) facts() report.Mount {
	m.t.Helper()
	var f report.Mount
	require.NoError(m.t, json.Unmarshal([]byte(m.Must("cat .airlockfs/mount")), &f))
	return f
}

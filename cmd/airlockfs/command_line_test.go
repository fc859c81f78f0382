package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// inProcess executes a command line in this process.
func inProcess(args ...string) (out string, err error) {
	cmd := newRootCommand()
	var b bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetOut(&b)
	cmd.SetErr(&b)
	err = cmd.Execute()
	return b.String(), err
}

func TestHelpListsTheExitCodes(t *testing.T) {
	out, err := inProcess("--help")
	assert.NoError(t, err)
	for _, m := range exitMeanings {
		assert.Contains(t, out, m.meaning)
	}
}

func TestHelpIsWhatTheFlagSays(t *testing.T) {
	for _, name := range []string{"", "mount", "completion"} {
		asked := strings.Fields(name)
		flag, err := inProcess(append(asked, "--help")...)
		assert.NoError(t, err)
		word, err := inProcess(append([]string{"help"}, asked...)...)
		assert.NoError(t, err)
		assert.Equal(t, flag, word, name)
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	for _, cmd := range newRootCommand().Commands() {
		out, err := inProcess(cmd.Name(), "--help")
		assert.NoError(t, err)
		assert.Contains(t, out, "Usage:")
		assert.NotEmpty(t, cmd.Short)
	}
}

func TestUsageErrors(t *testing.T) {
	for text, args := range map[string][]string{
		"there is no command":                                          {"nosuch"},
		"there is no command \"nosuch\"":                               {"help", "nosuch"},
		"there are no completions for foo: use one of bash, zsh, fish": {"completion", "foo"},
		"did you mean status?":                                         {"statsu"},
		"--lingr: did you mean --linger?":                              {"mount", "--lingr", "1h", "a", "b"},
		"airlockfs mount --help lists":                                 {"mount", "-z", "a", "b"},
		"write true or false, not \"x\"":                               {"mount", "--read-only=x", "a", "b"},
		"unknown flag: --nosuch":                                       {"mount", "--nosuch", "a", "b"},
		"unknown flag: --max-attempts":                                 {"mount", "--max-attempts", "3", "a", "b"},
		"write airlockfs mount":                                        {"mount", "a"},
		"write airlockfs status":                                       {"status"},
		"write airlockfs check":                                        {"check", "a", "b"},
		"use one of publish, full":                                     {"mount", "--sync", "often", "a", "b"},
		"command is missing":                                           {"try"},
		"1 argument was given":                                         {"mount", "b"},
		"such as 90s, 10m":                                             {"mount", "--linger", "10", "a", "b"},
		"an argument is missing":                                       {"why"},
		"missing: write airlockfs status":                              {"status", "--watch", "5"},
	} {
		_, err := inProcess(args...)
		assert.ErrorContains(t, err, text, args)
		assert.Equal(t, exitUsage, exitCode(err), args)
	}
}

func TestVersion(t *testing.T) {
	out, err := inProcess("version")
	assert.NoError(t, err)
	assert.Regexp(t, `^airlockfs dev \(go`, out)
	flag, err := inProcess("--version")
	assert.NoError(t, err)
	assert.Equal(t, out, flag)
}

func TestCompletion(t *testing.T) {
	out, err := inProcess("completion", "bash")
	assert.NoError(t, err)
	assert.Contains(t, out, "__start_airlockfs")
	for want, args := range map[string][]string{
		"publish\nfull\nnone\n": {"mount", "--sync", ""}, "hide\nbusy\n": {"try", "--when-claimed", ""}, "reflink\n": {"mount", "--require", ""},
		"all\n:4\n": {"mount", "--no-temp", ""}, "uid=\nexe=\nname=\n:6\n": {"mount", "--observer", ""}, "\na,noexec\n": {"mount", "-o", "a,"}, "\nlinger=\n": {"mount", "-o", "l"},
		":16\n": {"mount", "a", ""}, ":0\n": {"mount", "--log", ""}, "--rule\twhat files are for, RULE: PATTERN=CLASS": {"mount", "--ru"},
		"status\tlist what": {"help", "st"}, "bash\nzsh\nfish\n:4\n": {"completion", ""},
	} {
		out, err = inProcess(append([]string{"__complete"}, args...)...)
		assert.NoError(t, err)
		assert.Contains(t, out, want)
	}
	for _, args := range [][]string{{"mount", "--rule"}, {"mount", "--temp"}, {"run", "--worker"}, {"requeue", "--as"}, {"try", "--rule"}} {
		out, err = inProcess(append(append([]string{"__complete"}, args...), "")...)
		assert.NoError(t, err)
		assert.True(t, strings.HasPrefix(out, ":4\n"), "no names of files: %s", out)
	}
}

func TestRulesFromFlags(t *testing.T) {
	out, err := inProcess("rules", "--rule", "done/**=archive", "--rule", "in/**=queue,gate=set", "done/a.tmp", "in/a.tmp")
	assert.NoError(t, err)
	assert.Contains(t, out, "archive,outcome=done")
	assert.Contains(t, out, `rule "done/**=archive"`)
	assert.Contains(t, out, "gate=set has no effect yet")
	assert.Contains(t, out, "rule     in/**=queue,gate=set  --rule", "which a name table does not say")

	out, err = inProcess("rules", "--temp", "*.wip", "a.wip")
	assert.NoError(t, err)
	assert.Contains(t, out, "a temp name: hidden until renamed")

	out, err = inProcess("rules", "--json", "--rule", "done/**=archive", "done/a", "b")
	assert.NoError(t, err)
	var all []matched
	assert.NoError(t, json.Unmarshal([]byte(out), &all))
	assert.Equal(t, []string{"archive", "queue"}, []string{all[0].Class, all[1].Class})

	out, err = inProcess("rules", "--rule", "**=plain", "--rule", "in/a=queue,gate=set")
	assert.NoError(t, err)
	assert.Regexp(t, `(?s)^in/a=queue,gate=set +--rule\n\*\*=plain +--rule\n.*note: .*gate=set has no effect yet`, out)

	for _, outside := range []string{"../a", "a/../../b", "/a", "/"} {
		_, err = inProcess("rules", "--rule", "**=log", outside)
		assert.ErrorContains(t, err, "is no path in a mount", outside)
		assert.Equal(t, exitUsage, exitCode(err))
	}

	_, err = inProcess("rules", "--rule", "x", "a")
	assert.Equal(t, exitUsage, exitCode(err))
}

func TestExitCodesOfErrors(t *testing.T) {
	assert.Equal(t, exitFine, exitCode(nil))
	assert.NoError(t, exitWith(0))
	assert.Empty(t, exitWith(7).Error())
	assert.Equal(t, 7, exitCode(exitWith(7)))
	assert.Equal(t, exitProblems, exitCode(assert.AnError))
	assert.Equal(t, 1, mountHelperCode(failf(exitUsage, "x")))
	assert.Equal(t, 32, mountHelperCode(failf(exitBusy, "x")))
	assert.Zero(t, mountHelperCode(nil))
}

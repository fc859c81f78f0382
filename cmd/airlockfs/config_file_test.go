package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/config"
)

// configured gives the settings of flags and a configuration.
func configured(t *testing.T, text string, args ...string) (*settings, *pflag.FlagSet, error) {
	file := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	s := &settings{}
	flags := s.mountFlags()
	require.NoError(t, flags.Parse(append([]string{"--config", file}, args...)))
	return s, flags, s.readConfig(flags)
}

// everyKey sets each key to something else than its default.
const everyKey = `
rules: [in/**=work, {pattern: "done/**", class: archive, outcome: failed}]
temp: ["*.wip"]
no-temp: ["*.part", all]
ignore-litter: true
observers: [uid=7, name=restic]
linger: 10m
keep-replaced: 0
abandoned-after: 90s
drain: 20s
wait: 3s
root-override: false
reserve: 4s
quarantine-keep: 3d
quarantine-max: 5G
sync: full
unknown-exit: quarantine
when-claimed: busy
require: [xattr, leases]
read-only: true
log-format: json
log-level: warn
log: /var/log/drop.log
options: [noexec, "context=a:b"]
`

func TestConfigHasAKeyForEveryFlag(t *testing.T) {
	s, flags, err := configured(t, everyKey)
	require.NoError(t, err)
	entries, err := config.Parse("f", []byte(everyKey))
	require.NoError(t, err)
	var keys []string
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	r := configReader{settings: s, flags: flags}
	assert.ElementsMatch(t, r.keys(), keys)

	rules, from := s.ruleTexts()
	assert.Equal(t, []string{"in/**=work", "done/**=archive,outcome=failed"}, rules)
	assert.Equal(t, []string{s.configFile + ":2", s.configFile + ":2"}, from)
	for name, same := range map[string]bool{
		"linger": s.linger == 10*time.Minute, "keep-replaced": s.keepReplaced == 0, "abandoned-after": s.abandonedAfter == 90*time.Second,
		"wait": s.wait == 3*time.Second, "reserve": s.reserve == 4*time.Second, "root-override": !s.rootOverride,
		"drain": s.drain == 20*time.Second, "quarantine-keep": s.quarantineKeep == 72*time.Hour, "quarantine-max": s.quarantineMax == 5<<30,
		"sync": s.sync == "full", "unknown-exit": s.unknownExit == "quarantine", "when-claimed": s.whenClaimed == "busy",
		"read-only": s.readOnly, "ignore-litter": s.ignoreLitter, "log": s.logFile == "/var/log/drop.log", "log-format": s.logFormat == "json",
		"log-level": s.logLevel == "warn", "observers": len(s.observers) == 2,
	} {
		assert.True(t, same, name)
	}
	assert.Equal(t, []string{"*.wip"}, s.temp)
	assert.Equal(t, []string{"*.part", "all"}, s.noTemp)
	assert.Equal(t, []string{"xattr", "leases"}, s.require)
	assert.Equal(t, []string{"noexec", "context=a:b"}, s.mountOptions)
}

func TestFlagsBeatTheConfiguration(t *testing.T) {
	s, flags, err := configured(t, everyKey, "--linger=1h", "--sync", "none", "--read-only=false", "--log", "here", "--rule", "in/**=log", "--temp", "x")
	require.NoError(t, err)
	assert.Equal(t, time.Hour, s.linger, "though it is the default")
	assert.Equal(t, "none", s.sync)
	assert.Equal(t, "here", s.logFile)
	assert.False(t, s.readOnly)
	assert.Equal(t, "quarantine", s.unknownExit)
	assert.Equal(t, []string{"x", "*.wip"}, s.temp, "flags first")
	table, err := s.ruleTable()
	require.NoError(t, err)
	assert.Equal(t, "log", table.At("in", "x").Class.String(), "of equally specific rules the first decides")
	assert.Equal(t, "archive", table.At("done", "x").Class.String())
	assert.Equal(t, []string{"--config=" + s.configFile, "--rule=in/**=log", "--temp=x", "--linger=1h", "--sync=none", "--read-only=false", "--log=here"},
		flagArgs(flags), "what another process is given is what was given here, not what the file said")
}

func TestOptionsOfMount8BeatTheConfiguration(t *testing.T) {
	for options, readOnly := range map[string]bool{"rw": true, "ro": true, "ro,rw": true, "read-only=false": false, "rw,linger=1h": true} {
		s := &settings{}
		flags := s.mountFlags()
		file := filepath.Join(t.TempDir(), "f.yaml")
		require.NoError(t, os.WriteFile(file, []byte("read-only: true\nlinger: 5m"), 0o600))
		require.NoError(t, s.applyOptions(flags, "config="+file+","+options, false))
		require.NoError(t, s.readConfig(flags))
		assert.Equal(t, readOnly, s.readOnly, options)
		assert.Equal(t, strings.Contains(options, "linger"), s.linger == time.Hour, options)
	}
}

func TestEmptyConfiguration(t *testing.T) {
	for _, text := range []string{"", "# linger: 1h\n", "rules:\ntemp:\n# - a\n"} {
		s, _, err := configured(t, text)
		require.NoError(t, err)
		assert.Empty(t, s.rules)
		assert.Equal(t, time.Hour, s.linger)
	}
}

// Every mistake is said with its place and what to write instead.
func TestConfigurationIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"rules: [{clas: queue, pattern: a}]":    `1:10: rules have no switch "clas": did you mean class?`,
		"rules: ['=queue']":                     `1:9: rule "=queue": the pattern is empty: write which names are meant`,
		"lingr: 1h":                             `1:1: there is no setting "lingr": did you mean linger?`,
		"keep_replaced: 1h":                     `1:1: there is no setting "keep_replaced": did you mean keep-replaced?`,
		"rule: []":                              `1:1: there is no setting "rule": did you mean rules?`,
		"backing: /srv":                         `1:1: there is no setting "backing": use one of abandoned-after, drain, ignore-litter, keep-replaced, linger`,
		"\nverbose: true":                       `2:1: verbose can't be set in a file: it is for the command line`,
		"config: x":                             `1:1: config can't be set in a file`,
		"linger: soon":                          `1:9: linger: "soon" is no duration: write a number and a unit, such as 90s, 10m, 24h or 14d`,
		"linger: 100000000d":                    `1:9: linger: "100000000d" is no duration`,
		"linger: 106752d":                       `1:9: linger: "106752d" is no duration`,
		"linger: 90":                            `1:9: linger: "90" is no duration`,
		"linger: -1s":                           `1:9: linger: "-1s": a duration can't be negative`,
		"linger:":                               "1:8: linger: here is nothing: write `linger: VALUE`",
		"linger: [1h]":                          "1:9: linger: here is a list: write `linger: VALUE`",
		"sync: {full: true}":                    "1:7: sync: here is a map: write `sync: VALUE`",
		"sync: often":                           `1:7: sync: there is no "often": use one of publish, full, none`,
		"read-only: yes":                        `1:12: read-only: write true or false, not "yes"`,
		"log: drop.log":                         `1:6: log: write the whole path of the file, from / on, not "drop.log"`,
		"observers: name=a":                     "1:12: observers: here is a text: write a list, a line that begins with `- ` for each",
		"observers: [a]":                        `1:13: observer "a": write uid=N, exe=PATH or name=GLOB`,
		"observers: [exe=/no/such]":             `1:13: observer "exe=/no/such": the program file can't be found: no such file or directory`,
		"temp:\n- '[a'":                         `2:3: temp pattern "[a": malformed pattern`,
		"temp:\n- [a]":                          `2:3: temp: here is a list: write a text, with quotes around it if it begins with [`,
		"temp:\n- ":                             `2:2: temp: here is nothing: write a text`,
		"no-temp: [x]":                          `1:11: temp pattern "x" is not on; those that are: all *.tmp`,
		"require: [magic]":                      `1:11: there is no feature "magic": use some of tmpfile`,
		"options: [linger=1h]":                  `1:11: there is no kernel option "linger=1h": use some of noexec`,
		"options: [ro]":                         `1:11: there is no kernel option "ro"`,
		"rules: [a]":                            `1:9: rule "a": no class: write PATTERN=CLASS, as in 'done/**=archive'`,
		"rules:\n- in/**=quue":                  `2:3: rule "in/**=quue": unknown class "quue": use one of queue`,
		"rules:\n- a=queue,publsh=exit":         `2:3: rule "a=queue,publsh=exit": unknown switch "publsh": use one of publish`,
		"rules: [{class: queue}]":               "1:9: a rule needs a pattern and a class: add `pattern: ",
		"rules: [{pattern: a}]":                 "1:9: a rule needs a pattern and a class: add `class: ",
		"rules: [{pattern: a, class: quue}]":    `1:29: unknown class "quue": use one of queue`,
		"rules: [{pattern: '[', class: queue}]": `1:19: rule "[=queue": malformed pattern`,
		"rules: [{pattern: a, class: queue, publsh: exit}]":     `1:36: rules have no switch "publsh": did you mean publish?`,
		"rules: [{pattern: a, class: queue, publish: never}]":   `1:36: rule "a=queue,publish=never": switch "publish=never": write publish=close`,
		"rules: [{pattern: a, class: queue, publish: [exit]}]":  "1:45: publish: here is a list: write `publish: VALUE`",
		"rules: [{pattern: a, class: log, publish: exit}]":      `1:34: rule "a=log,publish=exit": switch "publish" is not for class log`,
		"rules: [{pattern: a, class: archive, outcome: false}]": "",
		"rules: ['in/**=queue', 'in/=plain', 'in/**=plain']":    `1:37: the rule in line 1 is for the same names, and says otherwise: remove one of the two`,
		"rules:\n- 'a*=log'\n- '*b=plain'":                      `3:3: the rule in line 2 says otherwise of "ab", and neither is more specific: write a third one for what both match, or narrow one of them`,
		"rules:\n- 'a*=log'\n- '*b=plain'\n- ab=queue":          "",
		"rules: ['" + strings.Repeat("{a,b,c,d,e,f,g,h}", 2) + "=log'" + strings.Repeat(", '{0,1,2,3,4,5,6,7}{a,b,c,d,e,f,g,h}=log'", 16) + "]": "1:639: rules with more than 1000 patterns in all",
	} {
		s, _, err := configured(t, text)
		if want == "" {
			assert.NoError(t, err, text)
			continue
		}
		if assert.Error(t, err, text) {
			assert.True(t, strings.HasPrefix(err.Error(), s.configFile+":"+want), "%s\n%s", text, err)
			assert.Equal(t, exitUsage, exitCode(err))
		}
	}
}

func TestAllMistakesAreSaidAtOnce(t *testing.T) {
	for text, want := range map[string][]string{
		"foo: bar\nrules:\n- x\n- a=log\n- a=plain\nlinger: soon\n":                      {"1:1", "3:3", "5:3", "6:9"},
		"linger: 1h\nlinger: 2h\nrules: [{clas: queue, pattern: a}, y]\nsync: x\n":       {"2:1", "3:10", "3:36", "4:7"},
		"rules: [{class: a, class: b, pattern: c}, &x a=b, y]\ntemp: *x\nlinger: &y 1\n": {"1:17", "1:20", "1:43", "1:51", "2:7", "3:9"},
	} {
		s, _, err := configured(t, text)
		require.Error(t, err)
		var places []string
		for line := range strings.Lines(err.Error()) {
			place, _, _ := strings.Cut(strings.TrimPrefix(line, s.configFile+":"), ": ")
			places = append(places, place)
		}
		assert.Equal(t, want, places, err)
	}
}

// A flag's rule may say what the file does not: that is what it is for.
func TestFlagMayContradictTheConfiguration(t *testing.T) {
	_, _, err := configured(t, "rules: [a*=log]", "--rule", "*b=plain", "--rule", "a*=queue", "--rule", "a*=plain")
	assert.NoError(t, err)
	_, _, err = configured(t, "rules: [a*=log, '*b=plain']", "--rule", "ab=queue")
	assert.NoError(t, err, "it decides what the file does not")
}

func TestSwitchesOfARuleThatIsAMap(t *testing.T) {
	s, _, err := configured(t, `
rules:
  - {pattern: "a=b", class: queue, publish: quiet=5s, on-collision: keep-both}
  - {class: shared, keep-name: true, keep-versions: 3, pattern: s/**}
  - {pattern: t/**, class: shared, keep-name: false}
`)
	require.NoError(t, err)
	rules, _ := s.ruleTexts()
	assert.Equal(t, []string{"a=b=queue,publish=quiet=5s,on-collision=keep-both", "s/**=shared,keep-name,keep-versions=3", "t/**=shared"}, rules)
	assert.Equal(t, []string{`rule "s/**=shared,keep-name,keep-versions=3" (` + s.configFile + `:4): keep-name has no effect yet`},
		s.rules[1].Warnings()[:1])
}

// What the documents show can be used as it is.
func TestExamplesAreRead(t *testing.T) {
	files, err := filepath.Glob("../../docs/examples/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 4)
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(readme), "```yaml\n")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```")
	texts := map[string]string{"README.md": block}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(readme), "](docs/examples/"+filepath.Base(file)+")")
		texts[file] = string(text)
	}
	for name, text := range texts {
		s, _, err := configured(t, text)
		assert.NoError(t, err, name)
		assert.NotEmpty(t, s.rules, name)
	}
}

// FuzzConfiguration: what is accepted can be mounted with, what is refused is explained.
func FuzzConfiguration(f *testing.F) {
	f.Add(everyKey)
	f.Add("rules:\n- 'a*=log'\n- '*b=plain'\n- {pattern: ab, class: queue, keep-name: true}\n")
	f.Add("linger: -1s\nfoo:\nrules: {}\noptions: [ro]\ntemp: [[]]")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := config.Parse("f", []byte(text))
		if err != nil || len(text) > 2000 {
			return
		}
		s := &settings{}
		r := configReader{settings: s, flags: s.mountFlags()}
		if err := r.read(entries); err != nil {
			assert.Regexp(t, `^f:\d+:\d+: .`, err.Error())
			return
		}
		_, err = s.config()
		assert.NoError(t, err)
	})
}

package main

import (
	"cmp"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/airlockfs/airlockfs/fusefs"
	"github.com/airlockfs/airlockfs/protocol"
)

// settings are what the user says about a mount: as flags, after -o, or in the file of --config.
type settings struct {
	rules                 []protocol.Rule
	observers             []fusefs.Observer
	temp, noTemp, require []string

	sync, unknownExit, whenClaimed              string
	linger, keepReplaced, abandonedAfter        time.Duration
	quarantineKeep, drain, wait, reserve        time.Duration
	quarantineMax                               int64
	ignoreLitter, readOnly, foreground, verbose bool
	rootOverride                                bool
	configFile, logFile, logFormat, logLevel    string
	mountOptions                                []string // for the kernel
}

// mountFlags are the flags of mount that -o takes too, and the file of --config most of them.
func (s *settings) mountFlags() *pflag.FlagSet {
	f := pflag.NewFlagSet("mount", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVar(&s.configFile, "config", "", "read `FILE` (YAML): the flags have keys of the same names there, and beat it")
	s.addNames(f)
	f.Var(&list{accept: s.acceptObserver}, "observer", "`WHO` looks but never claims: uid=N, exe=PATH or name=GLOB; may be repeated")
	s.addTimes(f)
	f.Var(newChoice(&s.sync, "publish", "full", "none"), "sync", "what is durable before a file appears, `MODE`: publish (its bytes), full (its name too), none")
	f.Var(newChoice(&s.unknownExit, "publish", "quarantine"), "unknown-exit", "what becomes of a file whose writer ended nobody knows how, `WHAT`: publish, quarantine")
	f.Var(newChoice(&s.whenClaimed, "hide", "busy"), "when-claimed", "what others see of a claimed name, `HOW`: hide (nothing), busy (it, but an open says EBUSY)")
	f.BoolVar(&s.rootOverride, "root-override", true, "root is not bound by locks of other users")
	require := newList(&s.require, checkFeature)
	require.commas = true
	f.Var(require, "require", "refuse to mount if the backing lacks `FEATURE`[,…]: "+strings.Join(features, " "))
	f.BoolVar(&s.readOnly, "read-only", false, "mount read-only")
	f.Var(newChoice(&s.logFormat, "text", "json"), "log-format", "`FORMAT`: text, json")
	f.Var(newChoice(&s.logLevel, "info", "debug", "warn", "error"), "log-level", "log this and what is worse, `LEVEL`: debug, info, warn, error")
	f.BoolVarP(&s.verbose, "verbose", "v", false, "log everything (--log-level debug)")
	f.BoolVarP(&s.foreground, "foreground", "f", false, "stay in the foreground and log to stderr")
	f.StringVar(&s.logFile, "log", "", "append the log to `FILE`; SIGHUP opens it anew. Without this and -f there is no log")
	return f
}

func (s *settings) addNames(f *pflag.FlagSet) {
	f.Var(&list{accept: s.acceptRule}, "rule", "what files are for, `RULE`: PATTERN=CLASS[,switch=value…]; may be repeated")
	f.Var(newList(&s.temp, checkTemp), "temp", "files called `PATTERN` are unfinished until renamed; may be repeated")
	f.Var(newList(&s.noTemp, checkNoTemp), "no-temp", "switch off the built-in temp `PATTERN`, or all; may be repeated")
	f.BoolVar(&s.ignoreLitter, "ignore-litter", false, "keep ._*, .DS_Store, Thumbs.db and desktop.ini to their makers")
}

func (s *settings) addTimes(f *pflag.FlagSet) {
	f.Var(newDuration(&s.linger, time.Hour), "linger", "give back a claim on a closed file that nobody used for this `TIME`, such as 90s, 10m or 1h; 0: never")
	f.Var(newDuration(&s.reserve, 30*time.Second), "reserve", "class serial: who has read a file and makes no call for this `TIME` keeps nobody waiting any more; 0: no bound")
	f.Var(newDuration(&s.wait, 10*time.Second), "wait", "an open waits for who has locked the file's lock file, `TIME` at most, then it says EBUSY; 0: at once")
	f.Var(newDuration(&s.keepReplaced, 24*time.Hour), "keep-replaced", "keep a version that was written over for this `TIME`; 0: not at all")
	f.Var(newDuration(&s.drain, 0), "drain", "after SIGTERM begin nothing new, and let finish what is under way for this `TIME`; 0: not asked for")
	f.Var(newDuration(&s.abandonedAfter, 24*time.Hour), "abandoned-after", "put what a writer left unfinished into quarantine after this `TIME`")
	f.Var(newDuration(&s.quarantineKeep, 14*24*time.Hour), "quarantine-keep", "remove what was in quarantine for this `TIME`; 0: never")
	f.Var(newByteSize(&s.quarantineMax, 10<<30), "quarantine-max", "remove the oldest in quarantine when all takes more than `SIZE`, such as 500M or 10G; 0: never")
}

func (s *settings) acceptRule(text, from string) error {
	r, err := protocol.ParseRule(text)
	if err == nil {
		s.rules = append(s.rules, r.From(cmp.Or(from, "--rule")))
	}
	return err
}

func (s *settings) acceptObserver(text, _ string) error {
	spec, err := protocol.ParseObserver(text)
	if err != nil {
		return err
	}
	o, err := fusefs.NewObserver(spec)
	if err == nil {
		s.observers = append(s.observers, o)
	}
	return err
}

func checkTemp(pattern string) error {
	n := protocol.DefaultNames()
	return n.AddTemp(pattern)
}

func checkNoTemp(pattern string) error {
	n := protocol.DefaultNames()
	return n.DropTemp(pattern)
}

// names are the name tables with the user's changes: what is on by default can be dropped, then more is added. The
// patterns were checked when they were given; one that is dropped twice is gone.
func (s *settings) names() protocol.NameTables {
	n := protocol.DefaultNames()
	for _, pattern := range s.noTemp {
		_ = n.DropTemp(pattern)
	}
	for _, pattern := range s.temp {
		_ = n.AddTemp(pattern)
	}
	if s.ignoreLitter {
		n.IgnoreLitter()
	}
	return n
}

// ruleTable compiles rules and name tables.
func (s *settings) ruleTable() (*protocol.Rules, error) {
	table, err := protocol.NewRules(s.rules, s.names())
	return table, withCode(exitUsage, err)
}

// ruleTexts are the rules as they were written, and where.
func (s *settings) ruleTexts() (texts, from []string) {
	for _, r := range s.rules {
		texts, from = append(texts, r.String()), append(from, r.Origin())
	}
	return texts, from
}

// config is the part of a mount's configuration that the settings decide.
func (s *settings) config() (fusefs.Config, error) {
	table, err := s.ruleTable()
	return fusefs.Config{
		Rules: table, Observers: s.observers, Now: time.Now,
		Sync:    map[string]fusefs.SyncMode{"publish": fusefs.SyncPublish, "full": fusefs.SyncFull, "none": fusefs.SyncNone}[s.sync],
		Reserve: s.reserve, Wait: s.wait, RootBound: !s.rootOverride,
		Linger: s.linger, KeepReplaced: s.keepReplaced, Abandoned: s.abandonedAfter,
		Quarantine:  protocol.Bounds{Keep: s.quarantineKeep, Most: s.quarantineMax},
		ClaimedBusy: s.whenClaimed == "busy", UnknownFails: s.unknownExit == "quarantine", Owner: uint32(os.Getuid()),
	}, err
}

// logger logs as the settings say, to a file or else to stderr.
func (s *settings) logger(file *logFile) (*slog.Logger, error) {
	var out io.Writer = os.Stderr
	if file != nil {
		out = file
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.logLevel)); err != nil {
		return nil, withCode(exitUsage, err)
	}
	if s.verbose {
		level = slog.LevelDebug
	}
	o := &slog.HandlerOptions{Level: level}
	if s.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(out, o)), nil
	}
	return slog.New(slog.NewTextHandler(out, o)), nil
}

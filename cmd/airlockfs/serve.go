package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/fusefs"
	"github.com/airlockfs/airlockfs/fusefs/caller"
	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// starter is who started this process to serve; the zero value: nobody who waits for it.
type starter struct {
	ready  *readiness      // is told when it serves
	orphan <-chan struct{} // closed when the starter is gone, if that ends the mount
}

// serve mounts and serves until the mount ends.
func serve(cmd *cobra.Command, s *settings, by starter, from, at string) error {
	if err := absolutePaths(&from, &at, &s.logFile); err != nil {
		return err
	}
	config, file, err := s.prepare(from, at, by.ready != nil)
	if err != nil {
		return err
	}
	mounts, _ := readMounts() // it was read a moment ago
	warnings := slices.Concat(hiddenByMount(from, at), mountedInBacking(mounts, from, at), configInBacking(s.configFile, from))
	detach()
	may, err := shareOut()
	if err != nil {
		return err
	}
	config.Descriptors = may.kept
	store, lacks, err := openBacking(from, s.require, may.folders)
	if err != nil {
		return err
	}
	defer store.Close()
	config.Store = store
	if config.Callers, err = caller.New(caller.Options{Log: config.Log, Limit: may.callers}); err != nil {
		return withdraw(store, err)
	}
	defer config.Callers.Close()
	signals := catchSignals()
	options := s.options(from, at, lacks)
	options.Facts.Lacks = append(options.Facts.Lacks, config.Callers.Lacks()...)
	m, err := fusefs.Mount(config, options)
	if err != nil {
		return withdraw(store, withCode(exitMount, err))
	}
	g := s.greeting(store, config.Rules, lacks)
	g.Warnings = slices.Concat(warnings, g.Warnings, config.Callers.Lacks(), withoutRoot(m.OnlyMounter()))
	if err := announce(cmd.OutOrStdout(), s, by.ready, g); err != nil {
		return errors.Join(err, m.Unmount(true), m.Wait())
	}
	config.Log.Info("serving", "backing", from, "mountpoint", at, "version", version)
	boss := inheritedSupervisor(config.Log)
	boss.tell("READY=1", "STATUS=serving "+at)
	return (&serving{m, signals, by.orphan, s.drain, boss, config.Log, file}).untilUnmounted()
}

// prepare finds out what can be found out without touching the backing. std: standard output and error are the log file.
func (s *settings) prepare(from, at string, std bool) (c fusefs.Config, file *logFile, err error) {
	if c, err = s.config(); err != nil {
		return c, nil, err
	}
	if s.logFile != "" {
		if file, err = newLogFile(s.logFile, std); err != nil {
			return c, nil, err
		}
	}
	if c.Log, err = s.logger(file); err != nil {
		return c, nil, err
	}
	return c, file, checkMountable(from, at)
}

func (s *settings) options(from, at string, lacks []backing.Lack) fusefs.Options {
	rules, rulesFrom := s.ruleTexts()
	return fusefs.Options{ReadOnly: s.readOnly, MountOptions: s.mountOptions, Facts: report.Mount{
		Mount: at, Backing: from, Version: version, Lacks: meanings(lacks),
		Config: s.configFile, Rules: rules, RulesFrom: rulesFrom, Temp: s.temp, NoTemp: s.noTemp, IgnoreLitter: s.ignoreLitter}}
}

// detach makes the process independent of where it was started: of the umask, because each request brings its own, and
// of the working folder, which might be the mountpoint.
func detach() {
	unix.Umask(0)
	nameProcess()
	_ = os.Chdir("/") // where that is not allowed the folder just stays in use
}

// nameProcess gives a process that was started as /proc/self/exe the name that people look for; where that is not
// allowed it keeps the other one.
func nameProcess() { _ = os.WriteFile("/proc/self/comm", []byte("airlockfs"), 0) }

// openBacking makes the backing ours and finds out what it can't do.
func openBacking(path string, required []string, folders int) (*backing.Store, []backing.Lack, error) {
	before, err := failpoints()
	if err != nil {
		return nil, nil, err
	}
	store, err := backing.Open(path, backing.Options{Areas: protocol.Areas(), Folders: folders, Before: before})
	if err != nil {
		return nil, nil, withCode(exitBacking, err)
	}
	err = store.Acquire()
	if errors.Is(err, backing.ErrInUse) {
		return nil, nil, errors.Join(explainInUse(path), store.Close())
	}
	if err != nil {
		return nil, nil, errors.Join(withdraw(store, withCode(exitBacking, err)), store.Close())
	}
	lacks := store.Probe()
	if err := checkRequired(path, lacks, required); err != nil {
		return nil, nil, errors.Join(withdraw(store, withCode(exitBacking, err)), store.Close())
	}
	return store, lacks, nil
}

// withdraw leaves no trace of a mount that did not come, and gives the reason back.
func withdraw(store *backing.Store, why error) error {
	_ = store.Withdraw() // what can't be removed is no harm: the next mount takes it up
	return why
}

func announce(out io.Writer, s *settings, ready *readiness, g greeting) error {
	if ready != nil {
		return ready.serving(g)
	}
	_, err := fmt.Fprint(out, g.text(s.verbose, show.IsTerminal(os.Stdout)))
	return err
}

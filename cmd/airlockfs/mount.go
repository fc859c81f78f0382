package main

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"
)

const mountHelp = `Mount the folder BACKING on the folder MOUNTPOINT, which may be the same one, and
return once it serves. Let programs use MOUNTPOINT only.

A --rule says of which class the files of a pattern are. Classes:
  queue    handed over: hidden until complete, taken by their reader (default)
  work     where workers move what they take
  shared   state files: readers keep their version, who writes must know the current one
  serial   the same, one at a time: who has read it keeps others waiting until it is written
  lock     lock files
  log      appended to by many
  archive  where work ends; a taken name keeps both
  plain    as on any filesystem
  records  plain, and what is locked binds who only reads and writes
Switches, and for which classes:
  publish=close|exit|rename|quiet=TIME   queue, work, shared, serial
  on-collision=replace|keep-both|refuse  queue, work
  nonzero-exit=quarantine|publish        queue, work, shared, serial
  outcome=done|failed                    archive, plain
airlockfs rules PATH says what applies to a name.

--config FILE takes any of this from a file (YAML), in which flags have keys of their
names, and --rule and --observer are the lists rules and observers. Flags beat it.
airlockfs rules --config FILE checks it. It is read once, when the mount begins.

Without -f it serves in the background, and then logs only if there is --log FILE.
airlockfs events MOUNTPOINT shows what happened last in any case.

Root mounts for all users. Another user needs fusermount3 (package fuse3), and
mounts for himself; with user_allow_other in /etc/fuse.conf, others may read.

After -o come the options of mount(8) and all flags of this command, spelt
key=value: -o linger=10m,ignore-litter. A comma or backslash within a value is
written with a backslash before it: -o 'rule=in/**=queue\,publish=exit'. For the kernel:
noexec noatime nodiratime relatime strictatime sync dirsync nosymfollow, and context=,
fscontext=, defcontext=, rootcontext=. There is no remount: unmount and mount again.

For /etc/fstab, link this program to /sbin/mount.airlockfs:
  /srv/in  /mnt/in  airlockfs  linger=10m,rule=done/**=archive,nofail  0  0
`

func newMountCommand() *cobra.Command {
	s := &settings{}
	var options []string
	cmd := &cobra.Command{
		Use:     "mount [-f] [-o OPT[,…]] [flags] BACKING MOUNTPOINT",
		Short:   "mount a folder",
		Long:    mountHelp,
		Example: "  airlockfs mount --rule 'done/**=archive' /srv/in /mnt/in",
		Args:    takes(2, "airlockfs mount BACKING MOUNTPOINT"),
	}
	flags := s.mountFlags()
	cmd.Flags().AddFlagSet(flags)
	cmd.Flags().SortFlags = false
	cmd.Flags().StringArrayVarP(&options, "options", "o", nil, "mount `OPTIONS`, separated by commas; may be repeated")
	completeFlags(cmd, flags)
	_ = cmd.RegisterFlagCompletionFunc("options", completeOptions(flags)) // the only one
	cmd.ValidArgsFunction = completeFolders
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, text := range options {
			if err := s.applyOptions(flags, text, false); err != nil {
				return err
			}
		}
		if err := s.readConfig(flags); err != nil {
			return err
		}
		return mount(cmd, s, args[0], args[1])
	}
	return cmd
}

// mount serves in this process, or starts another one that does.
func mount(cmd *cobra.Command, s *settings, backing, mountpoint string) error {
	ready, line := inheritedReadiness(), inheritedLifeline()
	if ready == nil && !s.foreground {
		return mountInBackground(cmd, s, mountpoint)
	}
	err := serve(cmd, s, starter{ready, line.orphan()}, backing, mountpoint)
	err = errors.Join(err, line.removeIfCut())
	if ready != nil && err != nil && ready.failed(err) == nil {
		return exitWith(exitCode(err)) // who waits for us says it
	}
	return err
}

// absolutePaths makes paths independent of the working folder, which the daemon leaves.
func absolutePaths(paths ...*string) error {
	for _, p := range paths {
		if *p == "" {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return err
		}
		*p = abs
	}
	return nil
}

package main

import (
	"github.com/spf13/cobra"
)

// newMountHelperCommand is the program as mount(8) calls it for the type airlockfs: SOURCE TARGET, then flags of its own.
func newMountHelperCommand() *cobra.Command {
	s := &settings{}
	var options []string
	var fake, noMtab, sloppy bool
	var fsType string
	cmd := &cobra.Command{
		Use:           "mount.airlockfs SOURCE TARGET [-fnsv] [-o OPTIONS]",
		Short:         "mount a folder, called by mount(8)",
		Args:          takes(2, "mount.airlockfs SOURCE TARGET [-o OPTIONS]"),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	f := cmd.Flags()
	f.StringArrayVarP(&options, "options", "o", nil, "mount `OPTIONS`, separated by commas")
	f.BoolVarP(&fake, "fake", "f", false, "do everything but mount")
	f.BoolVarP(&noMtab, "no-mtab", "n", false, "there is no mtab to write in any case")
	f.BoolVarP(&sloppy, "sloppy", "s", false, "leave unknown options out")
	f.BoolVarP(&s.verbose, "verbose", "v", false, "log everything")
	f.StringVarP(&fsType, "types", "t", "", "the `TYPE` that was asked for")
	cmd.SetFlagErrorFunc(usageError)
	flags := s.mountFlags()
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, text := range options {
			if err := s.applyOptions(flags, text, sloppy); err != nil {
				return err
			}
		}
		if err := s.readConfig(flags); err != nil || fake {
			return err
		}
		return mount(cmd, s, args[0], args[1])
	}
	return cmd
}

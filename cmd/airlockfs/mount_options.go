package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// kernelOptions go to the kernel as they are.
var kernelOptions = []string{"noexec", "noatime", "nodiratime", "relatime", "strictatime", "sync", "dirsync", "nosymfollow"}

// kernelPrefixes are those with a value.
var kernelPrefixes = []string{"context=", "fscontext=", "defcontext=", "rootcontext="}

// impliedOptions say what is so anyway, or are for mount(8) itself (fstab(5)).
var impliedOptions = []string{"nosuid", "nodev", "allow_other", "default_permissions", "defaults", "exec", "atime", "diratime",
	"async", "auto", "noauto", "user", "users", "nouser", "owner", "group", "_netdev", "nofail"}

// impliedPrefixes are those with a value.
var impliedPrefixes = []string{"x-", "X-", "user=", "comment="}

// applyOptions takes what comes after -o. Unknown options are an error, or left out if sloppy (mount(8), -s).
func (s *settings) applyOptions(flags *pflag.FlagSet, text string, sloppy bool) error {
	var unknown []string
	for _, option := range splitOptions(text) {
		known, err := s.applyOption(flags, option)
		if err != nil {
			return err
		}
		if !known && !sloppy {
			unknown = append(unknown, option)
		}
	}
	return unknownOptions(flags, unknown)
}

// unknownOptions says of each what may be meant, and at the end what there is if of one that is not known.
func unknownOptions(flags *pflag.FlagSet, unknown []string) error {
	var mistakes []string
	list := false
	for _, option := range unknown {
		mistake := fmt.Sprintf("there is no mount option %q", option)
		if similar := similarOption(flags, option); similar != "" {
			mistake += ": did you mean " + similar + "?"
		} else {
			list = true
		}
		mistakes = append(mistakes, mistake)
	}
	if list {
		mistakes = append(mistakes, "there are ro, rw, the flags that airlockfs mount --help lists, and for the kernel "+kernelOptionList())
	}
	if len(unknown) == 0 {
		return nil
	}
	return failf(exitUsage, "-o: %s", strings.Join(mistakes, "; "))
}

func kernelOptionList() string {
	return strings.Join(slices.Concat(kernelOptions, kernelPrefixes), " ")
}

func (s *settings) applyOption(flags *pflag.FlagSet, option string) (known bool, err error) {
	switch {
	case option == "", slices.Contains(impliedOptions, option), hasPrefix(option, impliedPrefixes), s.acceptKernelOption(option, "") == nil:
		return true, nil
	case option == "remount":
		return true, failf(exitUsage, "-o remount: a mount keeps what it was mounted with: unmount and mount again, claims of living programs go on")
	case option == "ro":
		return true, flags.Set("read-only", "true")
	case option == "rw": // takes back an ro; mount(8) says it of all mounts, so it does not beat a configuration
		readOnly := flags.Lookup("read-only")
		readOnly.Changed = false
		return true, readOnly.Value.Set("false")
	}
	return setFlag(flags, option)
}

// acceptKernelOption takes an option for the kernel, and no other.
func (s *settings) acceptKernelOption(option, _ string) error {
	if !slices.Contains(kernelOptions, option) && !hasPrefix(option, kernelPrefixes) {
		return fmt.Errorf("there is no kernel option %q: use some of %s", option, kernelOptionList())
	}
	s.mountOptions = append(s.mountOptions, option)
	return nil
}

// similarOption is what a misspelt option probably stands for, "" if there is none.
func similarOption(flags *pflag.FlagSet, option string) string {
	name, _, _ := strings.Cut(option, "=")
	known := slices.Concat(kernelOptions, []string{"ro", "rw"})
	flags.VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	return closest(name, known)
}

func hasPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// setFlag sets one of our flags from key=value, or from key if it is a switch.
func setFlag(flags *pflag.FlagSet, option string) (known bool, err error) {
	name, value, given := strings.Cut(option, "=")
	flag := flags.Lookup(name)
	if flag == nil {
		return false, nil
	}
	if !given && flag.NoOptDefVal == "" {
		return true, failf(exitUsage, "-o %s: a value is missing: write %s=…", name, name)
	}
	if !given {
		value = flag.NoOptDefVal
	}
	if err := flags.Set(name, value); err != nil {
		return true, failf(exitUsage, "-o %s: %w", name, errors.Unwrap(err)) // of pflag.InvalidValueError
	}
	return true, nil
}

// splitOptions splits at commas. A backslash before a comma or backslash takes its meaning away; before anything else
// it is itself, as in patterns.
func splitOptions(text string) []string {
	var all []string
	var option strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && (text[i+1] == ',' || text[i+1] == '\\'):
			i++
			option.WriteByte(text[i])
		case text[i] == ',':
			all = append(all, option.String())
			option.Reset()
		default:
			option.WriteByte(text[i])
		}
	}
	return append(all, option.String())
}

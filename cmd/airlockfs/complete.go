package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completeMountpoints offers the mounts there are, and leaves paths below them to the shell.
func completeMountpoints(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	mounts, _ := readMounts() // a shell that completes has no use for an error
	var points []string
	for _, m := range mounts {
		if m.kind == filesystem && strings.HasPrefix(m.point, word) {
			points = append(points, m.point)
		}
	}
	if len(points) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return points, cobra.ShellCompDirectiveNoFileComp
}

// listWords are words for flags that may be repeated, as far as there are any that a shell takes as they are.
var listWords = map[string][]string{"require": features, "no-temp": {"all"}}

// completeStarts offers words that something is to be written behind.
func completeStarts(words ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// completeFolders leaves folders to the shell.
func completeFolders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeOptions offers what may be written after -o, behind the last comma.
func completeOptions(flags *pflag.FlagSet) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		before := word[:strings.LastIndexByte(word, ',')+1]
		options := slices.Concat([]string{"ro", "rw"}, kernelOptions, kernelPrefixes)
		flags.VisitAll(func(f *pflag.Flag) {
			if f.NoOptDefVal != "" {
				options = append(options, f.Name)
			} else {
				options = append(options, f.Name+"=")
			}
		})
		for i := range options {
			options[i] = before + options[i]
		}
		return options, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// fileFlags take the name of a file.
var fileFlags = []string{"config", "log"}

// completeNoFiles keeps the shell from offering names of files to flags that take something else.
func completeNoFiles(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if _, has := cmd.GetFlagCompletionFunc(f.Name); !has && f.NoOptDefVal == "" && !slices.Contains(fileFlags, f.Name) {
				_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions) // each flag once
			}
		})
	}
}

// plainUsages takes the quotes off that mark a flag's value in help texts: shells show usages as they are.
func plainUsages(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") })
	}
}

// completeFlags offers the words that flags of a command take.
func completeFlags(cmd *cobra.Command, flags *pflag.FlagSet) {
	if flags.Lookup("observer") != nil {
		_ = cmd.RegisterFlagCompletionFunc("observer", completeStarts("uid=", "exe=", "name="))
	}
	flags.VisitAll(func(f *pflag.Flag) {
		var words []string
		switch value := f.Value.(type) {
		case *choice:
			words = value.allowed
		case *duration:
			words = []string{"90s", "10m", "1h", "24h", "14d"}
		case *byteSize:
			words = []string{"500M", "10G", "1T"}
		case *list:
			words = listWords[f.Name]
		default:
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // each flag once
	})
	if cmd.Flags().Lookup("config") != nil {
		_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	}
}

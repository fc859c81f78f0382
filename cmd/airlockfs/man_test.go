package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rendered is a page as man(1) shows it, on one line.
func rendered(t *testing.T, page string) string {
	cmd := exec.Command("groff", "-man", "-ww", "-Tutf8", "-P-cbou", "-rLL=2000n")
	cmd.Stdin = strings.NewReader(page)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, errs.String())
	require.Empty(t, errs.String(), "groff has nothing to say against it")
	return oneLine(string(out))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestEveryCommandAndFlagIsInTheManual(t *testing.T) {
	root := newRootCommand()
	pages := manPages(root)
	main := rendered(t, pages["airlockfs.8"])
	for _, m := range exitMeanings {
		assert.Contains(t, main, oneLine(m.meaning))
	}
	assert.Contains(t, main, "airlockfs COMMAND [flags]")
	assert.Contains(t, main, "--version")
	assert.NotContains(t, rendered(t, pages["airlockfs-version.8"]), "could not be mounted", "it has the codes that it can give")
	assert.Contains(t, rendered(t, pages["airlockfs-umount.8"]), "busy: the mount is in use")
	for _, cmd := range append(manCommands(root), root) {
		text := rendered(t, pages[manName(cmd)+".8"])
		require.NotEmpty(t, cmd.Short, cmd.Name())
		assert.Contains(t, main, oneLine(cmd.Short), "the main page lists it")
		for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "FILES", "SEE ALSO"} {
			assert.Contains(t, text, section, cmd.Name())
		}
		assert.Contains(t, text, oneLine(strings.TrimSuffix(cmd.Long, exitCodeHelp())), cmd.Name())
		assert.Contains(t, text, oneLine(cmd.Example), cmd.Name())
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) { assertFlag(t, cmd, f, text) })
	}
}

// A word in the table of exit codes that is no command gives its code to none.
func TestExitCodesAreOfCommands(t *testing.T) {
	var names []string
	for _, cmd := range newRootCommand().Commands() {
		names = append(names, cmd.Name())
	}
	for _, m := range exitMeanings {
		assert.Subset(t, names, strings.Fields(m.commands), m.code)
	}
}

func assertFlag(t *testing.T, cmd *cobra.Command, f *pflag.Flag, text string) {
	value, usage := pflag.UnquoteUsage(f)
	assert.NotEmpty(t, usage, "%s --%s says what it does", cmd.Name(), f.Name)
	assert.Contains(t, text, oneLine("--"+f.Name+" "+value+" "+usage), cmd.Name())
}

func TestRoffText(t *testing.T) {
	page := rendered(t, ".TH X 8\n.SH NAME\n"+func() string {
		r := &roff{}
		r.text(".dot \\n --x 'q' `b` ^~ …\n\n  **/.git/**\n  'x\nlast")
		return r.String()
	}())
	assert.Contains(t, page, ".dot \\n --x 'q' `b` ^~ … **/.git/** 'x last")
}

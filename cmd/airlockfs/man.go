package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newManCommand writes the manual pages. It is for `make man` and who packages the program.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "write the manual pages into a folder",
		Hidden: true,
		Args:   takes(1, "airlockfs man FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			for name, text := range manPages(cmd.Root()) {
				if err := os.WriteFile(filepath.Join(args[0], name), []byte(text), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// manPages are the pages of all commands by file name: made of what --help says, so that the two agree.
func manPages(root *cobra.Command) map[string]string {
	pages := map[string]string{"airlockfs.8": manPage(root), "mount.airlockfs.8": ".so man8/airlockfs-mount.8\n"}
	for _, cmd := range manCommands(root) {
		pages[manName(cmd)+".8"] = manPage(cmd)
	}
	return pages
}

// manCommands are those that have a page of their own.
func manCommands(root *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(root.Commands()), func(c *cobra.Command) bool {
		return c.Hidden || c.Name() == "help"
	})
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manFiles are worth to know of beside the commands.
var manFiles = [][2]string{
	{"MOUNT/.airlockfs/status", "what is not public, as JSON, for the user who opens it. Beside it: locks, mount, requests, events, and events@N, " +
		"the events after number N. The folder is in no listing"},
	{"BACKING/.airlockfs/", "what is not public, with its bytes. It is for airlockfs alone: docs/format.md says what is in it"},
	{"/sbin/mount.airlockfs", "a link to this program, for mount(8) and fstab(5)"},
}

var manEnvironment = [][2]string{
	{"NO_COLOR", "if it is set and not empty, output has colours only with --color=always"},
	{"TERM", "if it is \"dumb\", the same; and pages are not redrawn in place"},
}

// roff is a manual page that is being written (groff_man(7)).
type roff struct{ strings.Builder }

func manPage(cmd *cobra.Command) string {
	r := &roff{}
	fmt.Fprintf(r, ".TH %s 8 \"\" \"airlockfs %s\" \"airlockfs\"\n.nh\n", strings.ToUpper(manName(cmd)), version)
	r.section("NAME", manName(cmd)+" - "+cmd.Short)
	r.section("SYNOPSIS")
	if cmd.HasParent() {
		r.literal(cmd.UseLine())
	} else {
		r.literal("airlockfs COMMAND [flags] [ARG…]\nairlockfs --help | --version")
	}
	r.section("DESCRIPTION")
	r.text(strings.TrimSuffix(cmd.Long, exitCodeHelp()))
	if !cmd.HasParent() {
		r.section("COMMANDS")
		for _, c := range manCommands(cmd) {
			r.item(manName(c)+"(8)", "", c.Short)
		}
	}
	r.section("OPTIONS")
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	cmd.NonInheritedFlags().VisitAll(r.flag)
	if cmd.Example != "" {
		r.section("EXAMPLES")
		r.text(cmd.Example)
	}
	var exits [][2]string
	for _, m := range exitMeanings {
		if m.of(cmd) {
			exits = append(exits, [2]string{m.code, m.meaning})
		}
	}
	r.items("EXIT STATUS", exits)
	r.items("ENVIRONMENT", manEnvironment)
	r.items("FILES", manFiles)
	r.section("SEE ALSO", strings.Join(manSeeAlso(cmd), ", "))
	return r.String()
}

// manSeeAlso are the other pages.
func manSeeAlso(cmd *cobra.Command) []string {
	see := []string{"mount(8)", "fstab(5)", "fusermount3(1)"}
	for _, c := range append(manCommands(cmd.Root()), cmd.Root()) {
		if c != cmd {
			see = append(see, manName(c)+"(8)")
		}
	}
	slices.Sort(see)
	return see
}

func (r *roff) section(name string, lines ...string) {
	fmt.Fprintf(r, ".SH %s\n", name)
	for _, l := range lines {
		r.line(l)
	}
}

func (r *roff) items(section string, items [][2]string) {
	r.section(section)
	for _, i := range items {
		r.item(i[0], "", i[1])
	}
}

// item is a term with what it means. value is what the term takes, if it is a flag.
func (r *roff) item(term, value, meaning string) {
	r.WriteString(".TP\n\\fB" + roffText(term) + "\\fR")
	if value != "" {
		r.WriteString(" \\fI" + roffText(value) + "\\fR")
	}
	r.WriteString("\n")
	r.line(meaning)
}

func (r *roff) flag(f *pflag.Flag) {
	if f.Hidden {
		return
	}
	value, usage := pflag.UnquoteUsage(f)
	term := "--" + f.Name
	if f.Shorthand != "" {
		term = "-" + f.Shorthand + ", " + term
	}
	if !slices.Contains([]string{"", "false", "[]"}, f.DefValue) {
		usage += " (default " + f.DefValue + ")"
	}
	r.item(term, value, usage)
}

// text is prose in paragraphs, and indented lines as they are.
func (r *roff) text(text string) {
	literal := ""
	for _, l := range strings.Split(strings.TrimRight(text, "\n")+"\n", "\n") {
		if strings.HasPrefix(l, "  ") {
			literal += l + "\n"
			continue
		}
		if literal != "" {
			r.literal(strings.TrimSuffix(literal, "\n"))
			literal = ""
		}
		if l == "" {
			r.WriteString(".PP\n")
		} else {
			r.line(l)
		}
	}
}

// literal is lines that are not filled.
func (r *roff) literal(lines string) {
	r.WriteString(".nf\n")
	for l := range strings.SplitSeq(lines, "\n") {
		r.line(l)
	}
	r.WriteString(".fi\n")
}

func (r *roff) line(l string) {
	if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
		r.WriteString(`\&`)
	}
	r.WriteString(roffText(l) + "\n")
}

// roffText escapes what roff would take for its own, and what is not ASCII.
func roffText(s string) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case c == '\\':
			b.WriteString(`\e`)
		case c == '-':
			b.WriteString(`\-`)
		case c == '\'':
			b.WriteString(`\(aq`)
		case c == '^', c == '~', c == '`':
			fmt.Fprintf(&b, `\[u%04X]`, c)
		case c > 126:
			fmt.Fprintf(&b, `\[u%04X]`, c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
)

// seconds is a flag that says how often, in seconds or as a duration.
type seconds time.Duration

func (s *seconds) Type() string   { return "seconds" }
func (s *seconds) String() string { return "" } // the default is not to watch

func (s *seconds) Set(text string) error {
	n, err := strconv.ParseFloat(text, 64)
	d := time.Duration(n * float64(time.Second))
	if err != nil {
		d, err = time.ParseDuration(text)
	}
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is no time: write a number of seconds, such as 5", text)
	}
	*s = seconds(d)
	return nil
}

// among takes the number of seconds from arguments: an option's value that may be left out is else only written with =.
func (s *seconds) among(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		_, err := os.Lstat(arg)
		return err != nil && s.Set(arg) == nil
	})
}

// watch prints the status again and again, until it is interrupted or the mount is gone.
func watch(cmd *cobra.Command, every time.Duration, q statusQuery) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	out := cmd.OutOrStdout()
	s := show.NewScreen(out, q.colour)
	if s.Moves {
		_, _ = io.WriteString(out, "\x1b[?25l\x1b[2J") // without the cursor, on an empty page
		defer func() { _, _ = io.WriteString(out, "\x1b[?25h") }()
	}
	m, err := findMount(q.paths[0])
	if err != nil {
		return err
	}
	f := feed{mount: m}
	for _, err = f.read(); err == nil; _, err = f.wait(ctx, every) {
		if err := q.page(show.NewScreen(out, q.colour)); err != nil {
			return err
		}
		q.again = true
	}
	return unlessInterrupted(err)
}

// page prints the status over the former one, or after it.
func (q statusQuery) page(s show.Screen) error {
	var b bytes.Buffer
	to := s
	to.Out = &b
	if err := q.print(to); err != nil {
		return err
	}
	switch {
	case q.json:
		_, err := b.WriteTo(s.Out)
		return err
	case s.Moves:
		return s.Redraw(time.Now().Format(time.TimeOnly) + "\n\n" + b.String())
	}
	_, err := fmt.Fprintf(s.Out, "%s\n%s\n", time.Now().Format(time.TimeOnly), b.String())
	return err
}

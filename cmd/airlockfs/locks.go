package main

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/fusefs/report"
)

func newLocksCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "locks [MOUNTPOINT]",
		Short: "list the locks, held and waited for",
		Long: `List the locks on files of the mount in the columns of lslocks(8), with their true
owners: lslocks itself shows the daemon. A mode with a * is waited for; BLOCKER is the
process that holds it, then whom that one waits for, and so on. M is 1 where the lock
binds those who do not lock, if its holder may write the file: docs/protocol.md says in
what. An open(2) that waits, for who has locked the file's lock file or has reserved the
file, is listed as OPEN; a lock made by making its name (mkdir x.lock, a pid file) as MARK;
and as RESERVE, who has a file of class serial to himself. Root and the mount's owner see
all, other users what is theirs; a ? stands for another user's process.`,
		Args: orHere(takes(1, "airlockfs locks MOUNTPOINT")),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "for programs: one JSON object")
	cmd.ValidArgsFunction = completeMountpoints
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		args = hereIfNone(args)
		m, err := findMount(args[0])
		if err != nil {
			return err
		}
		l, err := m.locks()
		if err != nil {
			return err
		}
		if asJSON {
			return show.JSON(cmd.OutOrStdout(), l)
		}
		return printLocks(cmd.OutOrStdout(), l.Locks, time.Now(), func(path string) string { return sizeBelow(m.root, path) })
	}
	return cmd
}

func printLocks(out io.Writer, locks []report.Lock, now time.Time, size func(path string) string) error {
	rows := [][]string{{"COMMAND", "PID", "TYPE", "SIZE", "MODE", "M", "START", "END", "PATH", "AGE", "BLOCKER"}}
	for _, l := range locks {
		rows = append(rows, []string{show.Name(l.Program), strconv.Itoa(l.PID), l.Kind, size(l.Path), lockMode(l), binding(l),
			strconv.FormatUint(l.Start, 10), lockEnd(l.End), show.Name(l.Path), show.Age(now.Sub(l.Since)), blockers(l)})
	}
	return show.Rows(out, rows)
}

// binding is lslocks' column for mandatory locks.
func binding(l report.Lock) string {
	if l.Binds {
		return "1"
	}
	return "0"
}

// blockers are the processes that a lock is waited for of, each waiting for the next.
func blockers(l report.Lock) string {
	var all []string
	for _, b := range l.BlockedBy {
		pid := strconv.Itoa(b.PID)
		if b.PID == 0 {
			pid = "?"
		}
		all = append(all, pid)
	}
	return strings.Join(all, " ← ")
}

func lockMode(l report.Lock) string {
	if l.Blocked {
		return l.Mode + "*"
	}
	return l.Mode
}

func lockEnd(end uint64) string {
	if end >= math.MaxInt64 {
		return "EOF"
	}
	return strconv.FormatUint(end, 10)
}

// sizeBelow is the size of what the caller sees under the name.
func sizeBelow(root, path string) string {
	info, err := os.Lstat(filepath.Join(root, path))
	if err != nil {
		return "-"
	}
	return strconv.FormatInt(info.Size(), 10)
}

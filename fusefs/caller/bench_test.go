package caller

import (
	"os"
	"os/exec"
	"testing"
)

func child(b *testing.B) int {
	cmd := exec.Command("sh", "-c", "read _")
	in, err := cmd.StdinPipe()
	must(err)
	must(cmd.Start())
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func BenchmarkWhoCached(b *testing.B) {
	table := newTable(b, Options{})
	pid := child(b)
	for b.Loop() {
		who(table, pid)
	}
}

func BenchmarkOpenerCached(b *testing.B) {
	table := newTable(b, Options{})
	pid := child(b)
	for b.Loop() {
		opener(table, pid)
	}
}

// A new process whose parent is known.
func BenchmarkWhoFirstSight(b *testing.B) {
	table := newTable(b, Options{})
	pid := child(b)
	for b.Loop() {
		p := who(table, pid)
		table.mu.Lock()
		table.forgetLocked(table.byID[p.ID])
		table.mu.Unlock()
	}
}

// A new process none of whose ancestors is known.
func BenchmarkWhoFirstSightOfAll(b *testing.B) {
	table := newTable(b, Options{})
	pid := child(b)
	for b.Loop() {
		who(table, pid)
		table.mu.Lock()
		for table.recent.Len() > 0 {
			table.forgetLocked(table.recent.Back().Value.(*entry))
		}
		table.mu.Unlock()
	}
}

func BenchmarkClosing(b *testing.B) {
	table := newTable(b, Options{})
	pid := uint32(os.Getpid())
	for b.Loop() {
		table.Closing(pid, 0, 0)
	}
}

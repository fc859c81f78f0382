package fusefs

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// baseOf has a job know a version of a file of its own.
func (d *desk) baseOf(name string, job protocol.Job, uid uint32) protocol.NameKey {
	key := protocol.NameKey{Folder: rootID, Name: name}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.setBaseLocked(protocol.Rebase{Name: key, Job: job, Base: protocol.Base{Own: true}}, uid)
	return key
}

func (d *desk) knows(key protocol.NameKey, job protocol.Job) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.findLocked(key).Bases[job]
	return ok
}

// What a job knew is forgotten with its last process, and with its names.
func TestWhatJobsKnewIsForgottenWithThem(t *testing.T) {
	d, _ := testDesk(t, "**=shared")
	child := exec.Command("cat")
	in, err := child.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	it := d.Callers.Who(uint32(child.Process.Pid), 0, 0)
	me := d.Callers.Who(uint32(os.Getpid()), 0, 0)
	session, mine := protocol.Job{Session: it.ID}, d.jobLocked(me)
	a, b := d.baseOf("a", session, 0), d.baseOf("b", mine, 0)
	require.True(t, d.knows(a, session) && d.knows(b, mine))
	require.NoError(t, in.Close())
	require.NoError(t, child.Wait())
	for n := range fewBases {
		d.baseOf(fmt.Sprint(n), mine, 0)
	}
	require.False(t, d.knows(a, session), "its process has ended")
	require.True(t, d.knows(b, mine))
	d.forgetBasesLocked(d.table.byID[rootID])
	require.False(t, d.knows(b, mine))
	require.Equal(t, bases{}, d.bases)
}

// Of each user so many are remembered, those that were used last.
func TestOfEachUserSoManyBasesAreRemembered(t *testing.T) {
	d, _ := testDesk(t, "**=shared")
	job := d.jobLocked(d.Callers.Who(uint32(os.Getpid()), 0, 0))
	first, second, others := d.baseOf("first", job, 0), d.baseOf("second", job, 0), d.baseOf("other's", job, 1)
	for n := range mostBases - 2 {
		d.baseOf(fmt.Sprint(n), job, 0)
	}
	d.baseOf("first", job, 0)
	d.baseOf("one more", job, 0)
	require.True(t, d.knows(first, job), "it was used again")
	require.False(t, d.knows(second, job))
	require.True(t, d.knows(others, job))
	require.Equal(t, mostBases+1, len(d.bases.of))
}

// The look that belongs to a call is none: who knew nothing is let through, whatever came in that moment.
func TestTheLookOfACallIsNoLook(t *testing.T) {
	f := &protocol.File{Match: protocol.Match{Vector: protocol.Vector{Class: protocol.ClassShared}}}
	job := protocol.Job{Group: 1}
	look := func() {
		if b, news := f.Look(job); news {
			f.Rebase(protocol.Rebase{Job: job, Base: b})
		}
	}
	look()
	f.Public = &protocol.Item{ID: 1, State: protocol.Public, Match: f.Match}
	require.False(t, f.Stale(job))
	look()
	require.True(t, f.Stale(job), "it has seen that there is one now")
	f.Public, f.Bases = nil, nil
	look()
	look()
	f.Public = &protocol.Item{ID: 2, State: protocol.Public, Match: f.Match}
	require.True(t, f.Stale(job), "it has looked before the call, too")
}

// A version that a job knows is the same one for as long, whatever the kernel and the desk forget of it.
func TestAKnownVersionKeepsItsNumber(t *testing.T) {
	d, _ := testDesk(t, "**=shared")
	w := newWorker(t, d)
	w.file("f")
	known := w.node("f")
	w.close(w.open("f", 0))
	d.forget(known, 10)
	for n := range 3 * fewWhole {
		w.file(fmt.Sprint(n))
		d.forget(w.node(fmt.Sprint(n)), 10)
	}
	require.Equal(t, known, w.node("f"))
	w.close(w.open("f", unix.O_TRUNC))
}

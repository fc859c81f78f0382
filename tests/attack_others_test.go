package tests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What alice left behind is hers: bob neither finds, continues, delivers nor discards it.
func TestAttack_ReclaimingWhatOthersLeft(t *testing.T) {
	m := mount(t)
	m.Must(folders)
	r := m.RunAs(alice, `umask 0; cd in; echo parked > parked.tmp; (echo broken; kill -9 $BASHPID) > broken; (echo half; kill -9 $BASHPID) > big.part; (echo half; kill -9 $BASHPID) > gone.tmp; true`)
	require.Zero(t, r.Code, r.Out)
	states := func() string {
		return strings.Join([]string{m.State("in/parked.tmp"), m.State("in/broken"), m.State("in/big.part"), m.State("in/gone.tmp")}, " ")
	}
	require.Equal(t, "parked quarantined abandoned abandoned", states())
	for _, name := range []string{"parked.tmp", "broken", "big.part", "gone.tmp"} {
		r := m.RunAs(bob, `cd in; cat %[1]s; stat %[1]s; mv %[1]s mine; ln %[1]s mine; rm %[1]s
			for c in release requeue publish discard; do %[2]s $c $PWD/%[1]s; done; ls -A; exec 3>>%[1]s; cat %[1]s; exec 3>&-; rm -f %[1]s`, name, binary)
		for _, bytes := range []string{"parked\n", "broken\n", "half\n"} {
			require.NotContains(t, strings.ReplaceAll(r.Out, name, ""), bytes)
		}
		require.Equal(t, "parked quarantined abandoned abandoned", states(), name)
	}
	r = m.RunAs(alice, `cd in; echo more >> big.part; mv big.part big; mv parked.tmp parked; cat big parked; rm big parked`)
	require.Equal(t, result{Out: "half\nmore\nparked\n"}, r)
}

// A lock on a file that bob may only read keeps its owner from nothing but the lock.
func TestAttack_LockingWhatOneMayOnlyRead(t *testing.T) {
	m := mount(t, "--rule", "adm/plain/**=plain", "--rule", "adm/shared/**=shared")
	m.Must(folders + `; cd adm; mkdir plain shared queue; for d in plain shared queue; do for f in f g h x.lock; do echo old > $d/$f; done; done`)
	marks := scratch(t)
	m.Must(`chmod 777 %s`, marks)
	b := m.StartAs(bob, pythonProgram(`
		kept = []
		for folder in "plain", "shared", "queue":
			for name in "f", "g", "h", "x.lock":
				f = open("adm/" + folder + "/" + name)
				kept.append(f)
				fcntl.flock(f, fcntl.LOCK_EX)
				fcntl.lockf(f, fcntl.LOCK_SH)
		open(sys.argv[1] + "/locked", "w").close()
		sys.stdin.read()`)+" %s", marks)
	m.untilMarked(marks, 1)
	for _, folder := range []string{"plain", "shared", "queue"} {
		require.Equal(t, "new", m.Must(`cd adm/%s; for f in f x.lock; do timeout 5 bash -c "echo new > $f; echo more >> $f; truncate -s 4 $f"; done
			timeout 5 mv g moved; timeout 5 rm h; echo new > t.tmp; timeout 5 mv t.tmp f; echo new > t.tmp; timeout 5 mv t.tmp x.lock; timeout 5 cat f`, folder), folder)
	}
	b.Kill()
}

// Hidden files are their owner's from the first byte, so the disk's quotas count them; and the caller's own limits hold.
func TestAttack_HiddenBytesAreTheirOwners(t *testing.T) {
	m := mount(t)
	m.Must(folders + `; echo 12345678 > in/old; chmod 666 in/old; chown 65533 in/old`)
	b := m.StartAs(bob, `cd in; exec 3> item 4> f.tmp; echo x >&3; echo x >&4; echo x > shut.tmp; (echo x; kill -9 $BASHPID) > broken; exec 5>> old; echo x >&5; : > done; read`)
	m.Until("bob has written", func() bool { return m.Run(`test -e in/done`).Code == 0 })
	const owners = `find %s/.airlockfs -type f -path '*/%s' -printf '%%U\n'`
	for _, name := range []string{"item", "f.tmp", "shut.tmp", "broken"} {
		require.Equal(t, decimal(bob), m.Must(owners, m.Backing, name), name)
	}
	require.Equal(t, decimal(alice), m.Must(owners, m.Backing, "old"), "as if it were written in place")
	b.Kill()
	r := m.RunAs(bob, `ulimit -f 10; head -c 20000 /dev/zero > in/big`)
	require.NotZero(t, r.Code)
	require.NotContains(t, m.List("in"), "big")
}

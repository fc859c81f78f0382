package fusefs

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

const aDay = 24 * time.Hour

// set is a time as time.Now would give it after somebody had set the machine's clock: the time of day is another one, what
// has passed is the same. Package time has no way to say that; the first word of a Time holds the seconds from bit 30 on.
func set(t time.Time, by time.Duration) time.Time {
	word := (*uint64)(unsafe.Pointer(&t))
	*word += uint64(by/time.Second) << 30
	return t
}

func TestSetIsWhatSettingTheClockDoes(t *testing.T) {
	now := time.Now()
	for _, by := range []time.Duration{aDay, -aDay} {
		require.Zero(t, set(now, by).Sub(now))
		require.Equal(t, now.Round(0).Add(by).UnixNano(), set(now, by).UnixNano())
	}
}

// clockwork is a desk on which everything that ends by time is under way. Its clock can be set.
type clockwork struct {
	*desk
	t   *testing.T
	dir string
	me  *protocol.Party

	real, begun time.Time    // when it began, by the machine's clock and by that of the test, which has no day
	by          atomic.Int64 // nanoseconds by which the clock has been set; timers read it, too
}

// now is what time.Now would say.
func (x *clockwork) now() time.Time {
	return set(x.real.Add(time.Since(x.begun)), time.Duration(x.by.Load()))
}

// clockConfig: how long each thing takes.
func clockConfig(c *Config) {
	c.Linger, c.KeepReplaced, c.Abandoned, c.Quarantine = time.Hour, 3*time.Hour, 4*time.Hour, protocol.Bounds{Keep: 5 * time.Hour}
}

// onClockwork plays something on a new one. Only what a desk does by itself knows the time that the test plays with: who
// asks is known by processes, outside.
func onClockwork(t *testing.T, play func(x *clockwork)) {
	t.Helper()
	d, dir := testDesk(t, "quiet/**=queue,publish=quiet=10m")
	real := time.Now()
	synctest.Test(t, func(t *testing.T) {
		x := &clockwork{t: t, desk: d, dir: dir, real: real, begun: time.Now()}
		x.again()
		play(x)
		x.stop()
	})
}

// again starts the desk anew, as a restart does.
func (x *clockwork) again() {
	config := x.desk.Config
	clockConfig(&config)
	config.Now = x.now
	x.desk = newDesk(config)
	x.mu.Lock()
	defer x.mu.Unlock()
	require.NoError(x.t, x.recoverLocked())
	x.me = x.Callers.Opener(uint32(os.Getpid()), 0, 0)
}

// write makes a file and closes it. The kernel knows it then.
func (x *clockwork) write(folder, name string) *node {
	x.t.Helper()
	h := x.create(folder, name)
	h.node.lookups++
	x.desk.release(h)
	return h.node
}

func (x *clockwork) create(folder, name string) *handle {
	x.t.Helper()
	c := x.call(protocol.OpCreate, x.me)
	c.mode = 0o644
	h, err := x.desk.create(x.me, 1, x.folder(folder), name, unix.O_WRONLY|unix.O_TRUNC, c)
	require.NoError(x.t, err)
	_, err = x.desk.write(h, x.me, []byte("text"), 0, false)
	require.NoError(x.t, err)
	require.NoError(x.t, x.flush(h, nil, protocol.Verdict{}, 0))
	return h
}

func (x *clockwork) folder(name string) uint64 {
	if name == "" {
		return rootID
	}
	_ = os.Mkdir(filepath.Join(x.dir, name), 0o755)
	f, err := x.lookup(x.me, 1, rootID, name)
	require.NoError(x.t, err)
	return f.node.id
}

// ended: the item's owner has, as far as the item is concerned.
func (x *clockwork) ended(n *node, v protocol.VerdictKind) {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.call(protocol.OpEnded, nil)
	c.Verdict.Kind = v
	require.NoError(x.t, x.aboutItemLocked(n, c))
}

// begin has one of each begin now.
func (x *clockwork) begin() {
	x.t.Helper()
	x.write("quiet", "quiet")
	n := x.write("", "claimed")
	h, err := x.open(x.me, 1, n.id, unix.O_RDONLY)
	require.NoError(x.t, err)
	x.desk.release(h)
	x.ended(x.write("", "parked.tmp"), protocol.Clean)
	failed := x.create("", "failed")
	require.NoError(x.t, x.flush(failed, x.me, protocol.Verdict{Kind: protocol.Killed}, 0))
	x.desk.release(failed)
	x.write("", "replaced")
	x.write("", "new.tmp")
	require.NoError(x.t, x.renamed("new.tmp", "replaced"))
}

func (x *clockwork) renamed(from, to string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	root := x.table.byID[rootID]
	return x.renameItemLocked(x.me, root, root, from, to, 0)
}

// states are where all items are.
func (x *clockwork) states() map[string]string {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.expireLocked()
	all := map[string]string{}
	for _, n := range x.table.byID {
		if n.kind == itemNode && n.bytes.item.Private() {
			all[n.bytes.item.Name.Name] = n.bytes.item.State.String()
		}
	}
	for _, r := range x.replaced {
		all[r.at.Name] = "replaced"
	}
	return all
}

// clockSchedule says how long after its begin each is over, and what it is until then.
var clockSchedule = []struct {
	name, state string
	after       time.Duration
}{
	{"quiet", "held", 10 * time.Minute}, {"claimed", "claimed", time.Hour}, {"replaced", "replaced", 3 * time.Hour},
	{"parked.tmp", "parked", 4 * time.Hour}, {"failed", "quarantined", 5 * time.Hour},
}

// requireSchedule looks a minute before and after each of them is over: nothing is early, nothing late.
func (x *clockwork) requireSchedule() {
	x.t.Helper()
	begun := time.Now()
	for n, s := range clockSchedule {
		time.Sleep(time.Until(begun.Add(s.after - time.Minute)))
		for _, still := range clockSchedule[n:] {
			require.Equal(x.t, still.state, x.states()[still.name], "%s a minute before %s is over", still.name, s.name)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.NotEqual(x.t, s.state, x.states()[s.name], "%s is over", s.name)
	}
}

// The clock is set when all is under way, or before.
func TestSettingTheClockChangesNothing(t *testing.T) {
	for _, by := range []time.Duration{0, aDay, -aDay} {
		for _, first := range []bool{true, false} {
			onClockwork(t, func(x *clockwork) {
				if first {
					x.by.Store(int64(by))
				}
				x.begin()
				x.by.Store(int64(by))
				x.requireSchedule()
			})
		}
	}
}

// What an earlier mount began goes on as the disk says it; a clock that was set back meanwhile lets nothing wait longer than
// from the beginning, and none that is set later changes anything.
func TestAClockSetBackBetweenMountsDelaysNothingForLong(t *testing.T) {
	for _, by := range []time.Duration{0, -aDay} {
		for _, later := range []time.Duration{0, aDay, -aDay} {
			onClockwork(t, func(x *clockwork) {
				x.begin()
				x.stop()
				x.by.Store(int64(by))
				x.again()
				x.by.Add(int64(later))
				x.requireSchedule()
			})
		}
	}
}

// A claim of the living is in use until its mount ends, whatever the clock says: its owner had it open.
func TestARestartLetsNoClaimLinger(t *testing.T) {
	for _, by := range []time.Duration{0, aDay, -aDay} {
		onClockwork(t, func(x *clockwork) {
			x.begin()
			x.stop()
			x.by.Store(int64(by))
			x.again()
			time.Sleep(59 * time.Minute)
			synctest.Wait()
			require.Equal(x.t, "claimed", x.states()["claimed"])
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			require.Empty(x.t, x.states()["claimed"])
		})
	}
}

// A publisher's minute is a minute.
func TestAPublishersMinute(t *testing.T) {
	for _, by := range []time.Duration{aDay, -aDay} {
		onClockwork(t, func(x *clockwork) {
			n := x.write("", "f")
			x.by.Store(int64(by))
			time.Sleep(59 * time.Second)
			require.True(x.t, x.publishedByMe(n))
			time.Sleep(2 * time.Second)
			require.False(x.t, x.publishedByMe(n))
		})
	}
}

func (x *clockwork) publishedByMe(n *node) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.publishedByLocked(n, x.me)
}

// A lease tells the time of day as it is when it is read.
func TestALeaseIsFreshWhateverTheClock(t *testing.T) {
	for _, by := range []time.Duration{aDay, -aDay} {
		onClockwork(t, func(x *clockwork) {
			x.begin()
			x.by.Store(int64(by))
			time.Sleep(59*time.Minute + 50*time.Second)
			x.mu.Lock()
			defer x.mu.Unlock()
			for _, n := range x.table.byID {
				if n.kind == itemNode && n.bytes.item.State == protocol.Claimed {
					l := x.leaseLocked(n, 0)
					require.Equal(x.t, stamp(x.Now()), l.HeartbeatAt)
					require.Equal(x.t, 10*time.Second, l.ExpiresAt.Sub(l.HeartbeatAt), "then it lingers out")
				}
			}
		})
	}
}

package protocol

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// modelBytes is the size of the model's file. Its last byte stands for everything up to ToEOF.
const modelBytes = 64

// modelAsk is a request in the model's own words. Owners 0-3 are processes and ask with fcntl, 4-7 are open files and
// ask with flock or F_OFD_SETLK. Owners 0 and 4 use handle 0, 1 and 5 handle 1, and so on.
type modelAsk struct {
	owner    int
	flock    bool
	write    bool
	ahead    bool
	from, to int // bytes from…to-1
}

// lockModel is the naive truth: for each table (fcntl, flock), byte and owner, 'r', 'w', or 0.
type lockModel struct {
	held  [2][modelBytes][8]byte
	queue []modelAsk
}

func (a modelAsk) table() int {
	if a.flock {
		return 1
	}
	return 0
}

func (a modelAsk) letter() byte {
	if a.write {
		return 'w'
	}
	return 'r'
}

// excludes tells whether two requests could not both be granted.
func (a modelAsk) excludes(b modelAsk) bool {
	common := false
	for i := range modelBytes {
		common = common || i >= a.from && i < a.to && i >= b.from && i < b.to
	}
	return common && a.owner != b.owner && a.flock == b.flock && (a.write || b.write)
}

// obstructs tells whether what one owner holds is in the way of a request.
func (m *lockModel) obstructs(owner int, a modelAsk) bool {
	for i := a.from; i < a.to; i++ {
		letter := m.held[a.table()][i][owner]
		if owner != a.owner && (letter == 'w' || letter == 'r' && a.write) {
			return true
		}
	}
	return false
}

// possible tells whether a request can be granted, given those that wait before it.
func (m *lockModel) possible(a modelAsk, before []modelAsk) bool {
	for owner := range 8 {
		if m.obstructs(owner, a) {
			return false
		}
	}
	if a.ahead {
		return true
	}
	for _, w := range m.queue {
		if m.obstructs(a.owner, w) {
			return true // the asker is waited for
		}
	}
	for _, w := range before {
		if w.excludes(a) {
			return false
		}
	}
	return true
}

func (m *lockModel) put(a modelAsk, letter byte) {
	for i := a.from; i < a.to; i++ {
		m.held[a.table()][i][a.owner] = letter
	}
}

// granted lets everybody through who can be, in order.
func (m *lockModel) granted() (through []modelAsk) {
	for i := 0; i < len(m.queue); i++ {
		a := m.queue[i]
		if m.possible(a, m.queue[:i]) {
			m.queue = append(append([]modelAsk(nil), m.queue[:i]...), m.queue[i+1:]...)
			m.put(a, a.letter())
			through = append(through, a)
			i = -1
		}
	}
	return through
}

// locks counts the runs of bytes that one owner has in one mode: so many locks there must be.
func (m *lockModel) locks() (n int) {
	for table := range m.held {
		for owner := range 8 {
			last := byte(0)
			for i := range modelBytes {
				letter := m.held[table][i][owner]
				if letter != 0 && letter != last {
					n++
				}
				last = letter
			}
		}
	}
	return n
}

// exclusive fails if a byte that somebody writes is locked by somebody else.
func (m *lockModel) exclusive() error {
	for table := range m.held {
		for i := range modelBytes {
			writers, all := 0, 0
			for _, letter := range m.held[table][i] {
				if letter != 0 {
					all++
				}
				if letter == 'w' {
					writers++
				}
			}
			if writers > 0 && all > 1 {
				return fmt.Errorf("byte %d has %d writers among %d owners", i, writers, all)
			}
		}
	}
	return nil
}

// lockWalk does the same to a lock list and to the model.
type lockWalk struct {
	t     *testing.T
	list  Locks
	model lockModel
	trace []string
}

// real translates a request.
func (a modelAsk) real() Lock {
	k := Lock{Owner: uint64(a.owner) + 1, Handle: uint64(a.owner%4) + 1, Start: uint64(a.from), End: uint64(a.to) - 1}
	switch {
	case a.flock:
		k.Kind = Flock
	case a.owner < 4:
		k.Kind = Posix
	default:
		k.Kind = OFD
	}
	if a.write {
		k.Mode = WriteLock
	}
	if a.to == modelBytes {
		k.End = ToEOF
	}
	k.Ahead = a.ahead
	return k
}

func (w *lockWalk) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

// acquire asks, and waits if it must and may.
func (w *lockWalk) acquire(a modelAsk, wait bool) {
	w.note("acquire %+v wait=%t", a, wait)
	ok := w.model.possible(a, w.model.queue)
	if ok {
		w.model.put(a, a.letter())
	} else if a.flock {
		w.model.put(a, 0)
	}
	_, granted, really := w.list.Acquire(a.real())
	require.Equal(w.t, ok, really, "%v", w.trace)
	w.same(granted)
	if ok || !wait {
		return
	}
	w.model.queue = append(w.model.queue, a)
	_, granted = w.list.Wait(a.real())
	w.same(granted)
}

func (w *lockWalk) release(a modelAsk) {
	w.note("release %+v", a)
	w.model.put(a, 0)
	w.same(w.list.Release(a.real()))
}

func (w *lockWalk) cancel(i int) {
	if len(w.model.queue) == 0 {
		return
	}
	i %= len(w.model.queue)
	w.note("cancel %d", i)
	w.model.queue = append(append([]modelAsk(nil), w.model.queue[:i]...), w.model.queue[i+1:]...)
	w.same(w.list.Cancel(w.list.Waiters()[i]))
}

func (w *lockWalk) closeOwner(owner int) {
	w.note("close owner %d", owner)
	w.model.put(modelAsk{owner: owner, to: modelBytes}, 0)
	w.same(w.list.CloseOwner(uint64(owner) + 1))
}

func (w *lockWalk) closeHandle(handle int) {
	w.note("close handle %d", handle)
	for _, owner := range []int{handle, handle + 4} {
		w.model.put(modelAsk{owner: owner, to: modelBytes}, 0)
		w.model.put(modelAsk{owner: owner, to: modelBytes, flock: true}, 0)
	}
	w.same(w.list.CloseHandle(uint64(handle) + 1))
}

// same compares list and model after a step, and whom it let through.
func (w *lockWalk) same(granted []*Waiter) {
	through := w.model.granted()
	require.Len(w.t, granted, len(through), "%v", w.trace)
	for i, a := range through {
		require.Equal(w.t, a.real(), granted[i].Lock, "%v", w.trace)
	}
	require.NoError(w.t, w.list.check(), "%v", w.trace)
	require.NoError(w.t, w.model.exclusive(), "%v", w.trace)
	require.Len(w.t, w.list.Held(), w.model.locks(), "%v", w.trace)
	require.Equal(w.t, w.model.held, w.painted(), "%v", w.trace)
	require.Len(w.t, w.list.Waiters(), len(w.model.queue), "%v", w.trace)
	for i, waits := range w.list.Waiters() {
		require.Equal(w.t, w.model.queue[i].real(), waits.Lock, "%v", w.trace)
	}
}

// painted spreads the held locks over the model's bytes.
func (w *lockWalk) painted() (bytes [2][modelBytes][8]byte) {
	for _, k := range w.list.Held() {
		table, letter := 0, byte('r')
		if k.Kind == Flock {
			table = 1
		}
		if k.Mode == WriteLock {
			letter = 'w'
		}
		for i := k.Start; i <= k.End && i < modelBytes; i++ {
			bytes[table][i][k.Owner-1] = letter
		}
	}
	return bytes
}

// step reads one step from four bytes.
func (w *lockWalk) step(b []byte) {
	a := modelAsk{owner: int(b[1] & 7), write: b[1]&8 != 0, ahead: b[1]>>4 == 15, from: int(b[2] % modelBytes)}
	a.to = min(a.from+1+int(b[3]%modelBytes), modelBytes)
	if a.flock = a.owner >= 4 && b[1]&16 != 0; a.flock {
		a.from, a.to = 0, modelBytes
	}
	switch b[0] % 20 {
	case 0, 1, 2:
		w.acquire(a, false)
	case 3, 4, 5, 6, 7, 8:
		w.acquire(a, true)
	case 9, 10, 11, 12:
		w.release(a)
	case 13:
		w.cancel(int(b[2]))
	case 14:
		w.closeOwner(a.owner & 3)
	case 15:
		w.closeHandle(a.owner & 3)
	default:
		cache := b[1]>>6 == 3
		w.use(modelUse{process: a.owner & 3, file: int(b[1] >> 4 & 3), write: a.write && !cache, cache: cache, from: a.from, to: a.to})
	}
}

func walkLocks(t *testing.T, steps []byte) {
	w := lockWalk{t: t}
	for ; len(steps) >= 4; steps = steps[4:] {
		w.step(steps)
	}
}

func randomSteps(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	steps := make([]byte, 4*n)
	for i := range steps {
		steps[i] = byte(r.Uint32())
	}
	return steps
}

func TestLockWalk(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i := range uint64(40) {
		walkLocks(t, randomSteps(seed+i, 200))
	}
}

func FuzzLockWalk(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(randomSteps(seed, 40))
	}
	f.Fuzz(func(t *testing.T, steps []byte) {
		walkLocks(t, steps[:min(len(steps), 4*200)])
	})
}

package actor

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/tests/torture/journal"
	"github.com/airlockfs/airlockfs/tests/torture/parcel"
)

// Setting is what an actor is told.
type Setting struct {
	ID   string
	Kind string
	Seed uint64
	Life time.Duration
	Root string // the mount
	Side string // a folder outside of it, for everybody
	Logs string
	Self string // this program
	Bin  string // airlockfs; "": there is none
}

// Actor is one that runs.
type Actor struct {
	Setting
	rand   *rand.Rand
	say    *journal.Journal
	until  time.Time
	serial int
}

// kinds are the actors that are Go code.
var kinds = map[string]func(*Actor) int{
	"maker": maker, "breaker": breaker, "editor": editor, "taker": taker, "linker": linker,
	"locker": locker, "mover": mover, "watcher": watcher, "operator": operator,
}

// Run is an actor's whole life; it gives its exit status.
func Run(s Setting) (int, error) {
	act, known := kinds[s.Kind]
	if !known {
		return 0, fmt.Errorf("no actor is called %q", s.Kind)
	}
	j, err := journal.Open(s.Logs, s.ID)
	if err != nil {
		return 0, err
	}
	a := &Actor{Setting: s, say: j, until: time.Now().Add(s.Life), rand: rand.New(rand.NewPCG(s.Seed, 1))}
	return act(a), j.Close()
}

func (a *Actor) alive() bool { return time.Now().Before(a.until) }

// one in n.
func (a *Actor) one(n int) bool { return a.rand.IntN(n) == 0 }

// pause lets others work, at most so long.
func (a *Actor) pause(most time.Duration) {
	_, _ = unix.Poll(nil, int(time.Duration(a.rand.Int64N(int64(most)+1)).Milliseconds()))
}

// next names the actor's next parcel. The letter says how its file is named: u after it and only once, else otherwise.
func (a *Actor) next(letter string) string {
	a.serial++
	return letter + "-" + a.ID + "-" + strconv.Itoa(a.serial)
}

// bytes are a parcel of a name, mostly small.
func (a *Actor) bytes(name string) []byte {
	size := a.rand.IntN(3000)
	if a.one(8) {
		size = a.rand.IntN(150_000)
	}
	return parcel.Make(name, size)
}

// in makes calls in a folder of the mount. It keeps nothing open, so that the mount can be unmounted.
func (a *Actor) in(folder string, do func(dir int)) bool {
	dir, err := unix.Open(path.Join(a.Root, folder), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		a.pause(20 * time.Millisecond) // there is no mount now
		return false
	}
	do(dir)
	_ = unix.Close(dir)
	return true
}

// try makes a call and says how it ended.
func (a *Actor) try(call func() error) error {
	err := call()
	a.outcome(err)
	return err
}

// outcome writes down how a step ended. A daemon that ended may have done it before.
func (a *Actor) outcome(err error) {
	switch err {
	case nil:
		a.say.Say("ok")
	case unix.ENOENT:
		a.say.Say("miss")
	case unix.ENOTCONN, unix.ECONNABORTED, unix.EINTR:
		a.say.Say("unsure", name(err))
	default:
		a.say.Say("no", name(err))
	}
}

func name(err error) string {
	if errno, is := err.(unix.Errno); is {
		return unix.ErrnoName(errno)
	}
	return "error"
}

// list is what the actor sees in a folder, in an order of its own.
func (a *Actor) list(dir int) []string {
	names, _ := listDir(dir)
	a.rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

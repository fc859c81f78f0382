package actor

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/tests/torture/journal"
)

// ending is how a child of the breaker ends that writes a file.
type ending struct {
	name   string
	folder string
	share  int  // in percent, of the bytes it writes before
	close  bool // it closes the file before it ends
	temp   bool // under a temp name
	status int  // with which it exits; or
	signal syscall.Signal
}

var endings = []ending{
	{name: "exits with the file open", folder: "q/u", share: 100},
	{name: "fails with the whole file open", folder: "q/u", share: 100, status: 3},
	{name: "fails half-way", folder: "q/u", share: 50, status: 3},
	{name: "is killed half-way", folder: "q/u", share: 50, signal: unix.SIGKILL},
	{name: "is killed with the whole file open", folder: "q/u", share: 100, signal: unix.SIGKILL},
	{name: "is ended half-way", folder: "q/u", share: 50, signal: unix.SIGTERM},
	{name: "is killed with a temp file", folder: "q/u", share: 100, temp: true, signal: unix.SIGKILL},
	{name: "closes and exits, publish=exit", folder: "q/exit", share: 100, close: true},
	{name: "closes and fails, publish=exit", folder: "q/exit", share: 100, close: true, status: 3},
	{name: "closes and is killed, publish=exit", folder: "q/exit", share: 100, close: true, signal: unix.SIGKILL},
}

func (e ending) clean() bool { return e.status == 0 && e.signal == 0 }

// breaker has children that write, and end in some way with the file open, or before their exit says that it is good.
func breaker(a *Actor) int {
	for a.alive() {
		if a.in("q/u", func(int) {}) {
			a.breakOne()
		}
		a.pause(40 * time.Millisecond)
	}
	return 0
}

// breakOne waits for the child, and writes down for it what came of its publication: it can't itself.
func (a *Actor) breakOne() {
	n := a.rand.IntN(len(endings))
	parcel := a.next("u")
	if e := endings[n]; !e.clean() {
		a.say.Say("doomed", parcel, "its writer "+e.name)
	}
	child := a.ID + "." + strconv.Itoa(a.serial)
	cmd := exec.Command(a.Self, "writer", strconv.Itoa(n), child, parcel, a.Root, a.Logs)
	cmd.Stderr = os.Stderr
	err := cmd.Run()
	if !endings[n].clean() {
		return
	}
	j, e := journal.Open(a.Logs, child)
	if e != nil {
		panic(e)
	}
	if err == nil {
		j.Say("ok")
	} else {
		j.Say("unsure", err.Error())
	}
	_ = j.Close()
}

// Writer is the breaker's child: it ends as it is told. Status 4: it could not write.
func Writer(args []string) int {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return 4
	}
	e, parcel := endings[n], args[2]
	j, err := journal.Open(args[4], args[1])
	if err != nil {
		return 4
	}
	a := &Actor{Setting: Setting{ID: args[1], Root: args[3]}, say: j, rand: rand.New(rand.NewPCG(1, 1))}
	file := parcel + ".dat"
	if e.temp {
		file += ".tmp"
	}
	status := 4
	a.in(e.folder, func(dir int) { status = e.write(a, dir, file, parcel) })
	return status
}

func (e ending) write(a *Actor, dir int, file, name string) int {
	b := sized(name)
	fd, err := openAt(dir, file, fresh)
	if err != nil || writeAll(fd, b[:len(b)*e.share/100]) != nil {
		return 4
	}
	if e.close && unix.Close(fd) != nil {
		return 4
	}
	if e.clean() {
		a.say.Say("publish", e.folder+"/"+file, name)
	}
	if e.signal != 0 {
		die(e.signal)
	}
	return e.status
}

package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOrderlyServer(t *testing.T) {
	for program, want := range map[string]string{"smbd": "smbd", "smbd[192.0.2.1]": "smbd", "vsftpd": "vsftpd", "proftpd": "proftpd",
		"sshd": "", "smbd-notifyd": "", "smbdx": "", "cat": "", "": "", "[": ""} {
		name, ok := OrderlyServer(program)
		assert.Equal(t, want != "", ok, program)
		if ok {
			assert.Equal(t, want, name)
		}
	}
}

func TestServesSessions(t *testing.T) {
	for program, want := range map[string]bool{"smbd": true, "vsftpd": true, "sshd": true, "sshd-session": true, "smbd-notifyd": false, "cat": false} {
		assert.Equal(t, want, ServesSessions(program), program)
	}
}

func TestOnItsWord(t *testing.T) {
	staged := Item{State: Staged}
	with := func(change func(*Item)) *Item {
		i := staged
		change(&i)
		return &i
	}
	public, held := with(func(i *Item) { i.State = Public }), func(b Barrier) *Item {
		return with(func(i *Item) { i.State, i.Barrier = Held, b })
	}
	for _, c := range []struct {
		name     string
		was, now *Item
		want     bool
	}{
		{"published by its close", &staged, public, true},
		{"waits for the server's own exit", &staged, held(BarrierExit), true},
		{"waits for quiet", &staged, held(BarrierQuiet), true},
		{"waits for a rename", &staged, held(BarrierRename), false},
		{"renamed when it was complete", held(BarrierRename), public, false},
		{"a temp name", with(func(i *Item) { i.Match.Temp = TempByName }), public, false},
		{"nothing in it", with(func(i *Item) { i.Empty = true }), public, false},
		{"changed within a claim", with(func(i *Item) { i.InClaim = true }), public, false},
		{"quarantined", &staged, with(func(i *Item) { i.State = Quarantined }), false},
		{"written in place from now on", &staged, with(func(i *Item) { i.State, i.Match.Class = Public, ClassPlain }), false},
	} {
		assert.Equal(t, c.want, OnItsWord(c.was, c.now), c.name)
	}
}

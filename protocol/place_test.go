package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPlaceDir(t *testing.T) {
	owner := Process{Host: "0a1b2c3d", Boot: "deadbeef", PID: 4711, Start: 18446744073709551615, UID: 4294967294, Session: 4700}
	for _, c := range []struct {
		name  string
		place Place
		dir   string
	}{
		{"owned", Place{State: Staged, Folder: "3k", Owner: owner}, "3k~0~0a1b2c3d.deadbeef.4711.18446744073709551615.4294967294.4700"},
		{"of this host", Place{State: Claimed, Folder: "0", Owner: Process{PID: 1}}, "0~0~0.0.1.0.0.0"},
		{"nobody's, of a user", Place{State: Parked, Folder: "z", Owner: Process{UID: 1000}}, "z~0~0.0.0.0.1000.0"},
		{"the same once more", Place{State: Abandoned, Folder: "z", Slot: 12}, "z~12~0.0.0.0.0.0"},
		{"held", Place{State: Held, Barrier: BarrierQuiet, Folder: "1", Owner: owner},
			"1~0~0a1b2c3d.deadbeef.4711.18446744073709551615.4294967294.4700~quiet"},
		{"with heirs", Place{State: Claimed, Folder: "1", Owner: Process{PID: 9}, Heirs: [3]Heir{{PID: 8, Start: 80}, {PID: 7, Start: 70}}},
			"1~0~0.0.9.0.0.0.8.80.7.70"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.dir, c.place.Dir())
			back, err := ParsePlace(c.place.State.Area(), c.dir)
			require.NoError(t, err)
			assert.Equal(t, c.place, back)
		})
	}
}

// TestPlaceOfEveryState: every private state has an area, and every barrier is read back.
func TestPlaceOfEveryState(t *testing.T) {
	for s := range State(len(stateNames)) {
		i := Item{State: s}
		assert.Equal(t, i.Private(), s.Area() != "", "%s", s)
		if s.Area() == "" {
			continue
		}
		assert.Contains(t, Areas(), s.Area())
		p, err := ParsePlace(s.Area(), Place{Folder: "a"}.Dir())
		require.NoError(t, err)
		assert.Equal(t, s, p.State)
	}
	for b := BarrierClose; int(b) < len(barrierNames); b++ {
		want := Place{State: Held, Barrier: b, Folder: "a"}
		p, err := ParsePlace("held", want.Dir())
		require.NoError(t, err)
		assert.Equal(t, want, p, "%s", b)
	}
}

func TestParsePlaceRefuses(t *testing.T) {
	for _, c := range [][2]string{
		{"staging", ""}, {"staging", "a"}, {"staging", "a~0"}, {"staging", "a~0~"}, {"staging", "a~0~0.0.0.0.0"},
		{"staging", "~0~0.0.0.0.0.0"}, {"staging", "a~~0.0.0.0.0.0"}, {"staging", "a~00~0.0.0.0.0.0"}, {"staging", "a~x~0.0.0.0.0.0"},
		{"staging", "a~0~.0.0.0.0.0"}, {"staging", "a~0~0.0.x.0.0.0"}, {"staging", "a~0~0.0.1.-1.0.0"},
		{"claimed", "a~0~0.0.1.1.0.0.5"}, {"claimed", "a~0~0.0.1.1.0.0.0.0"}, {"claimed", "a~0~0.0.1.1.0.0.4.4.3.3.2.2.1.1"},
		{"staging", "a~0~0.0.0.0.4294967296.0"}, {"held", "a~0~0.0.0.0.0.0~"}, {"held", "a~0~0.0.0.0.0.0~loud"},
		{"held", "a~0~0.0.0.0.0.0~quiet~quiet"}, {"", "a~0~0.0.0.0.0.0"}, {"replaced", "a~0~0.0.0.0.0.0"},
	} {
		_, err := ParsePlace(c[0], c[1])
		assert.Error(t, err, "%q in %q", c[1], c[0])
	}
}

func FuzzParsePlace(f *testing.F) {
	for _, dir := range []string{"a~0~0.0.0.0.0.0", "3k~7~0a1b2c3d.deadbeef.4711.99.1000.4700~quiet", "~~", "a~-1~0.0.0.0.0.0", "a~0~0.0.1.2.3"} {
		for _, area := range []string{"held", "claimed", "no area"} {
			f.Add(area, dir)
		}
	}
	f.Fuzz(func(t *testing.T, area, dir string) {
		p, err := ParsePlace(area, dir)
		if err != nil {
			return
		}
		assert.Equal(t, area, p.State.Area())
		assert.Equal(t, dir, p.Dir(), "it accepts exactly what Dir writes")
		assert.NotEmpty(t, p.Folder)
	})
}

func TestNoteSaysOnlyWhatThereIsToSay(t *testing.T) {
	assert.Nil(t, Note{}.Encode())
	assert.Equal(t, `{"closed":true}`, string(Note{Closed: true}.Encode()))
	n, err := DecodeNote(nil)
	require.NoError(t, err)
	assert.Equal(t, Note{}, n)
}

func TestDecodeNoteRefuses(t *testing.T) {
	for _, text := range []string{"{", "[]", `{"attempts":"many"}`, `{"until":"soon"}`, "\x00"} {
		n, err := DecodeNote([]byte(text))
		assert.Error(t, err, "%q", text)
		assert.Equal(t, Note{}, n, "%q", text)
	}
}

func FuzzDecodeNote(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte(`{`))
	f.Add([]byte(`{"closed":true,"later":1}`))
	f.Add(Note{Attempts: 3, Home: "2/in\xffx", Taint: "killed", Detail: "pid 7", Class: "lock", Until: time.Unix(1, 2).UTC(), Ghost: true}.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := DecodeNote(data)
		if err != nil {
			assert.Equal(t, Note{}, n)
			return
		}
		again, err := DecodeNote(n.Encode())
		require.NoError(t, err)
		assert.True(t, n.Until.Equal(again.Until))
		n.Until, again.Until = time.Time{}, time.Time{}
		assert.Equal(t, n, again)
	})
}

func TestParseTaintAndBarrier(t *testing.T) {
	for k := range TaintKind(len(taintNames)) {
		assert.Equal(t, k, ParseTaint(k.String()))
	}
	for b := range Barrier(len(barrierNames)) {
		assert.Equal(t, b, ParseBarrier(b.String()))
	}
	assert.Equal(t, NoTaint, ParseTaint("sorrow"))
	assert.Equal(t, NoBarrier, ParseBarrier("wall"))
}

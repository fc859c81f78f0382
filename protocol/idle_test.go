package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// When the mount is about to end, who holds nothing begins nothing; what is done at once is done.
func TestNothingBeginsWhenTheMountIsEnding(t *testing.T) {
	by := &Party{ID: 1}
	matched := Match{Vector: Vector{Class: ClassQueue}}
	public := func() *World {
		f := &File{Name: NameKey{Folder: 1, Name: "f"}}
		f.Public = &Item{ID: 7, Name: f.Name, State: Public, Match: matched, Links: 1}
		return &World{File: f, PartyOf: func(PartyID) *Party { return by }}
	}
	for _, e := range []Event{
		{Op: OpOpen, Item: 7, Open: OpenMode{Read: true}},
		{Op: OpOpen, Item: 7, Open: OpenMode{Write: true, Truncate: true}, Make: 8},
		{Op: OpUnlink},
	} {
		e.By = by
		assert.Nil(t, Decide(public(), &e).Refuse, "%v", e.Op)
		e.Idle = true
		refused := Decide(public(), &e).Refuse
		if e.Op == OpUnlink {
			assert.Nil(t, refused)
		} else if assert.NotNil(t, refused, "%v", e.Open) {
			assert.Equal(t, Ending, refused.Reason)
		}
	}
}

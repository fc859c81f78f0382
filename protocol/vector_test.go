package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a vector prints, a rule may say: the result is the same vector.
func TestVectorStringIsARule(t *testing.T) {
	for _, v := range []Vector{
		{},
		{Class: ClassWork, Publish: PublishExit, NonzeroExit: true},
		{Publish: PublishQuiet, Quiet: 1500 * time.Millisecond, OnCollision: CollideRefuse},
		{Publish: PublishRename, OnCollision: CollideKeepBoth},
		{Class: ClassArchive, OnCollision: CollideKeepBoth, Outcome: OutcomeFailed},
		vectorOf(ClassPlain),
		vectorOf(ClassLock),
		vectorOf(ClassLog),
	} {
		r, err := ParseRule("x=" + v.String())
		require.NoError(t, err)
		assert.Equal(t, v, r.vector)
	}
}

func TestUnknownValuesPrint(t *testing.T) {
	assert.Equal(t, "unknown(9)", Publish(9).String())
	assert.Equal(t, "unknown(9)", Collision(9).String())
	assert.Equal(t, "unknown(9)", Outcome(9).String())
	assert.Equal(t, "unknown(9)", TempKind(9).String())
	assert.Equal(t, "unknown(9)", Role(9).String())
}

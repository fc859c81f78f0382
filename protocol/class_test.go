package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClassNames(t *testing.T) {
	assert.Equal(t, "queue", Class(0).String(), "the default is the zero value")
	for c := ClassQueue; c <= ClassRecords; c++ {
		parsed, err := ParseClass(c.String())
		require.NoError(t, err)
		assert.Equal(t, c, parsed)
	}
	assert.Equal(t, "class 99", Class(99).String())
	for _, wrong := range []string{"", "Queue", "queue ", "class 99"} {
		_, err := ParseClass(wrong)
		require.ErrorContains(t, err, "queue, work, shared", "%q", wrong)
	}
}

func TestInPlace(t *testing.T) {
	want := map[Class]bool{ClassLock: true, ClassLog: true, ClassArchive: true, ClassPlain: true, ClassRecords: true}
	for c := ClassQueue; c <= ClassRecords; c++ {
		assert.Equal(t, want[c], c.InPlace(), c.String())
	}
}

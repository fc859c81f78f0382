package fusefs

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"

	"github.com/airlockfs/airlockfs/protocol"
)

func TestEveryReasonHasAnErrno(t *testing.T) {
	for r := protocol.NotFound; r <= protocol.WouldWait; r++ {
		errno, ok := errnos[r]
		assert.True(t, ok, "reason %q has no errno", r)
		assert.Equal(t, fuse.Status(errno), status(refused{&protocol.Refusal{Reason: r}}))
	}
	assert.Len(t, errnos, int(protocol.WouldWait), "a row of no reason")
}

func TestStatus(t *testing.T) {
	assert.Equal(t, fuse.OK, status(nil))
	assert.Equal(t, fuse.Status(syscall.ENOSPC), status(fmt.Errorf("write: %w", syscall.ENOSPC)))
	assert.Equal(t, fuse.Status(syscall.ENFILE), status(syscall.EMFILE), "it is the daemon that ran out, not the caller")
	assert.Equal(t, fuse.EIO, status(errors.New("who knows")))
}

func TestCommas(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1044480: "1,044,480", 12345678901: "12,345,678,901"} {
		assert.Equal(t, want, commas(n))
	}
}

func TestOpcodeNames(t *testing.T) {
	for op, want := range map[uint32]string{1: "LOOKUP", 14: "OPEN", 18: "RELEASE", 25: "FLUSH", 35: "CREATE", 44: "READDIRPLUS", 45: "RENAME2", 51: "TMPFILE", 99: "OTHER"} {
		assert.Equal(t, want, opcodeName(op))
	}
}

func TestPIDs(t *testing.T) {
	for text, want := range map[string]bool{"": false, "812": true, "812\n": true, "       812\n": true, "job": false, "12345678901234567890": false} {
		assert.Equal(t, want, isPID([]byte(text)), "%q", text)
	}
}

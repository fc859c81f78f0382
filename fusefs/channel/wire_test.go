package channel

import (
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
)

func message(opcode uint32, body ...uint32) request {
	r := make(request, inHeaderSize)
	native.PutUint32(r[4:], opcode)
	native.PutUint64(r[8:], 42)
	for _, word := range body {
		r = native.AppendUint32(r, word)
	}
	return r
}

func TestPayloadSize(t *testing.T) {
	const size = 131072
	for _, tt := range []struct {
		name string
		req  request
		want uint32
	}{
		{"READ", message(opRead, 1, 0, 0, 0, size), size},
		{"READDIR", message(opReadDir, 1, 0, 0, 0, size), size},
		{"READDIRPLUS", message(opReadDirPlus, 1, 0, 0, 0, size), size},
		{"GETXATTR", message(opGetXattr, size, 0), size},
		{"LISTXATTR", message(opListXattr, size, 0), size},
		{"IOCTL", message(opIoctl, 1, 0, 0, 0, 0, 0, 0, size), size},
		{"WRITE", message(opWrite, 1, 0, 0, 0, size), 0},
		{"READ cut short", message(opRead, 1, 0, 0, 0), 0},
	} {
		assert.Equal(t, tt.want, tt.req.payloadSize(), tt.name)
		assert.EqualValues(t, 42, tt.req.unique(), tt.name)
	}
}

// Whatever must be in order with others is handled by the reader.
func TestWhatMayTakeLong(t *testing.T) {
	const flush, release, create, rename, setLk = 25, 18, 35, 12, 32
	for _, op := range []uint32{opLookup, opGetAttr, flush, release, create, rename, setLk, opForget, opBatchForget, opInterrupt} {
		assert.False(t, mayTakeLong(op), op)
	}
	for _, op := range []uint32{opRead, opWrite, opFsync, opSetLkW, opOpenDir, opReadDir} {
		assert.True(t, mayTakeLong(op), op)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(message(opRead, 1, 0, 0, 0, 4096)))
	f.Add([]byte(message(opIoctl)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < inHeaderSize {
			return
		}
		r := request(b)
		assert.GreaterOrEqual(t, r.replySize(), outHeaderSize+largestFixedReply)
		assert.Len(t, errorReply(r.unique(), 5), outHeaderSize)
	})
}

// The library then refuses to answer, and the client gets EIO.
func TestBufferForAnImpossibleReplyIsTheLargest(t *testing.T) {
	b := newBuffers(1 << 20)
	buf := b.get(1 << 30)
	assert.Len(t, *buf, 1<<20+pageRoom)
	b.put(buf)
	assert.Len(t, *b.get(readAheadSize + 100), readAheadSize+pageRoom)
	assert.Len(t, *newBuffers(4096).get(8192), readAheadSize+pageRoom)
}

func TestInitCapabilities(t *testing.T) {
	out := make([]byte, 64)
	native.PutUint32(out[12:], fuse.CAP_DONT_MASK)
	native.PutUint32(out[32:], fuse.CAP_PASSTHROUGH>>32)
	assert.EqualValues(t, fuse.CAP_DONT_MASK|fuse.CAP_PASSTHROUGH, initCapabilities(out))
	assert.EqualValues(t, fuse.CAP_DONT_MASK, initCapabilities(out[:24]))
}

package channel

import (
	"os"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// pipeConn is a connection whose device is one end of a pipe.
func pipeConn(t *testing.T, log *logBuffer, ours func(r, w *os.File) *os.File) (c *Conn, r, w *os.File) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	o := Options{Log: log.logger()}.withDefaults()
	return newConn(fuse.NewDefaultRawFileSystem(), ours(r, w), o), r, w
}

func writeEnd(_, w *os.File) *os.File { return w }
func readEnd(r, _ *os.File) *os.File  { return r }

func TestRequestThatTheLibraryCannotAnswerGetsEIO(t *testing.T) {
	var log logBuffer
	c, r, w := pipeConn(t, &log, writeEnd)
	worker := &worker{conn: c}
	worker.handle(message(opBatchForget, 1, 0))
	worker.handle(message(opRead, 1, 0, 0, 0, 1<<30, 0, 0, 0, 0, 0))
	require.NoError(t, w.Close())
	reply := make([]byte, 100)
	n, err := r.Read(reply)
	require.NoError(t, err)
	assert.Equal(t, errorReply(42, unix.EIO), reply[:n])
	assert.Contains(t, log.String(), "level=DEBUG", "the library's complaint")
}

func TestServeReportsABrokenDevice(t *testing.T) {
	var log logBuffer
	c, _, w := pipeConn(t, &log, readEnd)
	_, err := w.Write(make([]byte, inHeaderSize-1))
	require.NoError(t, err)
	assert.ErrorContains(t, c.Serve(), "less than a request header")
}

func TestConnectionThatDoesNotBeginWithInit(t *testing.T) {
	var log logBuffer
	c, _, w := pipeConn(t, &log, readEnd)
	_, err := w.Write(message(opRead))
	require.NoError(t, err)
	assert.ErrorContains(t, c.negotiate(), "begins with opcode 15 instead of INIT")
}

func TestRefusedReplyIsLogged(t *testing.T) {
	var log logBuffer
	c, _, _ := pipeConn(t, &log, readEnd)
	c.reply([]byte("x"))
	assert.Contains(t, log.String(), "the kernel refused a reply")
}

func BenchmarkHandOn(b *testing.B) {
	c := &Conn{}
	c.inline.Store(7)
	for b.Loop() {
		c.HandOn(9)
	}
}

package channel

import (
	"errors"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const (
	// maxIdle is how many workers without a request are kept.
	maxIdle = 16

	// Requests and replies of this size need no further buffer. A READ of one
	// page fits.
	workerRequestRoom = 4 << 10
	workerReplyRoom   = 8 << 10
)

// worker is a goroutine that handles requests, and reads them while it has the
// turn.
type worker struct {
	conn   *Conn
	unique atomic.Uint64 // of the request being handled; 0 for none

	requestRoom [workerRequestRoom]byte
	replyRoom   [workerReplyRoom]byte
	in, out     [1][]byte // arguments of HandleRequest
}

func (w *worker) run() {
	defer w.conn.removeWorker(w)
	for w.takeTurn() {
		for w.serveOne() {
		}
	}
}

// takeTurn waits for the turn. It returns false if the worker is not needed
// any more.
func (w *worker) takeTurn() bool {
	c := w.conn
	if c.idle.Add(1) > maxIdle {
		c.idle.Add(-1)
		return false
	}
	_, ok := <-c.turn
	c.idle.Add(-1)
	return ok
}

// serveOne reads and handles one request. It reports whether the worker still
// has the turn.
func (w *worker) serveOne() bool {
	c := w.conn
	n, err := c.read(*c.requestBuffer)
	if err != nil {
		c.end(err)
		return false
	}
	req, large := w.keep(n)
	if large != nil {
		defer c.buffers.put(large)
	}
	c.options.Count(req.opcode())
	w.unique.Store(req.unique())
	defer w.unique.Store(0)
	return w.dispatch(req)
}

func (w *worker) dispatch(req request) bool {
	c := w.conn
	if mayTakeLong(req.opcode()) {
		c.passTurn()
		w.handle(req)
		return false
	}
	c.inline.Store(req.unique())
	w.handle(req)
	return c.inline.CompareAndSwap(req.unique(), 0)
}

// keep takes the n bytes just read out of the way of the next reader: a small
// request is copied, a large one keeps the buffer and the connection gets
// another.
func (w *worker) keep(n int) (req request, large *[]byte) {
	c := w.conn
	if n <= len(w.requestRoom) {
		return w.requestRoom[:copy(w.requestRoom[:], (*c.requestBuffer)[:n])], nil
	}
	large = c.requestBuffer
	c.requestBuffer = c.buffers.get(c.buffers.largeSize)
	return (*large)[:n], large
}

func (w *worker) handle(req request) {
	out := w.replyRoom[:]
	if size := req.replySize(); size > len(out) {
		buf := w.conn.buffers.get(size)
		defer w.conn.buffers.put(buf)
		out = *buf
	}
	w.in[0], w.out[0] = req, out
	n, status := w.conn.protocol.HandleRequest(w.in[:], w.out[:])
	switch {
	case n > 0:
		w.conn.reply(out[:n])
	case !status.Ok() && wantsReply(req.opcode()):
		w.conn.reply(errorReply(req.unique(), unix.Errno(status)))
	}
}

// HandOn is called by a handler that is about to wait or work for long, with
// the Unique of its request's header. If the request is the one that holds up
// the reader, another worker goes on reading; from then on the request has no
// order with those that follow. Otherwise HandOn does nothing. It is cheap and
// may be called more than once and from any goroutine.
func (c *Conn) HandOn(unique uint64) {
	if unique != 0 && c.inline.CompareAndSwap(unique, 0) {
		c.passTurn()
	}
}

// passTurn gives the turn away. Only the worker that has it may call this.
//
// Only takeTurn changes idle, and a worker that got the turn leaves idle before
// it can pass it; so idle > 0 means that somebody will receive.
func (c *Conn) passTurn() {
	if c.idle.Load() == 0 {
		c.addWorker()
	}
	c.turn <- struct{}{}
}

func (c *Conn) addWorker() {
	w := &worker{conn: c}
	c.mu.Lock()
	c.workers[w] = struct{}{}
	c.mu.Unlock()
	c.running.Go(w.run)
}

func (c *Conn) removeWorker(w *worker) {
	c.mu.Lock()
	delete(c.workers, w)
	c.mu.Unlock()
}

// read fills buf with the next request. ENOENT means that the request was
// interrupted while it was being copied.
func (c *Conn) read(buf []byte) (int, error) {
	for {
		n, err := unix.Read(c.fd, buf)
		switch {
		case err == nil && n >= inHeaderSize:
			return n, nil
		case err == nil:
			return 0, errors.New("the FUSE device gave less than a request header")
		case err != unix.EINTR && err != unix.EAGAIN && err != unix.ENOENT:
			return 0, err
		}
	}
}

// reply writes the answer to a request. ENOENT: the request was aborted.
func (c *Conn) reply(message []byte) {
	_, err := unix.Write(c.fd, message)
	if err != nil && err != unix.ENOENT && err != unix.ENODEV {
		c.options.Log.Error("the kernel refused a reply", "error", err, "bytes", len(message))
	}
}

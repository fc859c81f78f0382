package channel

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Conn is a mounted filesystem's connection to the kernel. Its methods may be
// called from any goroutine.
type Conn struct {
	// Dependencies.
	options  Options
	fs       fuse.RawFileSystem
	protocol *fuse.ProtocolServer
	buffers  *buffers
	mounter  mounter

	// Constant after Mount.
	device       *os.File // /dev/fuse
	fd           int      // of device; used by workers, which end before it is closed
	mountpoint   string   // absolute, without symbolic links
	mount        mountEntry
	capabilities uint64

	// The turn to read the device: a token in the channel, or with one worker.
	// requestBuffer belongs to whoever has it. inline is the unique of the
	// request that its worker handles without having passed it on.
	turn          chan struct{}
	requestBuffer *[]byte
	inline        atomic.Uint64
	idle          atomic.Int32 // workers waiting for the turn

	ended   chan struct{} // closed when the kernel has ended the connection
	readErr error         // set before ended is closed

	running sync.WaitGroup
	mu      sync.Mutex
	workers map[*worker]struct{} // GUARDED_BY(mu)
}

func newConn(fs fuse.RawFileSystem, device *os.File, o Options) *Conn {
	b := newBuffers(o.MaxWrite)
	return &Conn{
		options:       o,
		fs:            fs,
		protocol:      fuse.NewProtocolServer(fs, o.protocol()),
		buffers:       b,
		device:        device,
		fd:            int(device.Fd()),
		turn:          make(chan struct{}, 1),
		requestBuffer: b.get(b.largeSize),
		ended:         make(chan struct{}),
		workers:       make(map[*worker]struct{}),
	}
}

// Mountpoint is the absolute path of the mounted folder, without symbolic links.
func (c *Conn) Mountpoint() string { return c.mountpoint }

// Has reports whether the kernel granted all of these capabilities (fuse.CAP_…).
func (c *Conn) Has(capabilities uint64) bool { return c.capabilities&capabilities == capabilities }

// Serve handles requests until the kernel ends the connection: after an unmount
// once the last open file is closed, or when the connection is aborted. Requests
// still being handled then are cancelled, and Serve waits for their handlers;
// then it calls the filesystem's OnUnmount and closes the device. It is called
// once, also after an Unmount that came first. The error is nil for an ordinary
// end.
func (c *Conn) Serve() error {
	c.passTurn()
	<-c.ended
	c.drain()
	c.fs.OnUnmount()
	return errors.Join(c.readErr, c.device.Close())
}

// end is called by the worker that has the turn when there is nothing to read
// any more. The kernel says so with ENODEV.
func (c *Conn) end(err error) {
	if err != unix.ENODEV && err != unix.ECONNABORTED { // a read that had a request when the unmount aborted it
		c.readErr = fmt.Errorf("reading the FUSE device: %w", err)
	}
	close(c.turn)
	close(c.ended)
}

// drain waits for all workers. The kernel sends no INTERRUPT for requests of a
// connection that is gone, so their waits are ended here. A request may have
// been read but not yet be known to the library: hence again and again.
func (c *Conn) drain() {
	done := make(chan struct{})
	go func() {
		c.running.Wait()
		close(done)
	}()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		c.interruptAll()
		select {
		case <-done:
			return
		case <-again.C:
		}
	}
}

func (c *Conn) interruptAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	reply := make([]byte, outHeaderSize+largestFixedReply)
	for w := range c.workers {
		if unique := w.unique.Load(); unique != 0 {
			c.protocol.HandleRequest([][]byte{interruptRequest(unique)}, [][]byte{reply})
		}
	}
}

// negotiate handles INIT, which is the first request of every connection.
func (c *Conn) negotiate() error {
	n, err := c.read(*c.requestBuffer)
	if err != nil {
		return fmt.Errorf("the kernel ended the FUSE connection before it began: %w", err)
	}
	req := request((*c.requestBuffer)[:n])
	if req.opcode() != opInit {
		return fmt.Errorf("the FUSE connection begins with opcode %d instead of INIT", req.opcode())
	}
	out := make([]byte, req.replySize())
	n, status := c.protocol.HandleRequest([][]byte{req}, [][]byte{out})
	if !status.Ok() || n <= outHeaderSize {
		return fmt.Errorf("the kernel's FUSE protocol version is not supported (%v)", status)
	}
	c.capabilities = initCapabilities(out[outHeaderSize:n])
	if _, err := unix.Write(c.fd, out[:n]); err != nil {
		return fmt.Errorf("the kernel refused the FUSE settings: %w", err)
	}
	return nil
}

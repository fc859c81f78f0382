package servers

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// freePort is a TCP port of the loopback that nobody listens on at the moment.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// Wire is a TCP connection's way from a client to a server, which can be cut.
type Wire struct {
	Port   int
	passes int64 // so many bytes go from a client to the server before Open
	open   chan struct{}
	Open   func()
	mu     sync.Mutex
	ends   []*net.TCPConn
}

// wire makes a way to the port of a server.
func wire(t *testing.T, port int) *Wire {
	t.Helper()
	w := stuck(t, port, 0)
	w.Open()
	return w
}

// stuck makes a way that lets so many of a client's bytes pass; the rest waits for Open.
func stuck(t *testing.T, port int, passes int64) *Wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &Wire{Port: l.Addr().(*net.TCPAddr).Port, passes: passes, open: make(chan struct{})}
	w.Open = sync.OnceFunc(func() { close(w.open) })
	go w.accept(l, port)
	t.Cleanup(func() {
		l.Close()
		w.Cut(0)
	})
	return w
}

func (w *Wire) accept(l net.Listener, port int) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", address(port))
		if err != nil {
			client.Close()
			continue
		}
		w.join(client.(*net.TCPConn), server.(*net.TCPConn))
	}
}

func (w *Wire) join(client, server *net.TCPConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends = append(w.ends, client, server)
	go func() {
		_, _ = io.CopyN(server, client, w.passes) // its end is the wire's
		<-w.open
		pump(server, client)
	}()
	go pump(client, server)
}

func pump(to, from *net.TCPConn) {
	_, _ = io.Copy(to, from)
	to.Close()
}

// Cut ends all connections: with a reset if linger is 0, in order if it is -1 (SO_LINGER in socket(7)).
func (w *Wire) Cut(linger int) {
	defer w.Open()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.ends {
		_ = c.SetLinger(linger) // a connection that has ended already
		c.Close()
	}
	w.ends = nil
}

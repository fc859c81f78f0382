package channel

import "sync"

const (
	pageRoom      = 4 << 10   // beside the data: headers and fixed structures
	readAheadSize = 128 << 10 // VM_READAHEAD_PAGES: most large READs are of this size
)

// buffers recycles the two sizes of buffer that do not fit in a worker. A
// buffer is used up to the length of the message, so pages beyond it are
// never touched.
type buffers struct {
	medium, large sync.Pool
	largeSize     int
}

func newBuffers(maxWrite int) *buffers {
	b := &buffers{largeSize: max(maxWrite, readAheadSize) + pageRoom}
	b.medium.New = func() any { return newBuffer(readAheadSize + pageRoom) }
	b.large.New = func() any { return newBuffer(b.largeSize) }
	return b
}

func newBuffer(size int) *[]byte {
	buf := make([]byte, size)
	return &buf
}

// get returns a buffer of at least size bytes, or the largest there is.
func (b *buffers) get(size int) *[]byte {
	return b.pool(size).Get().(*[]byte)
}

// put takes back a buffer from get.
func (b *buffers) put(buf *[]byte) {
	b.pool(len(*buf)).Put(buf)
}

func (b *buffers) pool(size int) *sync.Pool {
	if size <= readAheadSize+pageRoom {
		return &b.medium
	}
	return &b.large
}

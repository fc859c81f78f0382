package backing

import (
	"container/list"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// folder is an open folder: an O_PATH descriptor and how many use it now.
type folder struct {
	path string
	fd   int

	users int           // GUARDED_BY(folders.mu)
	place *list.Element // GUARDED_BY(folders.mu); nil: not in the cache, closed by its last user
}

// folders is an LRU cache of folder descriptors by path. It holds at most
// limit of them, and beyond that only those in use.
type folders struct {
	root    *folder // never in the LRU, closed by close
	control int     // the control folder's own descriptor, -1: not acquired
	limit   int

	mu      sync.Mutex         // innermost: nothing is called under it
	byPath  map[string]*folder // GUARDED_BY(mu)
	recent  list.List          // GUARDED_BY(mu); *folder, most recent first
	forgets uint64             // GUARDED_BY(mu); counts what could make an open under way stale
	closed  bool               // GUARDED_BY(mu)
}

func newFolders(root, limit int) *folders {
	return &folders{
		root:    &folder{fd: root, users: 1},
		control: -1,
		limit:   limit,
		byPath:  make(map[string]*folder),
	}
}

// get gives the folder at path; the caller owes a put.
func (c *folders) get(path string) (*folder, error) {
	f, forgets, err := c.cached(path)
	if f != nil || err != nil {
		return f, err
	}
	defer c.put(c.root)
	if err := checkFolder(path); err != nil {
		return nil, err
	}
	from, rest := c.start(path)
	fd, err := openFolder(from, rest)
	if err != nil {
		return nil, err
	}
	return c.install(&folder{path: path, fd: fd, users: 1}, forgets), nil
}

// start is where the way to a folder begins, and the rest of it. What lies in
// the control folder is found from that itself, by whatever name it goes: who
// may write to the root could put another one there.
func (c *folders) start(path string) (from int, rest string) {
	switch {
	case c.control < 0 || !isBelowControl(path):
		return c.root.fd, path
	case path == Control:
		return c.control, "."
	}
	return c.control, path[len(Control)+1:]
}

// cached gives a folder that is open already. If there is none it takes the
// root for the caller, to open the folder from.
func (c *folders) cached(path string) (f *folder, forgets uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, 0, unix.EBADF
	}
	if path == "" {
		c.root.users++
		return c.root, 0, nil
	}
	if f = c.byPath[path]; f != nil {
		f.users++
		c.recent.MoveToFront(f.place)
		return f, 0, nil
	}
	c.root.users++
	return nil, c.forgets, nil
}

// install puts a folder just opened into the cache, unless another user was
// faster or it may have been forgotten since: then it serves one call.
func (c *folders) install(f *folder, forgets uint64) *folder {
	c.mu.Lock()
	if c.closed || c.forgets != forgets || c.byPath[f.path] != nil {
		c.mu.Unlock()
		return f
	}
	f.place = c.recent.PushFront(f)
	c.byPath[f.path] = f
	idle := c.evictLocked()
	c.mu.Unlock()
	closeFolders(idle)
	return f
}

// put gives back what get gave.
func (c *folders) put(f *folder) {
	c.mu.Lock()
	f.users--
	last := f.users == 0 && f.place == nil
	c.mu.Unlock()
	if last {
		unix.Close(f.fd)
	}
	if last && f == c.root && c.control >= 0 {
		unix.Close(c.control) // whoever opens from it uses the root
	}
}

// drop takes one folder out of the cache.
func (c *folders) drop(f *folder) {
	c.forget(func(cached *folder) bool { return cached == f })
}

// dropTree takes the folder at path and all below it out of the cache.
func (c *folders) dropTree(path string) {
	below := path + "/"
	c.forget(func(f *folder) bool {
		return f.path == path || path == "" || strings.HasPrefix(f.path, below)
	})
}

func (c *folders) forget(which func(*folder) bool) {
	c.mu.Lock()
	c.forgets++
	var idle []*folder
	for _, f := range c.byPath {
		if which(f) {
			idle = c.removeLocked(f, idle)
		}
	}
	c.mu.Unlock()
	closeFolders(idle)
}

// close empties the cache and closes the root; a folder in use is closed by
// its last user. get answers EBADF from now on. Only the first close counts.
func (c *folders) close() {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	if again {
		return
	}
	c.dropTree("")
	c.put(c.root)
}

func (c *folders) evictLocked() (idle []*folder) {
	for c.recent.Len() > c.limit {
		idle = c.removeLocked(c.recent.Back().Value.(*folder), idle)
	}
	return idle
}

// removeLocked appends to idle what nobody uses any more.
func (c *folders) removeLocked(f *folder, idle []*folder) []*folder {
	c.recent.Remove(f.place)
	f.place = nil
	delete(c.byPath, f.path)
	if f.users == 0 {
		idle = append(idle, f)
	}
	return idle
}

func closeFolders(idle []*folder) {
	for _, f := range idle {
		unix.Close(f.fd)
	}
}

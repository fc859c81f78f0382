package fusefs

import (
	"strings"
	"testing"
)

// recording is what happened to a folder, call by call: the image that each changing call left. A daemon that is killed
// leaves one of these images, because the kernel has done what it was told to; what a power cut leaves is in
// powercut_test.go.
type recording struct {
	t      *testing.T
	dir    string
	before image
	steps  []step
}

// step is one call, or bytes that were written to a file.
type step struct {
	line   string // as the backing traces it
	after  image
	synced inodeID // of fsync(2) and fdatasync(2): of what
}

// begin forgets what was recorded: the disk has all of it.
func (r *recording) begin() { r.before, r.steps = imageOf(r.t, r.dir), nil }

// trace is backing.Options.Trace.
func (r *recording) trace(line string) {
	if r.before.inodes == nil {
		return
	}
	s := step{line: line, after: imageOf(r.t, r.dir)}
	if call, path, _ := strings.Cut(line, " "); call == "fsync" || call == "fdatasync" {
		path, _, _ = strings.Cut(path, " (folder)")
		if path == "." {
			path = ""
		}
		s.synced = r.lastAt(path)
	}
	r.steps = append(r.steps, s)
}

// lastAt is the inode that was last seen under a path: an open file may have been moved since.
func (r *recording) lastAt(path string) inodeID {
	for n := len(r.steps); n >= 0; n-- {
		m := r.image(n)
		if id, ok := m.find(path); ok {
			return id
		}
	}
	r.t.Errorf("nothing was ever seen under %q", path)
	return inodeID{}
}

// image is what the folder held after so many steps.
func (r *recording) image(steps int) image {
	if steps == 0 {
		return r.before
	}
	return r.steps[steps-1].after
}

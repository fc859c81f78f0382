package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

const mountinfo = `22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
36 22 0:40 / /mnt/a\040b rw shared:7 - fuse.airlockfs /srv/x\134y rw
37 36 0:41 / /mnt/a\040b/sub rw - tmpfs none rw
38 22 0:42 / /mnt/c rw - fuse.airlockfs /srv/c rw
39 38 0:43 / /mnt/c rw - tmpfs none rw
malformed
`

func TestMountOf(t *testing.T) {
	mounts := parseMounts(mountinfo)
	assert.Len(t, mounts, 5)
	for path, point := range map[string]string{"/mnt/a b": "/mnt/a b", "/mnt/a b/x/y": "/mnt/a b", "/mnt/a bc": "/", "/mnt/a b/sub/x": "/mnt/a b/sub", "/": "/"} {
		assert.Equal(t, point, mountOf(mounts, path).point, path)
	}
	assert.Equal(t, "tmpfs", mountOf(mounts, "/mnt/c/x").kind, "the later mount is on top")
	assert.Equal(t, `/srv/x\y`, mountOf(mounts, "/mnt/a b").source)
}

func TestMountedElsewhere(t *testing.T) {
	assert.Contains(t, mountedElsewhere(parseMounts(mountinfo), "/srv/c"), "/mnt/c")
	assert.Contains(t, mountedElsewhere(parseMounts(mountinfo), "/srv"), "findmnt")
}

func FuzzParseMounts(f *testing.F) {
	f.Add(mountinfo)
	f.Add(`1 2 3 / \0 rw - a b`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range parseMounts(text) {
			assert.NotEmpty(t, m.point)
			assert.True(t, isBelow(m.point, m.point))
		}
	})
}

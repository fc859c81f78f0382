package backing

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestInheritTakesRightsAndAttributesOver(t *testing.T) {
	for _, from := range []string{"old", "bare"} {
		t.Run(from, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *Store, dir string) {
				entries := []ace{{aclUserObj, 6, noID}, {aclUser, 6, 1004}, {aclGroupObj, 0, noID}, {aclMask, 6, noID}, {aclOther, 0, noID}}
				path := filepath.Join(dir, "in", from)
				write(t, path, "bytes")
				if from == "old" {
					setACL(t, path, aclName, entries...)
					require.NoError(t, unix.Setxattr(path, "user.color", []byte("red"), 0))
					require.NoError(t, s.SetNote(Object{"in", from}, []byte("{}")))
				}
				setACL(t, filepath.Join(dir, "in"), "system.posix_acl_default", entries...)
				f, err := s.Create(Object{staging, from}, "in", 0o640, 1001, 1002)
				require.NoError(t, err)
				require.NoError(t, s.Inherit(f, Object{"in", from}, 0o640))
				at := procPath(int(f.file.Fd()))
				rights, _ := readXattr(at, aclName)
				color, _ := readXattr(at, "user.color")
				note, _ := readXattr(at, noteName)
				assert.Equal(t, from == "old", rights != nil, "the ACL is the old file's, not the folder's")
				assert.Equal(t, from == "old", string(color) == "red")
				assert.Empty(t, note)
				assert.EqualValues(t, 0o640, stat(t, s, Object{staging, from}).Mode&0o7777)
				closeAll(t, f)
			})
		})
	}
}

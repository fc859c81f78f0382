package fusefs

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/backing"
)

// What was published is remembered for a minute, by whoever published most of it, and takes no room after that, nor a
// clock.
func TestPublicationsAreForgottenAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{Config: Config{Now: time.Now}}
		add := func(inode uint64) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.publishedLocked(&publication{inode: backing.ID{Ino: inode}, at: time.Now()})
		}
		remembered := func() (order, inodes int) {
			d.mu.Lock()
			defer d.mu.Unlock()
			return len(d.published.order), len(d.published.byInode)
		}
		wait := func(s time.Duration) {
			<-time.After(s)
			synctest.Wait()
		}
		add(1)
		wait(publisherMay / 2)
		add(2)
		add(1)
		wait(publisherMay/2 + time.Second)
		order, inodes := remembered()
		require.Equal(t, []int{2, 2}, []int{order, inodes}, "the second one of the inode counts")
		wait(publisherMay)
		require.Equal(t, publications{}, d.published)
		for n := range uint64(mostPublications + 5) {
			add(n)
		}
		order, inodes = remembered()
		require.Equal(t, []int{mostPublications, mostPublications}, []int{order, inodes})
		wait(publisherMay)
		require.Equal(t, publications{}, d.published)
	})
}

package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// cron runs what is in a crontab "job" of a folder, once, in a mount namespace in which nothing else is to be done.
const cron = `exec unshare --mount bash -c '
for d in /run /etc/cron.d /var/spool/cron; do mount -t tmpfs none $d; done
mkdir /var/spool/cron/crontabs; mount --bind %[1]s /etc/crontab; cp %[2]s/job /etc/cron.d/; exec timeout 60 cron -f'`

// TestI3_CronJobsAreWorkersOfTheirOwn, as root and as another user: a claim lasts as long as its job, not as long as cron.
func TestI3_CronJobsAreWorkersOfTheirOwn(t *testing.T) {
	for _, user := range []string{"root", "nobody"} {
		t.Run(user, func(t *testing.T) {
			m := open(t)
			m.Must(`umask 0; mkdir in; echo text > in/f; echo text > in/g`)
			marks := openScratch(t)
			for name, text := range map[string]string{
				"work": fmt.Sprintf("cd %s; wc in/f; : > %s/took; while [ -d %[2]s ] && [ ! -e %[2]s/go ]; do :; done; rm in/f\n", m.Dir, marks),
				"fail": fmt.Sprintf("cd %s; while [ -d %[2]s ] && [ ! -e %[2]s/took ]; do :; done; wc in/f in/g; : > %[2]s/failed; exit 3\n", m.Dir, marks),
				"job":  fmt.Sprintf("@reboot %s sh %s/work\n@reboot %[1]s sh %[2]s/fail\n", user, marks),
			} {
				require.NoError(t, os.WriteFile(filepath.Join(marks, name), []byte(text), 0o644))
			}
			daemon := m.Start(cron, os.DevNull, marks)
			t.Cleanup(func() { goOn(t, marks) })
			m.untilMarked(marks, 5)
			m.Until("the one that failed has given back", func() bool { return m.Run(`cat in/g`).Code == 0 })
			m.requireHidden("in/f")
			goOn(t, marks)
			m.Until("the other one is done", func() bool { return m.State("in/f") == "" })
			require.Equal(t, "in/g", m.Must(`find in -type f`))
			daemon.Kill()
		})
	}
}

package tests

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// counting has several processes add to a number in a database, each in transactions of its own.
const counting = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
for _ in range(int(sys.argv[2])):
    db.execute("begin immediate")
    n, = db.execute("select n from t").fetchone()
    db.execute("update t set n = ?", (n + 1,))
    db.execute("commit")
`

// TestI6_ProcessesCountInOneDatabase: SQLite's locks and, with a WAL, its shared memory. In a folder of records nothing is
// shared by mapping it, and SQLite is told so.
func TestI6_ProcessesCountInOneDatabase(t *testing.T) {
	m := mount(t, "--rule", "plain/**=plain", "--rule", "records/**=records")
	m.Must("mkdir plain queue records; echo %s > plain/count", quote(counting))
	for _, c := range []struct{ folder, journal string }{{"queue", "delete"}, {"queue", "wal"}, {"plain", "persist"}, {"plain", "wal"}, {"records", "truncate"}} {
		t.Run(c.folder+" "+c.journal, func(t *testing.T) {
			db := fmt.Sprintf("%s/%s.db", c.folder, c.journal)
			require.Equal(t, c.journal, m.Must(`sqlite3 %s 'pragma journal_mode = %s; create table t (n); insert into t values (0)'`, db, c.journal))
			var all []*Process
			for range 3 {
				all = append(all, m.Start("exec python3 plain/count %s 20", db))
			}
			for _, p := range all {
				require.Equal(t, result{}, p.Wait())
			}
			require.Equal(t, "60\nok", m.Must("sqlite3 %s 'select n from t; pragma integrity_check'", db))
		})
	}
	require.NotZero(t, m.Run(`sqlite3 records/w.db 'pragma journal_mode = wal; create table t (n)'`).Code)
}

// TestI6_ManyCommitToOneRepository: git's index.lock and the locks of its refs keep one process of git out while another one
// commits. (What git says of a commit that came too late, or whose message another one has just begun to write, is not always
// that; it is the same on any filesystem.)
func TestI6_ManyCommitToOneRepository(t *testing.T) {
	m := mount(t)
	const git = `export GIT_CONFIG_GLOBAL=/dev/null HOME=$PWD; git() { command git -c user.name=a -c user.email=a@b -C r "$@"; }; `
	m.Must(`command git init -q -b main r`)
	var all []*Process
	for who := range 4 {
		all = append(all, m.Start(git+`for n in 1 2 3 4; do until git commit -q --allow-empty -m "%d $n" 2>/dev/null; do ((++tries < 500)) || exit; done; done`, who))
	}
	for _, p := range all {
		require.Equal(t, result{}, p.Wait())
	}
	require.Equal(t, "16", m.Must(git+`git fsck --strict --no-dangling 2>/dev/null && git rev-list --count main`))
	require.Empty(t, m.Must(`find r -name '*.lock'`))
}

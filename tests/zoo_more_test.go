package tests

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// server serves $S/f on a port of its own, as script variable U: $U/whole, and $U/half of it, of which it had announced all.
const server = `exec 4< <(exec /usr/bin/python3 -c '
import http.server, os
f = open(os.environ["S"] + "/f", "rb").read()
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_GET(self):
        start = int(self.headers.get("Range", "bytes=0-")[6:].split("-")[0])
        self.send_response(206 if start else 200)
        if start: self.send_header("Content-Range", f"bytes {start}-{len(f) - 1}/{len(f)}")
        self.send_header("Content-Length", str(len(f) - start)); self.send_header("Accept-Ranges", "bytes"); self.end_headers()
        self.wfile.write(f[start:len(f) // 2] if self.path == "/half" else f[start:])
s = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(s.server_port, flush=True)
s.serve_forever()'); server=$!; trap 'kill $server' EXIT; read -r port <&4; U=http://127.0.0.1:$port; `

const aria2 = `aria2c -q --no-conf -c -s 1 -x 1 -m 1 -t 5 --file-allocation=none -o f `

// TestZooDownloadThatBreaksCanNotBeTold: the program closes what it has in order, and exits with an error then.
func TestZooDownloadThatBreaksCanNotBeTold(t *testing.T) {
	for _, c := range []struct{ name, command, resume, beside string }{
		{"curl", `curl -s -o f $U/`, `curl -s -C - -o f $U/`, ""},
		{"wget", `wget -q -t 1 -O f $U/`, `wget -q -c -O f $U/`, ""},
		{"aria2", aria2 + `$U/`, aria2 + `$U/`, "f.aria2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			z := newZoo(t)
			z.Run(server + c.command + "half")
			require.Equal(t, "f 500000", z.Must(`stat -c '%n %s' *`))
			if c.beside != "" {
				z.Until("its control file is parked", func() bool { return z.State(c.beside) == "parked" })
			}
			z.Must(server + c.resume + "whole")
			z.Must(`cmp f $S/f && [ "$(ls)" = f ]`)
			z.Until("nothing is left", func() bool { return len(z.Status()) == 0 })
		})
		t.Run(c.name+" with publish=exit", func(t *testing.T) {
			z := newZoo(t, "--rule", "**=queue,publish=exit")
			z.Run(server + c.command + "half")
			z.Until("it is put aside", func() bool { return z.State("f") == "quarantined" })
			require.Empty(t, z.List("."))
			z.Must(server + c.command + "whole")
			z.Must(`cmp f $S/f && [ "$(ls)" = f ]`)
		})
	}
}

// TestZooGitKilledWhileItCommitsIsRepaired by git itself, as on any filesystem, since repositories are plain; and nobody needs to
// remove its lock files, which are in quarantine.
func TestZooGitKilledWhileItCommitsIsRepaired(t *testing.T) {
	const git = `export GIT_CONFIG_GLOBAL=/dev/null HOME=$S; git() { command git -c user.name=a -c user.email=a@b "$@"; }; `
	z := newZoo(t)
	z.Must(git + `git init -q -b main r; cd r; seq 99 > a; git add a; git commit -qm one; git init -q -b main --bare ../b.git; git push -q ../b.git HEAD:main; git -C ../b.git gc -q`)
	for n := 1; n <= 4; n++ {
		z.Run(git + fmt.Sprintf("cd r; seq %d > a; ", n) + at("KILL", "rename", n, "", "git -c user.name=a -c user.email=a@b commit -qam two"))
		z.Must(git + `cd r; git fsck --strict && git reset -q && git commit -qa --allow-empty -m again && [ -z "$(git status --short)" ]`)
	}
	z.Must(git + `git -C r push -q ../b.git HEAD:main && git clone -q b.git c && git -C c fsck --strict && diff r/a c/a && git -C c gc -q && [ -z "$(git -C c status --short)" ]`)
	for path, items := range z.Status() {
		require.Regexp(t, `^r/\.git/.*\.lock$`, path)
		require.Equal(t, "quarantined", items[0].State)
	}
}

// TestZooSqliteKilledInATransactionHasTheStateBefore, as a database by name, and as an item of a queue.
func TestZooSqliteKilledInATransactionHasTheStateBefore(t *testing.T) {
	for _, name := range []string{"f.db", "f"} {
		for _, mode := range []string{"delete", "wal", "persist"} {
			t.Run(name+" "+mode, func(t *testing.T) {
				z := newZoo(t)
				z.Must(fmt.Sprintf(`sqlite3 %s 'pragma journal_mode = %s; create table t (x); insert into t values (1)'`, name, mode))
				z.Run(fmt.Sprintf(`exec sqlite3 %s 'pragma cache_size = 5; begin; with recursive n(x) as (select 1 union all select x + 1 from n limit 20000) insert into t select x from n;' '.shell kill -9 $PPID'`, name))
				require.Equal(t, "ok\n1\n2", z.Must(fmt.Sprintf(`sqlite3 %s 'pragma integrity_check; select * from t; insert into t values (2); select max(x) from t'`, name)))
				require.Equal(t, "2", z.Must("sqlite3 "+name+" 'select max(x) from t'"))
			})
		}
	}
}

// TestZooLogrotate: the log's writer goes on while it is rotated. No line is lost.
func TestZooLogrotate(t *testing.T) {
	for _, c := range []struct{ name, rule, how, after string }{
		{"copytruncate", "**=queue", "copytruncate", "app.log two\napp.log.1 one"},
		{"create, all logs are of class log", "app.log*=log", "create", "app.log \napp.log.1 one two"},
		{"create: the writer goes on in the old one, which appears when that is closed", "**=queue", "create", "app.log \napp.log.1 one two"},
	} {
		t.Run(c.name, func(t *testing.T) {
			z := newZoo(t, "--rule", c.rule)
			writer := z.Start(`exec 3>> app.log; echo one >&3; read -r; echo two >&3; read -r`)
			z.Until("it has logged", func() bool { return z.Run(`grep one app.log`).Code == 0 })
			z.Must(`printf '%s {\nrotate 3\n%s\n}\n' $M/app.log ` + c.how + ` > $S/conf; chmod 600 $S/conf; logrotate -f -s $S/state $S/conf`)
			writer.Say()
			z.Until("it has logged again", func() bool { return z.Run(`cat app.log* | grep two`).Code == 0 || z.State("app.log.1") == "held" })
			writer.Say()
			require.Zero(t, writer.Wait().Code)
			require.Equal(t, c.after, z.Must(`for f in *; do echo $f $(cat $f); done | sed 's/^app.log$/app.log /'`))
		})
	}
}

// TestZooOfficeLocksAreSeenAtOnce by everybody, whoever has the document.
func TestZooOfficeLocksAreSeenAtOnce(t *testing.T) {
	z := newZoo(t)
	z.Must(`echo text > d.odt`)
	office := z.Start(`set -C; echo ',me,host,01.01.2026 10:00,file:///home/me;' > .~lock.d.odt#; exec 3< d.odt; read -r; cat <&3 > lu1.tmp; echo more >> lu1.tmp; exec 3<&-; mv lu1.tmp d.odt; rm .~lock.d.odt#`)
	z.Until("it is locked", func() bool { return z.Run(`grep -q me .~lock.d.odt#`).Code == 0 })
	require.NotZero(t, z.Run(`set -C; : > .~lock.d.odt#`).Code, "the lock excludes another")
	office.Say()
	require.Equal(t, result{}, office.Wait())
	require.Equal(t, "d.odt\ntext\nmore", z.Must(`ls -A; cat d.odt`))
}

// TestI3_ZooWorkersOfXargsAndOfAWatcherTakeEachFileOnce, and none is left: the watcher looks again at what it missed.
func TestI3_ZooWorkersOfXargsAndOfAWatcherTakeEachFileOnce(t *testing.T) {
	z := newZoo(t)
	watcher := z.Start(`inotifywait -q -m -e close_write -e moved_to --format %f . > $S/names & trap "kill $!" EXIT
tail -n +1 -f --pid=$! $S/names 2>/dev/null | while read -r n; do cat $n >> $S/done 2>/dev/null && rm $n; done & read -r`)
	z.Until("it watches", func() bool { return z.Run(`ls $S/names`).Code == 0 })
	z.Must(`for n in $(seq 60); do echo $n > n$n; done`)
	z.Must(`until [ -z "$(ls)" ] && [ "$(wc -l < $S/done)" -ge 60 ]; do ls | xargs -r -n 1 -P 4 sh -c 'cat $0 >> $S/done 2>/dev/null && rm $0' || :; done`)
	watcher.Kill()
	require.Equal(t, "60 60", z.Must(`echo $(sort -u $S/done | wc -l) $(wc -l < $S/done)`))
}

package tests

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tree prints what is in a folder: names, kinds, modes, numbers of links, sizes and contents.
const tree = `
find . -printf '%P %y %m %n %l\n' | sort; find . -type f -printf '%s %P\n' | sort -k 2; find . -type f | sort | xargs -r -d '\n' cksum`

// session is what somebody does in a folder of his own.
type session struct{ name, script string }

// sameAsNative has each session in a folder of the mount and in one of an ordinary filesystem. It must say the same, leave
// the same, for a stranger too, and leave nothing hidden behind.
func sameAsNative(t *testing.T, sessions []session, flags ...string) {
	t.Helper()
	z := newZoo(t, flags...)
	for n, s := range sessions {
		t.Run(s.name, func(t *testing.T) {
			z.t = t
			native, here := scratch(t), fmt.Sprintf("d%d", n)
			script := "export LC_ALL=C S=" + z.S + "; exec 2>&1; " + s.script + tree
			want, err := exec.Command("timeout", "20", "bash", "-c", "cd "+native+"; "+script).CombinedOutput()
			require.NoError(t, err, "%s", want)
			z.Must("mkdir " + here)
			assert.Equal(t, string(want), z.Run("cd "+here+"; "+script).Out, "what it says and leaves")
			z.Until("nothing is held", func() bool { return len(z.held()) == 0 })
			assert.Empty(t, z.Status(), "what it leaves hidden")
			want, err = exec.Command("bash", "-c", "cd "+native+tree).CombinedOutput()
			require.NoError(t, err)
			assert.Equal(t, string(want), z.Must("cd "+here+tree)+"\n", "what a stranger sees")
		})
	}
	z.t = t
}

func TestZooWhoChangesAFileInPlaceFindsItAsOnAnyFilesystem(t *testing.T) {
	sameAsNative(t, []session{
		{"sed -i", `echo a > f; chmod 640 f; sed -i s/a/b/ f; cat f; sed -i.bak s/b/c/ f; cat f f.bak`},
		{"perl -i", `echo a > f; perl -pi -e s/a/b/ f; cat f; perl -pi.orig -e s/b/c/ f; cat f f.orig`},
		{"sort -o", `printf 'b\na\n' > f; sort -o f f; cat f`},
		{"sort > g && mv g f", `printf 'b\na\n' > f; sort f > g && mv g f; cat f; (sort -r f > g) && mv g f; cat f`},
		{"grep -v > tmp && mv", `printf 'b\na\n' > f; grep -v b f > f.tmp && mv f.tmp f; cat f`},
		{"cat f >> f", `echo a > f; cat f >> f; cat f`},
		{"tee -a", `echo a > f; echo b | tee -a f; cat f`},
		{"ed", `echo a > f; printf 's/a/b/\nw\nq\n' | ed -s f; cat f`},
		{"patch", `printf 'a\nb\n' > f; printf -- '--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n' | patch -b f; cat f f.orig`},
		{"python: tempfile and os.replace", `echo old > f; python3 -c '
import os, tempfile
print(open("f").read())
t = tempfile.NamedTemporaryFile("w", dir=".", delete=False); t.write("new"); t.close(); os.replace(t.name, "f")'; cat f`},
		{"python: r+", `echo old > f; python3 -c '
f = open("f", "r+"); f.seek(1); f.write("X"); f.close(); print(open("f").read())'; cat f`},
		{"install", `echo a > a; install -m 640 a f; install -b -m 600 $S/f f; install -D -t x/y a; install -C a f; cat f`},
		{"dd", `dd if=$S/f of=f bs=64k conv=fsync status=none; dd if=/dev/zero of=f bs=1k count=1 seek=20 conv=notrunc status=none; dd if=/dev/zero of=g bs=1k count=1 seek=9 status=none`},
		{"truncate, fallocate", `truncate -s 5k f; truncate -s 2k f; fallocate -l 9k g; echo a > h; fallocate -o 1k -l 1k h; truncate -s 0 h`},
		{"exec 3<>", `echo abc > f; exec 3<>f; read -r -n 1 -u 3; echo X >&3; exec 3>&-; cat f`},
		{"noclobber", `set -C; echo a > f; echo b > f; echo c >| f; cat f`},
	})
}

// typed runs a program on a terminal and types: after each text that it shows, the keys that follow.
func typed(command string, dialogue ...string) string {
	return fmt.Sprintf(`TERM=vt100 python3 -c '
import os, pty, sys
words = sys.argv[1:]
pid, fd = pty.fork()
if pid == 0: os.execvp(words[0].split()[0], words[0].split())
def show():
    try: return os.read(fd, 4096)
    except OSError: return b""
for text, keys in zip(words[1::2], words[2::2]):
    shown = b""
    while text.encode() not in shown: shown += show() or sys.exit("it ended")
    os.write(fd, keys.encode())
while show(): pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))' %s; `, words(append([]string{command}, dialogue...)))
}

// words are shell words, one for each string.
func words(all []string) string {
	quoted := make([]string, len(all))
	for n, w := range all {
		quoted[n] = quote(w)
	}
	return strings.Join(quoted, " ")
}

func TestZooEditorsSaveAsOnAnyFilesystem(t *testing.T) {
	vim := func(options string) string {
		return `vim -es -u NONE -i NONE --cmd 'set nocp swapfile' --cmd 'set ` + options + `' -c 'call setline(1, "one")' -c w -c 'call setline(1, "two")' -c w -c q f < /dev/null; cat f;`
	}
	sameAsNative(t, []session{
		{"vim: a new file", vim("backup")},
		{"vim: writes it in place", `echo old > f; chmod 640 f; ` + vim("backupcopy=yes")},
		{"vim: without a backup", `echo old > f; ` + vim("nowritebackup nobackup")},
		{"vim: keeps the backup", `echo old > f; ` + vim("backup backupcopy=yes")},
		{"vim: moves the old file away", `echo old > f; ` + vim("backup backupcopy=no")},
		{"vim: moves the old file away, and removes it", `echo old > f; ` + vim("nobackup backupcopy=no")},
		{"vim: keeps the first version", `echo old > f; ` + vim("patchmode=.orig")},
		{"nano", `echo old > f; ` + typed("nano -I f", "Read 1 line", "new\x0f", "File Name to Write", "\r", "Wrote 1 line", "\x18") + `cat f`},
		{"nano: backup", `echo old > f; ` + typed("nano -I -B f", "Read 1 line", "new\x0f", "File Name to Write", "\r", "Wrote 1 line", "\x18") + `cat f f~`},
		{"nano: a new file", typed("nano -I f", "New File", "new\x0f", "File Name to Write", "\r", "Wrote 1 line", "\x18") + `cat f`},
		{"emacs", `echo old > f; ` + python + `
os.symlink("me@host.1:1", ".#f")                         # the lock
print(open("f").read())
os.rename("f", "f~")                                     # the backup
f = os.open("f", os.O_WRONLY|os.O_CREAT|os.O_TRUNC, 0o666); os.write(f, b"new\n"); os.fsync(f); os.close(f)
f = os.open("#f#", os.O_WRONLY|os.O_CREAT|os.O_TRUNC); os.write(f, b"newer\n"); os.close(f); os.unlink("#f#")  # auto-save
f = os.open("f", os.O_WRONLY|os.O_CREAT|os.O_TRUNC, 0o666); os.write(f, b"newer\n"); os.fsync(f); os.close(f)
os.unlink(".#f")'`},
		{"gedit and others of GNOME", `echo old > f; ` + python + `
print(open("f").read())
f = os.open(".goutputstream-ABC123", os.O_RDWR|os.O_CREAT|os.O_EXCL, 0o600); os.write(f, b"new\n"); os.fchmod(f, 0o644); os.close(f)
os.link("f", "f~"); os.rename(".goutputstream-ABC123", "f")'; cat f f~`},
	})
}

func TestZooArchivesAreMadeAndUnpackedAsOnAnyFilesystem(t *testing.T) {
	const stuff = `mkdir -p s/d; seq 9999 > s/a; ln -s a s/link; ln s/a s/d/hard; : > s/empty; chmod 600 s/empty; cp -p $S/f s/f; `
	sameAsNative(t, []session{
		{"tar", stuff + `tar cf t.tar s; rm -r s; tar xf t.tar; tar xf t.tar; tar df t.tar; tar rf t.tar s/a; tar tf t.tar | sort; tar czf t.tgz s; tar tf t.tgz | sort; rm t.*`},
		{"zip", stuff + `zip -qry t.zip s; zip -q t.zip s/a; seq 9 > b; zip -q t.zip b; zip -qd t.zip b; zip -qm u.zip b; zip -qg u.zip s/a; unzip -qt t.zip; unzip -Z1 t.zip | sort; unzip -Z1 u.zip; rm *.zip`},
		{"unzip", stuff + `(cd s; zip -qry $S/s.zip .); rm -r s; unzip -q $S/s.zip; unzip -qo $S/s.zip; unzip -p $S/s.zip a | cmp - a; rm $S/s.zip`},
		{"gzip, xz, zstd", `cp $S/f f; gzip f; gunzip -k f.gz; xz -0 f; unxz f.xz; zstd -q --rm f; unzstd -q f.zst; cmp f $S/f; rm f.*`},
		{"split", `split -b 70000 $S/f part-; cat part-* | cmp - $S/f; split -n 3 $S/f n.; seq 100 | split -l 30 --filter 'cat > $FILE.x' - z.; csplit -s z.aa.x 5; cat part-* n.* > all`},
		{"cp", stuff + `cp -a s t; cp -a s/. t; cp -al s l; cp -u s/a t/a; cp -f --remove-destination s/a t/a; cp --backup=numbered s/a t/a; cp --sparse=always s/f t/f; cp --reflink=auto s/f t/g; cp s/a s/a; diff -r s t`},
		{"mv", stuff + `mv s t; mkdir s; mv t/* s; mv -n s/a s/f; mv -b s/a s/f; mv s/f s/f~ t`},
		{"rsync", stuff + `rsync -aH s/ t; rsync -aHi s/ t; seq 9 >> s/f; touch -d 2002-02-02 s/f; rsync -aHi --no-whole-file s/ t; rsync -ai -b s/ u; seq 9 >> s/f; rsync -a -b s/ u; rsync -a --link-dest=../t s/ v; rsync -a --delete --remove-source-files s/ w`},
		{"sqlite under any name", `sqlite3 f 'create table t (x); insert into t values (1)'; sqlite3 f 'insert into t values (2); select sum(x) from t'; sqlite3 f .dump > dump; sqlite3 f 'pragma journal_mode = persist; delete from t; insert into t values (3); vacuum; pragma integrity_check'; sqlite3 f .dump; rm f*`},
	})
}

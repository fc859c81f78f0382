package tests

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// feed writes a file's first half, waits to be told, and writes the rest.
const feed = `feed() { printf 'first\n'; read -r; printf 'second\n'; }; `

// python is the start of a program that has imported what the writers need.
const python = `exec python3 -c 'import mmap, os, sys, tempfile
`

// look is everything a stranger finds out about f: the listing of its folder, its size, its bytes. "" is nothing.
const look = `ls -A; stat -c %s f 2>/dev/null; cat f 2>/dev/null; true`

const (
	whole     = "first\nsecond\n"
	wholeSeen = "f\n13\n" + whole
)

// halfway waits until somebody has written half of a file, under whatever name.
func (m *Mount) halfway(half int64) {
	m.t.Helper()
	m.Until("half of the file is written", func() bool {
		for _, items := range m.Status() {
			for _, i := range items {
				if i.State == "staged" && i.Size >= half && i.Writers > 0 {
					return true
				}
			}
		}
		return false
	})
}

// nothingIsLeft waits until the looks of strangers are over too.
func (m *Mount) nothingIsLeft() {
	m.t.Helper()
	m.Until("nothing is left to explain", func() bool { return len(m.Status()) == 0 })
}

// TestI1_NothingIsSeenOfAFileUntilItsWriterIsDone stops each writer half-way.
func TestI1_NothingIsSeenOfAFileUntilItsWriterIsDone(t *testing.T) {
	for _, w := range []struct {
		name   string
		script string
		half   int64 // bytes that are written when it stops
	}{
		{"shell >", feed + `feed > f`, 6},
		{"shell >> to a new name", feed + `feed >> f`, 6},
		{"subshell", feed + `( feed ) > f`, 6},
		{"group in the background", feed + `exec 9<&0; { feed <&9; } > f & wait`, 6},
		{"exec 3>", `exec 3>f; printf 'first\n' >&3; read -r; printf 'second\n' >&3; exec 3>&-`, 6},
		{"exec 3>, closed by exit", `exec 3>f; printf 'first\n' >&3; read -r; printf 'second\n' >&3`, 6},
		{"cp", feed + `feed | cp /dev/stdin f`, 6},
		{"dd", feed + `feed | dd of=f bs=4k status=none`, 6},
		{"tee", feed + `feed | tee f >/dev/null`, 6},
		{"install", feed + `feed | install -m 644 /dev/stdin f`, 6},
		{"sort -o", feed + `feed | sort -o f`, 0},
		{"cat to a temp name, then mv", feed + `feed | cat > f.part && mv f.part f`, 6},
		{"a temp name, then ln and rm", feed + `feed > t.tmp && ln t.tmp f && rm t.tmp`, 6},
		{"python open", python + `
with open("f", "w") as f:
    f.write("first\n"); f.flush(); input(); f.write("second\n")'`, 6},
		{"mkstemp and os.replace", python + `
fd, name = tempfile.mkstemp(dir=".")
os.write(fd, b"first\n"); input(); os.write(fd, b"second\n"); os.close(fd)
os.replace(name, "f")'`, 6},
		{"shared mapping", python + `
fd = os.open("f", os.O_RDWR|os.O_CREAT)
os.ftruncate(fd, 13)
m = mmap.mmap(fd, 13); os.close(fd)
m[:6] = b"first\n"; m.flush(); input(); m[6:] = b"second\n"'`, 13},
		{"a child writes what its parent opened", python + `
fd = os.open("f", os.O_WRONLY|os.O_CREAT)
if os.fork() > 0: os.close(fd); os._exit(0)
os.write(fd, b"first\n"); input(); os.write(fd, b"second\n"); os.close(fd)'`, 6},
		{"never closes", python + `
fd = os.open("f", os.O_WRONLY|os.O_CREAT)
os.write(fd, b"first\n"); input(); os.write(fd, b"second\n"); os._exit(0)'`, 6},
		{"writes backwards", python + `
fd = os.open("f", os.O_WRONLY|os.O_CREAT)
os.pwrite(fd, b"second\n", 6); input(); os.pwrite(fd, b"first\n", 0); os.close(fd)'`, 13},
	} {
		t.Run(w.name, func(t *testing.T) {
			m := mount(t)
			p := m.Start("%s", w.script)
			m.halfway(w.half)
			require.Empty(t, m.Must("%s", look), "half-way")
			p.Say()
			end := p.Wait()
			require.Zero(t, end.Code, end.Out)
			require.Equal(t, wholeSeen, m.Run("%s", look).Out, "after its end")
			m.nothingIsLeft()
		})
	}
}

// TestI1_AWriterThatExtractsAnArchiveShowsNoHalfFile: tar reads records of 10,240 bytes.
func TestI1_AWriterThatExtractsAnArchiveShowsNoHalfFile(t *testing.T) {
	m := mount(t)
	archive := scratch(t) + "/a.tar"
	m.Must(`d=$(mktemp -d) && seq 10000 > $d/f && touch -d 2001-02-03 $d/f && tar cf %s -C $d f && rm -r $d`, archive)
	p := m.Start(`{ head -c 20480; read -r <&9; cat; } 9<&0 < %s | tar xf -`, archive)
	m.halfway(1)
	require.Empty(t, m.Must("%s", look))
	p.Say()
	require.Zero(t, p.Wait().Code)
	require.Equal(t, m.Must("seq 10000"), m.Must("cat f"))
	require.Equal(t, "2001-02-03", m.Must("date -r f --iso-8601"), "the time that its writer set")
}

// TestI1_WhoFindsAFileFindsAllOfIt: a stranger looks all the time while a writer that can't be stopped half-way runs.
func TestI1_WhoFindsAFileFindsAllOfIt(t *testing.T) {
	const size = "1048576"
	for _, w := range []struct{ name, script string }{
		{"mv from outside", `mv $OUT/in f`},
		{"cp from outside", `cp $OUT/in f`},
		{"mv within", `cp $OUT/in g.part && mv g.part f`},
		{"dd in small blocks", `dd if=$OUT/in of=f bs=16k status=none`},
		{"install", `install -m 600 $OUT/in f`},
		{"truncate", `truncate -s ` + size + ` f`},
		{"rsync", `rsync $OUT/in f`},
		{"hundreds of small writes", `while IFS= read -r -n 4096 b; do printf %s "$b"; done < $OUT/in > f`},
	} {
		t.Run(w.name, func(t *testing.T) {
			m := mount(t)
			outside := scratch(t)
			m.Must(`head -c %s /dev/zero | tr '\0' x > %s/in`, size, outside)
			watcher := m.Start(`until [ -e f ]; do :; done; wc -c < f; ls -A; head -c 0 f`)
			m.Must("OUT=%s; %s", outside, w.script)
			found := watcher.Wait()
			require.Equal(t, size+"\nf\n", found.Out)
		})
	}
}

// TestI1_EditingInPlaceShowsOneVersionOrTheOther: who edits a file reads it first, so it is his until he is done.
func TestI1_EditingInPlaceShowsOneVersionOrTheOther(t *testing.T) {
	for _, w := range []struct{ name, script string }{
		{"sed -i", `sed -i '1s/.*/first/; 2s/.*/second/; 2e read -r x' f`},
		{"sort -o onto its input", `sort -o f f && read -r`},
		{"read, then rename over it", `sort f > f.tmp; read -r; mv f.tmp f`},
	} {
		t.Run(w.name, func(t *testing.T) {
			m := mount(t)
			m.Must(`printf 'second\nfirst\n' > f`)
			p := m.Start("%s", w.script)
			m.Until("the editor has read the file", func() bool { return m.State("f") == "claimed" })
			require.Empty(t, m.Must("%s", look), "half-way")
			p.Say()
			end := p.Wait()
			require.Zero(t, end.Code, end.Out)
			require.Equal(t, wholeSeen, m.Run("%s", look).Out)
		})
	}
}

// TestI1_ANewVersionIsSeenAtItsCloseOnly: until then everybody has the old one.
func TestI1_ANewVersionIsSeenAtItsCloseOnly(t *testing.T) {
	for _, w := range []struct{ name, script, after string }{
		{"shell >", `exec 3>f; printf 'first\n' >&3; read -r; printf 'second\n' >&3`, whole},
		{"shell >>", `exec 3>>f; printf 'first\n' >&3; read -r; printf 'second\n' >&3`, "old\n" + whole},
		{"rename of an open file", `exec 3>t.tmp; printf 'first\n' >&3; mv t.tmp f; read -r; printf 'second\n' >&3`, whole},
	} {
		t.Run(w.name, func(t *testing.T) {
			m := mount(t)
			m.Must("echo old > f")
			p := m.Start("%s", w.script)
			m.halfway(6)
			require.Equal(t, "f\n4\nold\n", m.Run("%s", look).Out)
			p.Say()
			require.Zero(t, p.Wait().Code)
			require.Equal(t, w.after, m.Run("cat f").Out)
		})
	}
}

func TestI4_AMoveWithinOrOutOfTheMountLeavesOneFile(t *testing.T) {
	m := mount(t)
	outside := scratch(t)
	m.Must("mkdir a b; echo data > a/f; mv a/f b/g")
	require.Empty(t, m.List("a"))
	require.Equal(t, []string{"g"}, m.List("b"))
	m.Must("mv b/g %s/out", outside)
	require.Empty(t, m.List("b"))
	require.Equal(t, "data", m.Must("cat %s/out", outside))
	m.nothingIsLeft()
}

package tests

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// hoards are what bob can pile up, in Python, in a mount that has room for some 70 open files, until it is refused. He then
// keeps it.
var hoards = map[string]string{
	"files being written": `
		def more(n): return os.open(f"in/{n}", os.O_WRONLY | os.O_CREAT)`,
	"claims": `
		for n in range(200): open(f"in/{n}", "w").close()
		def more(n): return os.open(f"in/{n}", os.O_RDONLY)`,
	"one file, opened often": `
		open("in/log.lock", "w").close()
		def more(n): return os.open("in/log.lock", os.O_RDWR)`,
	"claims of one process each": `
		for n in range(200): open(f"in/{n}", "w").close()
		def more(n):
			done, tell = os.pipe()
			if os.fork() == 0:
				try: f = open(f"in/{n}")
				except OSError as e: os.write(tell, bytes([e.errno])); os._exit(1)
				os.write(tell, b"\0")
				os.read(0, 1)
				os._exit(0)
			e = os.read(done, 1)[0]
			if e: raise OSError(e, "refused")`,
	"temp files": `
		def more(n):
			f = os.open(f"in/{n}.tmp", os.O_RDWR | os.O_CREAT)
			os.write(f, b"x" * 5000)
			return f`,
	"reports": `
		for n in range(2000):
			try: os.rename("in/none", "adm/none")
			except OSError: pass
		def more(n): return os.open(".airlockfs/events", os.O_RDONLY)`,
	"locks": `
		f = os.open("in/f.lock", os.O_RDWR | os.O_CREAT)
		def more(n): fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 2 * n)`,
}

const hoard = `
		kept = []
		try:
			for n in range(15000): kept.append(more(n))
		except OSError as e:
			assert e.errno in (errno.ENFILE, errno.ENOLCK, errno.EDQUOT), e
			print(e, flush=True)
		open(sys.argv[1] + "/done", "w").close()
		sys.stdin.read()`

// Whatever bob hoards, alice works on.
func TestAttack_HoardingLeavesRoomForOthers(t *testing.T) {
	for name, pile := range hoards {
		t.Run(name, func(t *testing.T) {
			m := mountLimited(t, 192)
			m.Must(folders)
			marks := scratch(t)
			m.Must(`chmod 777 %s; mkdir -m 777 out`, marks)
			b := m.StartAs(bob, "ulimit -n 6000; %s %s", pythonProgram(pile+"\n"+hoard[1:]), marks)
			m.untilMarked(marks, 1)
			r := m.RunAs(alice, `set -e; for n in $(seq 20); do echo $n > out/$n; done; exec 3< out/1 4< out/2 5> out/more 6> out/f.tmp
				cat out/[3-9] > /dev/null; rm out/1; mv out/f.tmp out/f; flock -n out/l.lock true; %s status . > /dev/null; echo fine`, binary)
			require.Equal(t, result{Out: "fine\n"}, r)
			require.Regexp(t, `^\[Errno`, b.Kill().Out, "he was stopped")
		})
	}
}

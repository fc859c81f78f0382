package caller

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const statusText = "Name:\ta\\n\\\\b\nUmask:\t0022\nTgid:\t12\nNgid:\t0\nPid:\t13\nPPid:\t11\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\n" +
	"FDSize:\t64\nGroups:\t9 10 \nNStgid:\t12\t2\nNSpid:\t13\t3\nNSpgid:\t10\t1\nNSsid:\t9\t0\nVmSize:\t 3040 kB\nSigIgn:\t0000000000280004\n"

const statText = "13 (a) S (b) Z 11 10 9 34816 10 4194372 1 2 3 4 5 6 7 8 20 0 1 0 987654 3112960 400 18446744073709551615 " +
	"1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 768\n"

func TestParseStatus(t *testing.T) {
	got, err := parseStatus([]byte(statusText))
	require.NoError(t, err)
	assert.Equal(t, status{name: "a\n\\b", tgid: 12, ppid: 11, uid: 4, gid: 8, group: 10, session: 9, groups: []uint32{9, 10}, numbers: []int{12, 2}, ignored: 0x280004}, got)
}

func TestOnlyAShellThatTheTerminalMayNotStopHasAPrompt(t *testing.T) {
	for st, want := range map[*status]bool{
		{name: "bash", ignored: 0x384004}: true, {name: "sh", ignored: 1<<19 | 1<<21}: true,
		{name: "bash", ignored: 1 << 19}: false, {name: "sh"}: false, {name: "emacs", ignored: 0x384004}: false,
	} {
		assert.Equal(t, want, st.jobControl(), st)
	}
}

func TestParseStat(t *testing.T) {
	got, err := parseStat([]byte(statText))
	require.NoError(t, err)
	assert.Equal(t, stat{name: "a) S (b", state: 'Z', tty: 34816, flags: 4194372, start: 987654, exit: 768}, got)
	assert.True(t, got.exiting())
	assert.True(t, got.dead())
	assert.False(t, got.execed())
}

func TestParsersRefuseWhatTheyDoNotKnow(t *testing.T) {
	for _, text := range []string{"", "Tgid:\n", "Tgid:\tx\n", "Tgid:\t-1\n", "Tgid:\t1\nUid:\t1\n", "Tgid:\t1\nGroups:\tx\n"} {
		_, err := parseStatus([]byte(text))
		assert.ErrorIs(t, err, errFormat, "%q", text)
	}
	for _, text := range []string{"", ")(", "1 (a)", "1 (a) S 1", "1 (a) SS" + statText[len("13 (a) S (b) Z"):]} {
		_, err := parseStat([]byte(text))
		assert.ErrorIs(t, err, errFormat, "%q", text)
	}
}

func TestParsersReadTheirOwnProcess(t *testing.T) {
	text, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	st, err := parseStatus(text)
	require.NoError(t, err)
	assert.Equal(t, [3]int{os.Getpid(), os.Getppid(), os.Getuid()}, [3]int{st.tgid, st.ppid, int(st.uid)})
	text, err = os.ReadFile("/proc/self/stat")
	require.NoError(t, err)
	s, err := parseStat(text)
	require.NoError(t, err)
	assert.Equal(t, st.name, s.name)
	assert.True(t, s.execed())
	assert.False(t, s.exiting())
}

func FuzzStatus(f *testing.F) {
	f.Add([]byte(statusText))
	f.Fuzz(func(t *testing.T, text []byte) {
		st, err := parseStatus(text)
		if err == nil && (st.tgid <= 0 || st.ppid < 0 || st.group < 0 || st.session < 0) {
			t.Errorf("accepted %+v", st)
		}
	})
}

func FuzzStat(f *testing.F) {
	f.Add([]byte(statText))
	f.Fuzz(func(t *testing.T, text []byte) {
		st, err := parseStat(text)
		if err == nil && st.state == 0 {
			t.Errorf("accepted %+v", st)
		}
	})
}

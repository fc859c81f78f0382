package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatIsAMark(t *testing.T) {
	rule, err := ParseRule("lk/**=lock")
	require.NoError(t, err)
	rules, err := NewRules([]Rule{rule}, DefaultNames())
	require.NoError(t, err)
	for at, want := range map[[2]string]MarkKind{
		{"", "x.lock"}: MarkIfPid, {"", "daemon.pid"}: MarkIfPid, {"", "lock"}: MarkIfPid, {"", ".#doc"}: MarkIfPid, {"lk", "anything"}: MarkIfPid,
		{"r/.git", "index.lock"}: MarkAlways, {"r/.git/refs/heads", "main.lock"}: MarkAlways, {"bare.git", "HEAD.lock"}: MarkAlways,
		{"", ".~lock.a.odt#"}: MarkAlways, {"", "~$a.docx"}: MarkAlways,
		{"", ".a.swp"}: NoMark, {"lk", ".a.swp"}: NoMark, {"", "order.xml"}: NoMark, {"r/.git", "index"}: NoMark, {"x.gitty", "a.lock"}: MarkIfPid,
	} {
		assert.Equal(t, want, rules.At(at[0], at[1]).Marks(at[0], at[1]), "%s/%s", at[0], at[1])
	}
	assert.Equal(t, []MarkKind{NoMark, NoMark, MarkAlways, MarkIfPid}, []MarkKind{MarkIfPid.By("cp"), MarkIfPid.By("git"), MarkAlways.By("git"), MarkIfPid.By("mkdir")})
	assert.Equal(t, NoMark, rules.At("in", "f").Created(Creation{ReadOnly: true}).Marks("in", "f"), "made to be locked, not to be there")
}

func TestWhatAMarkSays(t *testing.T) {
	for text, want := range map[string]MarkText{
		"": {Alone: true}, "\n": {Alone: true}, "123\n": {PIDs: []int{123}, Alone: true}, "       123\n": {PIDs: []int{123}, Alone: true},
		"123\nhost\n/srv\n": {PIDs: []int{123}}, "host:123": {PIDs: []int{123}}, "pid=123": {PIDs: []int{123}}, "host 123": {PIDs: []int{123}},
		"me@host.123:1700000000": {PIDs: []int{123}}, `{"pid": 123, "since": 5}`: {PIDs: []int{123}}, `{"version":1}`: {},
		"me,host": {}, "0": {Alone: true}, "4194305": {Alone: true}, "v1.2.3": {}, "1.2.3": {}, "host\n123\n": {}, "abc123": {},
		"# made by Cargo\nversion = 4\n": {}, "version = 4\n\n[[package]]\nname = \"x\"\n": {},
	} {
		assert.Equal(t, want, ReadMark([]byte(text)), "%q", text)
	}
	long := make([]byte, LongestMark+1)
	for n := range long {
		long[n] = '1'
	}
	assert.Equal(t, MarkText{}, ReadMark(long))
	assert.Equal(t, MarkText{PIDs: []int{123, 17}, Alone: true}, ReadMarkLink("me@host.123:17"))
}

func TestARecordOfAMarkIsReadBack(t *testing.T) {
	r := MarkRecord{Line: Line{Process: Process{Host: "aa", Boot: "bb", PID: 7, Start: 8, UID: 9, Session: 10}, Heirs: [3]Heir{{PID: 5, Start: 6}}},
		Folder: "1z", Name: "~$a~", Ino: 11, Born: 12, Since: time.Unix(13, 14), UID: 16, Number: 15}
	got, err := ParseMarkRecord(r.String())
	require.NoError(t, err)
	assert.Equal(t, r, got)
	for _, bad := range []string{"", "x", "~~~~~/", "1~2~3~4~5~6~7/n", r.Line.String() + "~1~01~1~1~0~0/n", r.Line.String() + "~1~1~1~1~0~0/"} {
		_, err := ParseMarkRecord(bad)
		assert.Error(t, err, bad)
	}
}

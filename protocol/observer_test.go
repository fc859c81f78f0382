package protocol

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseObserver(t *testing.T) {
	o, err := ParseObserver("uid=65534")
	require.NoError(t, err)
	assert.Equal(t, ObserverByUID, o.By)
	assert.True(t, o.MatchesUID(65534) && !o.MatchesUID(0) && !o.MatchesName("65534") && o.SeesClaimed())

	o, err = ParseObserver("exe=/opt/scan/bin=1/scan")
	require.NoError(t, err)
	assert.Equal(t, ObserverByExe, o.By)
	assert.Equal(t, "/opt/scan/bin=1/scan", o.Exe)
	assert.True(t, !o.MatchesUID(0) && !o.MatchesName("scan") && o.SeesClaimed())
}

func TestObserverNames(t *testing.T) {
	for glob, names := range map[string]struct{ yes, no string }{
		"scan":                  {"scan", "scand xscan SCAN"},
		"scan*":                 {"scan scand", "xscan"},
		"{clam,free}*":          {"clamscan free", "freshclam"},
		"gnome-desktop-thumb*":  {"gnome-desktop-t gnome-desktop-thumbnailer", "gnome-desktop"},
		"a-very-long-program-x": {"a-very-long-pro a-very-long-program-x", "a-very-long-pr"},
		"[ab]?":                 {"ax bé", "cx a"},
	} {
		o, err := ParseObserver("name=" + glob)
		require.NoError(t, err)
		assert.Equal(t, ObserverByName, o.By)
		assert.False(t, o.SeesClaimed(), "anybody can take a name")
		assert.False(t, o.MatchesUID(0))
		for _, name := range strings.Fields(names.yes) {
			assert.True(t, o.MatchesName(name), "%s should match %s", glob, name)
		}
		for _, name := range strings.Fields(names.no) {
			assert.False(t, o.MatchesName(name), "%s should not match %s", glob, name)
		}
	}
}

func TestParseObserverErrors(t *testing.T) {
	for text, want := range map[string]string{
		"": "uid=N", "65534": "uid=N", "UID=1": "uid=N", "gid=1": "uid=N",
		"uid=": "number", "uid=nobody": "number", "uid=-1": "number", "uid=4294967295": "number", "uid=+1": "number",
		"exe=": "absolute", "exe=scan": "absolute", "exe=./scan": "absolute",
		"name=": "program's name", "name=**": "program's name", "name=[": "malformed", "name={a": "brace", "name=a**": "stand alone",
	} {
		_, err := ParseObserver(text)
		require.ErrorContains(t, err, want, "%q", text)
		require.ErrorContains(t, err, "observer ", "%q", text)
	}
}

func FuzzObserver(f *testing.F) {
	for _, text := range []string{"uid=0", "uid=007", "exe=/bin/true", "name=*", "name=a{b,c}[d]?*", "name=\xff*", "name=aaaaaaaaaaaaaaa\xc3\xa9*"} {
		f.Add(text, "aaaaaaaaaaaaaaa\xc3")
	}
	f.Fuzz(func(t *testing.T, text, program string) {
		o, err := ParseObserver(text)
		if err != nil {
			return
		}
		again, err := ParseObserver(o.String())
		require.NoError(t, err)
		assert.Equal(t, o, again)
		assert.Equal(t, o.MatchesName(program), o.MatchesName(taskName(program)), "the kernel keeps 15 bytes")
	})
}

package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func applied(t *testing.T, text string) *settings {
	s := &settings{}
	require.NoError(t, s.applyOptions(s.mountFlags(), text, false))
	return s
}

func TestOptionsOfMount8(t *testing.T) {
	s := applied(t, "rw,nosuid,nodev,noexec,noatime,allow_other,default_permissions,user=joe,_netdev,nofail,x-systemd.automount,context=a:b")
	assert.Equal(t, []string{"noexec", "noatime", "context=a:b"}, s.mountOptions)
	assert.False(t, s.readOnly)
	assert.True(t, applied(t, "rw,ro").readOnly)
}

func TestOptionsThatAreFlags(t *testing.T) {
	s := applied(t, `linger=10m,ignore-litter,rule=in/**=queue\,publish=exit,rule=b=plain,sync=full,sync`)
	assert.Equal(t, 10*time.Minute, s.linger)
	assert.True(t, s.ignoreLitter)
	rules, from := s.ruleTexts()
	assert.Equal(t, []string{"in/**=queue,publish=exit", "b=plain"}, rules)
	assert.Equal(t, []string{"--rule", "--rule"}, from)
	assert.Equal(t, "full", s.sync)
	assert.Equal(t, []string{"sync"}, s.mountOptions)
}

func TestOptionsAreRefused(t *testing.T) {
	for text, want := range map[string]string{"nosuch": `"nosuch"`, "linger": "a value is missing", "linger=soon": `-o linger: "soon" is no duration`, "lingr=1h": "did you mean linger?", "suid": "suid",
		"bogus,lingr=1h,noexec,x": `-o: there is no mount option "bogus"; there is no mount option "lingr=1h": did you mean linger?; there is no mount option "x"; there are ro, rw, the flags`,
		"zzzzzz":                  "for the kernel noexec noatime", "remount": "unmount and mount again", "rw,remount": "unmount and mount again"} {
		s := &settings{}
		err := s.applyOptions(s.mountFlags(), text, false)
		assert.ErrorContains(t, err, want)
		assert.Equal(t, exitUsage, exitCode(err))
	}
	s := &settings{}
	assert.NoError(t, s.applyOptions(s.mountFlags(), "nosuch", true))
}

func TestFlagArgsRepeatTheCommandLine(t *testing.T) {
	s := &settings{}
	f := s.mountFlags()
	require.NoError(t, f.Parse([]string{"--rule", "a,b=plain", "--rule=c=log", "--linger=5m", "--require", "xattr,leases", "-v"}))
	again := &settings{}
	require.NoError(t, again.mountFlags().Parse(flagArgs(f)))
	assert.Equal(t, s, again)
}

func FuzzSplitOptions(f *testing.F) {
	for _, seed := range []string{"", "a,b", `a\,b`, `a\\,b`, `\`, `,`, `\x`} {
		f.Add(seed)
	}
	escape := strings.NewReplacer(`\`, `\\`, `,`, `\,`)
	f.Fuzz(func(t *testing.T, text string) {
		assert.Equal(t, []string{text}, splitOptions(escape.Replace(text)))
		options := splitOptions(text)
		var written []string
		for _, o := range options {
			written = append(written, escape.Replace(o))
		}
		assert.True(t, slices.Equal(options, splitOptions(strings.Join(written, ","))))
	})
}

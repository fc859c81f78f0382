package tests

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// leaseFile is a lease file as other programs read it.
type leaseFile struct {
	OwnerID     string    `json:"ownerId"`
	Host        string    `json:"host"`
	PID         int       `json:"pid"`
	AcquiredAt  time.Time `json:"acquiredAt"`
	ExpiresAt   time.Time `json:"expiresAt"`
	HeartbeatAt time.Time `json:"heartbeatAt"`
	Token       uint64    `json:"token"`
}

const leaseName = "user.airlockfs.lease"

// lease is the lease that a client reads of a file, in each part as promised.
func (m *Mount) lease(c *Client, name string) leaseFile {
	m.t.Helper()
	var l leaseFile
	text := c.Call("xattr", name, leaseName)
	known := json.NewDecoder(strings.NewReader(text))
	known.DisallowUnknownFields()
	require.NoError(m.t, known.Decode(&l), text)
	require.Regexp(m.t, `"heartbeatAt":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z"`, text)
	require.False(m.t, l.AcquiredAt.After(l.HeartbeatAt), text)
	require.True(m.t, time.Now().Before(l.ExpiresAt), text)
	return l
}

func TestI5_AClaimIsALeaseThatIsRenewedByItself(t *testing.T) {
	m := mount(t)
	m.Must("echo text > f; echo text > public")
	owner, stranger := m.Client(), m.Client()
	owner.OK("open f f r")
	first := m.lease(owner, "f")
	require.Equal(t, owner.PID(), first.PID)
	require.Equal(t, strings.TrimSpace(m.Must("uname -n")), first.Host)
	require.Equal(t, 30*time.Second, first.ExpiresAt.Sub(first.HeartbeatAt))
	m.Until("it is renewed", func() bool { return m.lease(owner, "f").HeartbeatAt.After(first.HeartbeatAt) })
	again := m.lease(owner, "f")
	require.Equal(t, []any{first.OwnerID, first.AcquiredAt, first.Token}, []any{again.OwnerID, again.AcquiredAt, again.Token})
	require.Equal(t, "ENODATA", owner.Call("xattr", "public", leaseName), "what nobody has claimed has no lease")
	require.Equal(t, "EPERM", owner.Call("setxattr", "f", leaseName, "{}"))
	require.Equal(t, "ENOENT", stranger.Call("xattr", "f", leaseName))
	require.Equal(t, first.Token, m.item("f").Token, "operators find it, too")
	require.Regexp(t, `(?m)^  token +\d+$`, m.Must("%s why f", quote(binary)))
	owner.Kill()
	require.Equal(t, "ENODATA", stranger.Call("xattr", "f", leaseName), "it ends with its owner")
}

func TestALeaseThatWillLingerOutSaysSo(t *testing.T) {
	m := mount(t, "--linger", "20s")
	m.Must("echo text > f")
	owner := m.Client()
	owner.OK("open f f r", "close f")
	l := m.lease(owner, "f")
	require.LessOrEqual(t, l.ExpiresAt.Sub(l.HeartbeatAt), 20*time.Second)
}

func TestALeaseTellsOtherUsersOnlyThatThereIsOne(t *testing.T) {
	m := mount(t)
	require.Zero(t, m.RunAs(0, "chmod 1777 .").Code)
	p := m.StartAs(alice, `echo text > f; echo; read; getfattr -n %s --only-values f; read`, leaseName)
	m.Until("it is there", func() bool { return m.Run("test -e f").Code == 0 })
	owner := m.Client()
	owner.OK("open f f r")
	p.Say()
	p.Say()
	out := p.Wait().Out
	require.Contains(t, out, `"ownerId":"another user","host":"","pid":0`)
	require.Contains(t, out, `"token":`)
}

// Tokens grow with each claim, whoever makes it and by which call, and over restarts; nothing is written for one.
func TestI5_TokensGrowWithEachClaim(t *testing.T) {
	m := mount(t)
	m.Must("mkdir in; echo text > in/f; echo text > in/kept")
	last := uint64(0)
	grown := func(c *Client, name string) {
		t.Helper()
		token := m.lease(c, name).Token
		require.Greater(t, token, last)
		last = token
	}
	keeper := m.Client()
	keeper.OK("open k in/kept r")
	grown(keeper, "in/kept")
	for range 3 {
		for range 3 {
			c := m.Client()
			c.OK("open f in/f r")
			grown(c, "in/f")
			token := last
			c.OK("close f", "open f in/f r", "open w in/f rw", "write w text")
			require.Equal(t, token, m.lease(c, "in/f").Token, "he writes within his claim")
			c.OK("close w", "rename in/f in/g.tmp")
			require.Equal(t, token, m.lease(c, "in/g.tmp").Token, "it is the same claim")
			c.Kill()
			mover := m.Client()
			mover.OK("rename in/f in/f.tmp")
			grown(mover, "in/f.tmp")
			mover.Kill()
		}
		m.crash()
		m.start()
		keeper.OK("chdir " + m.Dir)
		grown(keeper, "in/kept")
	}
	require.Len(t, strings.Fields(m.Must("ls %s", quote(m.Below(".airlockfs/tokens")))), 1)
	keeper.OK("chdir /")
}

func TestI5_ARestartRemembersFormerClaimants(t *testing.T) {
	m := mount(t)
	m.Must("echo text > released; echo text > behind; echo text > again; echo text > dead")
	former, dead := m.Client(), m.Client()
	former.OK("open r released r", "open b behind r", "open a again r")
	dead.OK("open d dead r")
	m.Must("echo newer > behind")
	for _, f := range []string{"released", "behind", "again", "dead"} {
		m.order("release " + f)
	}
	another := m.Client()
	another.OK("open r released r")
	m.order("release released")
	m.crash()
	dead.Kill()
	m.start()
	for _, c := range []*Client{former, another} {
		c.OK("chdir " + m.Dir)
	}
	require.Equal(t, "ENOTCONN", former.Call("read", "r"), "descriptors do not survive their daemon")
	for _, call := range []string{"unlink released", "rename released x", "unlink behind", "unlink again", "open w again wt"} {
		require.Equal(t, "EBUSY", former.Call(callWords(call)...), call)
	}
	require.Equal(t, "EBUSY", another.Call("unlink", "released"))
	former.OK("open a again r", "unlink again", "open r released r", "unlink released")
	m.Must("rm behind dead")
	require.Equal(t, "text", m.Must("cat behind"))
	require.Equal(t, "EBUSY", former.Call("unlink", "behind"))
	for _, c := range []*Client{former, another} {
		c.OK("chdir /")
	}
}

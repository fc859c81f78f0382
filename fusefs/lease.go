package fusefs

import (
	"encoding/json"
	"syscall"
	"time"

	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/protocol"
)

// leaseTerm is for how long a lease holds from the moment it is read. The claim ends with its party or by an order, not by
// that time; who has looked knows no more.
const leaseTerm = 30 * time.Second

// leaseTextLocked is the attribute user.airlockfs.lease. What is written within a claim has the claim's.
func (d *desk) leaseTextLocked(n *node, uid uint32) (string, error) {
	if base := d.table.byID[uint64(n.bytes.item.Base)]; n.bytes.item.InClaim && base != nil {
		n = base
	}
	l := d.leaseLocked(n, uid)
	if l == nil {
		return "", syscall.ENODATA
	}
	b, err := json.Marshal(l)
	return string(b), err
}

// leaseLocked is the claim on an item as a lease, nil if there is none. It is made when it is read, so it is as fresh as
// can be while the claim lasts, and costs nobody anything. Times are of the wall clock as it is now.
func (d *desk) leaseLocked(n *node, uid uint32) *report.Lease {
	i := &n.bytes.item
	if i.State != protocol.Claimed {
		return nil
	}
	now, left := d.Now(), leaseTerm
	if ends := d.endsLocked(n); !ends.IsZero() {
		left = max(0, min(left, ends.Sub(now)))
	}
	l := report.Lease{OwnerID: "another user", AcquiredAt: stamp(i.Since), HeartbeatAt: stamp(now), ExpiresAt: stamp(now.Add(left)), Token: i.Token}
	if d.oversees(uid) || uid == i.UID {
		l.Host = d.host
		if p := d.Callers.Party(i.Owner); p != nil {
			l.OwnerID, l.PID = p.Process.String(), p.Process.PID
		}
	}
	return &l
}

// stamp is a time as leases have it: RFC 3339, in UTC, to the millisecond.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

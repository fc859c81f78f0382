package fusefs

import "time"

// While a mount serves, all that it waits for is measured by the machine's own clock, which nobody sets (a time.Time knows
// both). The disk knows only the time of day. What it says is turned into the former once, at the mount: from then on
// setting the clock changes nothing, and a clock that has been set back lets nothing wait longer than it would from now on.

// past is a time that the disk says was; now, if it is yet to come.
func (d *desk) past(t time.Time) time.Time {
	now := d.Now()
	return now.Add(-max(0, now.Sub(t)))
}

// within is the end that the disk says of something that takes so long, zero if it says none.
func (d *desk) within(end time.Time, long time.Duration) time.Time {
	if end.IsZero() {
		return end
	}
	now := d.Now()
	left := end.Sub(now)
	if long > 0 {
		left = min(left, long)
	}
	return now.Add(left)
}

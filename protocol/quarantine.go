package protocol

import (
	"cmp"
	"slices"
	"time"
)

// Bounds are how much of what failed is kept. Zero values are no bounds.
type Bounds struct {
	Keep time.Duration // each item
	Most int64         // bytes on the disk, of all of them
}

// Kept is a quarantined item and what it takes on the disk.
type Kept struct {
	Item  ItemID
	Since time.Time
	UID   uint32
	Bytes int64
}

// Excess is an item that must go, and why.
type Excess struct {
	Item ItemID
	Why  string
}

// Excess names what must go: what was kept long enough, and then, while the rest takes too much, the oldest. If one user
// takes more than half of what there may be, it is his oldest, so that nobody's failures push out everybody else's. The
// newest of all is kept however large it is: else it would go before anybody could look at it.
func (b Bounds) Excess(all []Kept, now time.Time) []Excess {
	all = slices.SortedStableFunc(slices.Values(all), func(a, b Kept) int { return a.Since.Compare(b.Since) })
	var gone []Excess
	for b.Keep > 0 && len(all) > 0 && !all[0].Since.Add(b.Keep).After(now) {
		gone = append(gone, Excess{all[0].Item, "it was in quarantine for as long as --quarantine-keep says"})
		all = all[1:]
	}
	total, of := int64(0), map[uint32]int64{}
	for _, k := range all {
		total += k.Bytes
		of[k.UID] += k.Bytes
	}
	for b.Most > 0 && total > b.Most && len(all) > 1 {
		n := b.first(all[:len(all)-1], of)
		gone = append(gone, Excess{all[n].Item, "the quarantine takes more room than --quarantine-max says"})
		total -= all[n].Bytes
		of[all[n].UID] -= all[n].Bytes
		all = slices.Delete(all, n, n+1)
	}
	return gone
}

// first is the index of the one that goes first for want of room.
func (b Bounds) first(all []Kept, of map[uint32]int64) int {
	n := slices.IndexFunc(all, func(k Kept) bool { return of[k.UID] > b.Most/2 })
	if n >= 0 {
		most := slices.MaxFunc(all, func(a, b Kept) int { return cmp.Compare(of[a.UID], of[b.UID]) }).UID
		n = slices.IndexFunc(all, func(k Kept) bool { return k.UID == most })
	}
	return max(n, 0)
}

// Next is when the next item will have been kept long enough; zero: never.
func (b Bounds) Next(all []Kept) time.Time {
	if b.Keep == 0 || len(all) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(all, func(a, b Kept) int { return a.Since.Compare(b.Since) }).Since.Add(b.Keep)
}

// Near tells whether so many bytes are close to what there may be.
func (b Bounds) Near(bytes int64) bool { return b.Most > 0 && bytes > b.Most/6*5 }

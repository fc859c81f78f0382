package main

import (
	"fmt"
	"slices"
)

// The works that are measured; each is a key of the results.
const (
	workProduce      = "produce"
	workConsume      = "consume"
	workProduceFresh = "produce, fresh process"
	workConsumeFresh = "consume, fresh process"
	workRead         = "read claimed item"
	workWrite        = "write by 1 MiB"
	workWriteSmall   = "write by 4 KiB"
	workList         = "list"
	workListHidden   = "list, hidden beside"
	workAppend       = "append"
	workLinearity    = "append, 2nd ÷ 1st half"
	workFlock        = "flock and unlock"
	workLine         = "flock handed over in a line"
	workContest      = "tries, 64 ÷ best of 1…16"
	workDouble       = "double claims"
)

// contenders are the processes that want one lock.
const contenders = 64

var workContended = fmt.Sprintf("flock, turns of %d at once", contenders)

func workHeld(n int) string             { return fmt.Sprintf("fcntl lock, %d others held", n) }
func workTries(claimants int) string    { return fmt.Sprintf("tries, %d at once", claimants) }
func workHandoffs(claimants int) string { return fmt.Sprintf("hand-offs, %d at once", claimants) }

// row is one line of the report: a work, and what is expected of it.
type row struct {
	work    string
	unit    unit
	amount  string
	against string // the configuration airlockfs is divided by; "" takes its figure as it is
	target  target
}

// best of the samples, which must not be empty.
func (r row) best(samples []float64) float64 {
	if r.unit.rate() || r.target.bound == lower {
		return slices.Max(samples)
	}
	return slices.Min(samples)
}

// budget lists the rows of the report in order. The targets are those of the
// performance budget.
func budget(p plan) []row {
	rows := []row{
		{workProduce, micros, p.handoffs.String(), bindfs, atMost(1.2)},
		{workConsume, micros, p.handoffs.String(), bindfs, atMost(0.9)},
		{workProduceFresh, micros, p.fresh.String(), bindfs, atMost(1.2)},
		{workConsumeFresh, micros, p.fresh.String(), bindfs, atMost(0.9)},
		{workRead, mibPerSecond, p.bulk.inMiB(), native, atLeast(0.5)},
		{workRead, mibPerSecond, p.bulk.inMiB(), bindfs, atLeast(2)},
		{workWrite, mibPerSecond, p.bulk.inMiB(), native, atLeast(0.55)},
		{workWriteSmall, mibPerSecond, p.small.inMiB(), bindfs, atLeast(1.2)},
		{workList, microsPerName, p.names.String(), bindfs, atMost(1.5)},
		{workListHidden, microsPerName, fmt.Sprintf("%v, %d hidden", p.names, p.hidden), bindfs, atMost(1.5)},
		{workAppend, micros, p.appends.String(), bindfs, target{}},
		{workLinearity, plainRatio, p.appends.String(), "", target{}},
	}
	for _, n := range claimantCounts {
		rows = append(rows,
			row{workTries(n), triesPerSecond, p.contest.String(), bindfs, target{}},
			row{workHandoffs(n), handoffsPerSecond, p.contest.String(), bindfs, target{}})
	}
	rows = append(rows,
		row{workFlock, micros, p.locks.String(), native, target{}},
		row{workContended, micros, p.locks.String(), native, target{}},
		row{workLine, micros, fmt.Sprintf("%d ×%d", p.waiters, p.locks.rounds), native, target{}})
	for _, n := range p.held {
		rows = append(rows, row{workHeld(n), micros, p.locks.String(), native, target{}})
	}
	return append(rows,
		row{workContest, plainRatio, p.contest.String(), "", atLeast(0.8)},
		row{workDouble, claims, p.contest.String(), "", atMost(0)})
}

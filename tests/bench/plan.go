package main

import (
	"fmt"
	"time"
)

const (
	kib = 1 << 10
	mib = 1 << 20

	itemBytes   = 4 * kib // of one handed-off item
	smallBlock  = 4 * kib
	largeBlock  = mib
	appendBlock = 4 * kib // large enough that copying the file for each append shows
)

// amount is how much of one kind of work a round does, and how many rounds. Many
// short rounds compare better than few long ones: what disturbs the machine for
// longer than a round meets all configurations alike.
type amount struct {
	size   int
	rounds int
}

// plan says how much of everything is done and how long it may take.
type plan struct {
	handoffs amount // items
	fresh    amount // items, a process for each
	bulk     amount // bytes written by 1 MiB and read
	small    amount // bytes written by 4 KiB
	names    amount // public names in the listed folder
	appends  amount // appends to one file
	contest  amount // items all claimants compete for
	locks    amount // locks taken and let go
	waiters  int    // threads in a line
	held     []int  // locks that are held beside the measured one, each on a byte of its own

	hidden int // staged names beside the public ones

	step  time.Duration // deadline of one configuration's part of one round
	total time.Duration // deadline of all measuring
}

func fullPlan() plan {
	return plan{
		handoffs: amount{250, 40},
		fresh:    amount{20, 25},
		bulk:     amount{1024 * mib, 3},
		small:    amount{128 * mib, 3},
		names:    amount{100_000, 5},
		appends:  amount{2000, 5},
		contest:  amount{500, 5},
		locks:    amount{2000, 5},
		waiters:  1000,
		held:     []int{0, 100, 1_000, 10_000},
		hidden:   10_000,
		step:     2 * time.Minute,
		total:    20 * time.Minute,
	}
}

func quickPlan() plan {
	return plan{
		handoffs: amount{100, 21},
		fresh:    amount{10, 9},
		bulk:     amount{128 * mib, 2},
		small:    amount{16 * mib, 3},
		names:    amount{10_000, 5},
		appends:  amount{300, 5},
		contest:  amount{64, 2},
		locks:    amount{320, 2},
		waiters:  100,
		held:     []int{0, 100, 1_000},
		hidden:   1000,
		step:     10 * time.Second,
		total:    42 * time.Second,
	}
}

func (a amount) String() string { return fmt.Sprintf("%d ×%d", a.size, a.rounds) }

// inMiB is the same amount for a size in bytes.
func (a amount) inMiB() string { return fmt.Sprintf("%d MiB ×%d", a.size/mib, a.rounds) }

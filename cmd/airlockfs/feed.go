package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/airlockfs/airlockfs/cmd/airlockfs/show"
	"github.com/airlockfs/airlockfs/fusefs/report"
)

// feedInterval is how often a mount is asked for news. Nothing is kept open meanwhile, so that it can be unmounted: a
// read that waits would keep it busy.
const feedInterval = 250 * time.Millisecond

// feed reads the events of a mount as they come.
type feed struct {
	mount livingMount
	since time.Time // of the mount, once it is known
	last  uint64    // the last event that was read
}

// read gives what happened since the last read. What was missed is an event too: "dropped".
func (f *feed) read() ([]report.Event, error) {
	news, err := f.mount.news(f.last)
	if err != nil {
		return nil, err
	}
	if !f.since.IsZero() && !news.Since.Equal(f.since) { // another mount, which counts anew
		f.since, f.last = news.Since, 0
		again, err := f.read()
		return append([]report.Event{{Time: news.Since, What: "mounted", Path: ".", Detail: "it was mounted anew"}}, again...), err
	}
	f.since, f.last = news.Since, news.Last
	if news.Dropped == 0 {
		return news.Events, nil
	}
	gap := report.Event{Time: time.Now(), What: "dropped", Path: ".", Detail: fmt.Sprintf("%d events were dropped: they are not remembered any more", news.Dropped)}
	if len(news.Events) > 0 {
		gap.Time = news.Events[0].Time
	}
	return append([]report.Event{gap}, news.Events...), nil
}

// wait is read, once something has happened or the time is over; at most every feedInterval. When the context ends it
// reports that.
func (f *feed) wait(ctx context.Context, most time.Duration) ([]report.Event, error) {
	end := time.NewTimer(most)
	defer end.Stop()
	look := time.NewTicker(feedInterval)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-end.C:
			return f.read()
		case <-look.C:
			if events, err := f.read(); err != nil || len(events) > 0 {
				return events, err
			}
		}
	}
}

// news reads what happened after an event.
func (m livingMount) news(after uint64) (n report.News, err error) {
	err = m.read("events@"+strconv.FormatUint(after, 10), &n)
	if errors.Is(err, fs.ErrNotExist) {
		err = failf(exitNoMount, "%s is not mounted any more", show.Name(m.root))
	}
	return n, err
}

package fusefs

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

func TestTheEventLogForgetsTheOldestAndKnowsIt(t *testing.T) {
	d := newDesk(Config{})
	for n := 1; n <= mostEvents+1; n++ {
		d.events.add(said{concerns: -1})
	}
	news := d.newsFor(0, 0)
	assert.EqualValues(t, mostEvents+1, news.Last)
	assert.EqualValues(t, mostEvents/2, news.Dropped)
	assert.EqualValues(t, mostEvents/2+1, news.Events[0].Seq)
	assert.Len(t, news.Events, mostEvents/2+1)

	news = d.newsFor(0, mostEvents)
	assert.Zero(t, news.Dropped)
	assert.Len(t, news.Events, 1)
	assert.Empty(t, d.newsFor(0, mostEvents+1).Events)
	assert.Len(t, d.newsFor(0, 1<<40).Events, mostEvents/2+1, "a number of another mount")
}

func TestALoudUserWipesOutOnlyHisOwnEvents(t *testing.T) {
	d := newDesk(Config{})
	d.events.add(said{Event: report.Event{By: &report.Owner{UID: 1000}}})
	for n := 0; n < 4*mostEvents; n++ {
		d.events.add(said{Event: report.Event{By: &report.Owner{UID: 2000}}})
	}
	news := d.newsFor(0, 0)
	assert.EqualValues(t, 1, news.Events[0].Seq)
	assert.LessOrEqual(t, len(news.Events), mostEvents)
	assert.EqualValues(t, 4*mostEvents+1, news.Dropped+uint64(len(news.Events)))
	assert.Zero(t, d.newsFor(0, news.Last-1).Dropped)
}

func TestWhoMayKnowOfAnEvent(t *testing.T) {
	by := &report.Owner{PID: 7, Program: "rm", UID: 1000}
	s := said{Event: report.Event{By: by, Detail: "met pid 9"}, concerns: 2000, discreet: "met another user"}
	mine, ok := s.forUser(1000)
	assert.True(t, ok)
	assert.Equal(t, report.Event{By: by, Detail: "met another user"}, mine)
	about, ok := s.forUser(2000)
	assert.True(t, ok)
	assert.Equal(t, &report.Owner{UID: 1000}, about.By)
	_, ok = s.forUser(3000)
	assert.False(t, ok)
}

func TestNamesOfNews(t *testing.T) {
	d := newDesk(Config{})
	for _, name := range []string{"events@", "events@-1", "events@01", "events@x", "events@4611686018427387904", "event@1"} {
		assert.Nil(t, d.newsNamed(name), name)
	}
	n := d.newsNamed("events@4611686018427387903")
	assert.NotNil(t, n)
	assert.Equal(t, n.id, d.newsNode(n.id).id)
}

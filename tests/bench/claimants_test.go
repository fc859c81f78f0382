package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestJudgeCountsOverTheWholeContest(t *testing.T) {
	c, err := judge([]reply{
		{Begin: 1 * time.Second, End: 2 * time.Second, Count: 10, Names: []string{"a", "b"}},
		{Begin: 2 * time.Second, End: 5 * time.Second, Count: 30, Names: []string{"b", "c", "d"}},
	}, 4)
	require.NoError(t, err)
	assert.Equal(t, contest{tries: 10, handoffs: 1, double: 1}, c)
}

func TestJudgeMissesALostItem(t *testing.T) {
	_, err := judge([]reply{{End: time.Second, Names: []string{"a"}}}, 2)
	assert.ErrorContains(t, err, "1 of 2 items")
}

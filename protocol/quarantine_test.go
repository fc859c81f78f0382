package protocol

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var noon = time.Date(2024, 2, 3, 12, 0, 0, 0, time.UTC)

func atoi(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		panic(err)
	}
	return n
}

// kept makes items of "AGE USER BYTES", numbered from 1.
func kept(lines ...string) (all []Kept) {
	for n, line := range lines {
		w := strings.Fields(line)
		since := noon.Add(-time.Duration(atoi(w[0])) * time.Hour)
		all = append(all, Kept{Item: ItemID(n + 1), Since: since, UID: uint32(atoi(w[1])), Bytes: int64(atoi(w[2]))})
	}
	return all
}

func TestExcess(t *testing.T) {
	for name, c := range map[string]struct {
		bounds Bounds
		kept   []Kept
		gone   []ItemID
	}{
		"no bounds":              {Bounds{}, kept("900 1 900", "1 1 900"), nil},
		"age":                    {Bounds{Keep: 10 * time.Hour}, kept("9 1 1", "10 1 1", "11 2 1"), []ItemID{3, 2}},
		"all of them are old":    {Bounds{Keep: time.Hour}, kept("2 1 1"), []ItemID{1}},
		"exactly as much":        {Bounds{Most: 10}, kept("3 1 5", "2 2 5"), nil},
		"the oldest first":       {Bounds{Most: 10}, kept("1 3 4", "3 1 4", "2 2 4"), []ItemID{2}},
		"until it is enough":     {Bounds{Most: 10}, kept("4 1 1", "3 2 1", "2 3 5", "1 4 5"), []ItemID{1, 2}},
		"whoever takes too much": {Bounds{Most: 10}, kept("5 1 4", "4 2 4", "3 2 4", "2 2 4"), []ItemID{2, 3}},
		"who takes most":         {Bounds{Most: 10}, kept("5 1 6", "4 2 4", "3 2 4", "2 3 1"), []ItemID{2, 1}},
		"the newest stays":       {Bounds{Most: 10}, kept("2 1 1", "1 1 900"), []ItemID{1}},
		"age before size":        {Bounds{Keep: 4 * time.Hour, Most: 10}, kept("5 1 6", "2 2 5", "1 3 5"), []ItemID{1}},
	} {
		var gone []ItemID
		for _, x := range c.bounds.Excess(c.kept, noon) {
			gone = append(gone, x.Item)
			assert.NotEmpty(t, x.Why)
		}
		assert.Equal(t, c.gone, gone, name)
	}
}

func TestNextExcess(t *testing.T) {
	b := Bounds{Keep: 4 * time.Hour, Most: 60}
	assert.Equal(t, noon.Add(time.Hour), b.Next(kept("1 1 1", "3 1 1")))
	assert.Zero(t, b.Next(nil))
	assert.Zero(t, Bounds{}.Next(kept("1 1 1")))
	assert.False(t, b.Near(50))
	assert.True(t, b.Near(51))
	assert.False(t, Bounds{}.Near(1<<60))
}

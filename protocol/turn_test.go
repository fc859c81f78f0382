package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Who waits, in the end, for himself: by way of any number of others, however many each of them waits for.
func TestCircle(t *testing.T) {
	job := func(n int) Job { return Job{Group: n} }
	waits := map[int][]int{2: {3}, 3: {4, 5}, 4: {4, 6}, 5: {1}, 6: {3}, 7: {7, 8}}
	waitsFor := func(j Job) (all []Job) {
		for _, n := range waits[j.Group] {
			all = append(all, job(n))
		}
		return all
	}
	for who, want := range map[int]map[int]bool{1: {2: true, 5: true, 6: true, 7: false, 9: false}, 8: {7: true, 2: false}} {
		for holder, circle := range want {
			assert.Equal(t, circle, Circle(job(who), job(holder), waitsFor), "%d waits for %d", who, holder)
		}
	}
}

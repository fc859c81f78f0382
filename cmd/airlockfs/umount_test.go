package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func TestUnmountTriesAgainWhileItIsBusy(t *testing.T) {
	for name, c := range map[string]struct {
		answers []error
		want    error
	}{
		"it was not busy":     {[]error{nil}, nil},
		"it was for a moment": {[]error{unix.EBUSY, unix.EBUSY, nil}, nil},
		"it may not be":       {[]error{unix.EPERM}, unix.EPERM},
	} {
		tries := 0
		err := whileBusy(func() error {
			tries++
			return c.answers[tries-1]
		})
		assert.Equal(t, c.want, err, name)
		assert.Equal(t, len(c.answers), tries, name)
	}
}

// However long a try takes, and however often: umount does not go on for ever.
func TestUnmountGivesUp(t *testing.T) {
	tries, begun := 0, time.Now()
	err := whileBusy(func() error {
		tries++
		return unix.EBUSY
	})
	assert.Equal(t, unix.EBUSY, err)
	assert.GreaterOrEqual(t, time.Since(begun), busyPatience)
	assert.LessOrEqual(t, tries, 1+int(busyPatience/busyPause))
}

package caller

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestIsOpenFileLock(t *testing.T) {
	for command, want := range map[string]bool{"0x25": true, "0x26": true, "0x6": false, "0x7": false, "0x3": false, "": false} {
		assert.Equal(t, want, isOpenFileLock([]byte(command)), command)
	}
}

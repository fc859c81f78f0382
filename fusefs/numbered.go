package fusefs

import (
	"strconv"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// mostNumbered is where a free name is no longer looked for.
const mostNumbered = 1 << 30

// freeFileLocked is one of NAME.1, NAME.2, … that is free in a folder: the next one, where none was removed. However many
// there are it looks at few, since everybody waits meanwhile: it doubles the number until one is free, and halves the gap.
// What the disk answers when a look fails; EEXIST if all are taken.
func (d *desk) freeFileLocked(folder *node, name string) (*protocol.File, error) {
	var free *protocol.File
	taken, next := 0, 1
	for free == nil || next-taken > 1 {
		n := next
		if free != nil {
			n = taken + (next-taken)/2
		}
		f, found, err := d.lookLocked(folder, numbered(name, n))
		switch {
		case err != nil:
			return nil, err
		case found == nil:
			free, next = f, n
		case n >= mostNumbered:
			return nil, syscall.EEXIST
		case free != nil:
			taken = n
		default:
			taken, next = n, 2*n
		}
	}
	return free, nil
}

// numbered is NAME.n; of a name that has no room for the number, as much as there is room for.
func numbered(name string, n int) string {
	suffix := "." + strconv.Itoa(n)
	return cutShort(name, unix.NAME_MAX-len(suffix)) + suffix
}

// cutShort is the start of a text in at most so many bytes, not cut within a character.
func cutShort(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for n := most; n > most-utf8.UTFMax; n-- {
		if utf8.RuneStart(text[n]) {
			return text[:n]
		}
	}
	return text[:most] // it is no UTF-8
}

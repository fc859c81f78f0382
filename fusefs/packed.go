package fusefs

import (
	"encoding/binary"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/airlockfs/airlockfs/backing"
)

// packed are the names of a listing, one after the other: type, inode number, length, name. A million of them take about 20
// MB, a third of what a slice of entries would, and nothing is copied while they come.
type packed struct {
	blocks [][]byte
	count  int
}

// blockSize of a block, which holds whole records. It is a power of two: an offset is block and position in one number.
const blockSize = 1 << 16

func (p *packed) add(e backing.Entry) {
	last := len(p.blocks) - 1
	if last < 0 || len(p.blocks[last])+1+binary.MaxVarintLen64+1+len(e.Name) > blockSize {
		p.blocks = append(p.blocks, nil)
		last++
	}
	b := append(p.blocks[last], e.Type)
	b = binary.AppendUvarint(b, e.Ino)
	b = append(b, byte(len(e.Name))) // NAME_MAX is 255
	p.blocks[last] = append(b, e.Name...)
	p.count++
}

// at is the name at an offset, with the offset of the next one. There is none at the end, nor where the offset is not one
// that was given out.
func (p *packed) at(off uint64) (e fuse.DirEntry, ok bool) {
	block, pos := off/blockSize, off%blockSize
	if block < uint64(len(p.blocks)) && pos >= uint64(len(p.blocks[block])) {
		block, pos = block+1, 0
	}
	if block >= uint64(len(p.blocks)) {
		return e, false
	}
	b := p.blocks[block][pos:]
	ino, n := binary.Uvarint(b[1:])
	if n <= 0 || len(b) < 1+n+1 || len(b) < 1+n+1+int(b[1+n]) {
		return e, false
	}
	size := 1 + n + 1 + int(b[1+n])
	return fuse.DirEntry{Name: string(b[1+n+1 : size]), Ino: ino, Mode: uint32(b[0]) << 12, Off: block*blockSize + pos + uint64(size)}, true
}

package fusefs

import "fmt"

// nearlyFull is how many bytes of a disk of a size are so few that people are told.
func nearlyFull(size uint64) uint64 { return min(size/100, 64<<20) }

// fullWarningsLocked says that the backing is full, or nearly, for those who are not root, and to who may see to it, what of
// airlockfs's own would make room.
func (d *desk) fullWarningsLocked(uid uint32) []string {
	st, err := d.Store.StatFS()
	if err != nil || st.Blocks == 0 { // a tmpfs without a bound has no blocks
		return nil
	}
	var all []string
	unit := uint64(st.Frsize)
	if free, size := st.Bavail*unit, st.Blocks*unit; free <= nearlyFull(size) {
		text := fmt.Sprintf("the disk of the backing is full, or nearly: %s of %s bytes are free", commas(int64(free)), commas(int64(size)))
		if d.oversees(uid) {
			text += d.roomToMakeLocked()
		}
		all = append(all, text)
	}
	if st.Files > 0 && st.Ffree == 0 {
		all = append(all, "the disk of the backing has no inode left: files must be removed before new ones can be made")
	}
	return all
}

// roomToMakeLocked says how much is kept of what failed, and of what was written over.
func (d *desk) roomToMakeLocked() string {
	text := ""
	if d.quarantine.total > 0 {
		text += fmt.Sprintf("; %s are in quarantine (airlockfs discard)", commas(d.quarantine.total))
	}
	replaced := int64(0)
	for _, r := range d.replaced {
		if st, err := d.Store.Stat(r.at); err == nil {
			replaced += int64(st.Blocks) * unitOfBlocks
		}
	}
	if replaced > 0 {
		text += fmt.Sprintf("; %s are versions that were written over, in %s of the backing: what is removed there is free at once", commas(replaced), replacedArea)
	}
	return text
}

// unitOfBlocks is that of stat(2), in bytes.
const unitOfBlocks = 512

package protocol

import "strconv"

// MostTokenBlocks bounds the blocks of fencing tokens, each of 2²⁰. Up to there a token is below 2⁵³, so a whole number for
// every reader of JSON.
const MostTokenBlocks = 1<<33 - 1

// ParseTokenBlock reads the name of a folder that says how many blocks of tokens were set aside: a number as airlockfs
// writes it.
func ParseTokenBlock(name string) (uint64, bool) {
	n, err := strconv.ParseUint(name, 10, 64)
	if err != nil || n > MostTokenBlocks || strconv.FormatUint(n, 10) != name {
		return 0, false
	}
	return n, true
}

package fusefs

import (
	"errors"
	"strconv"
	"syscall"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// tokenBlock is how many fencing tokens are set aside on the disk at a time. That costs one rename for each mount and for
// each million of claims, and the claim itself nothing.
const tokenBlock = 1 << 20

// tokenRetry is how many claims later it is tried again if the disk refuses that.
const tokenRetry = 1 << 10

// tokens are numbers for claims, each larger than all before it, also than those of earlier mounts. A mount begins at the
// number of microseconds since 1970 if that is larger, so none comes again either if what the disk says of them is lost, or
// is an older copy. Guarded by desk.mu.
type tokens struct {
	block      uint64 // the last one set aside, as the name of a folder in tokensArea
	last, most uint64 // given out, set aside
}

// findTokensLocked goes on after the tokens of earlier mounts.
func (d *desk) findTokensLocked() error {
	err := d.Store.List(tokensArea, func(e backing.Entry) error {
		n, ok := protocol.ParseTokenBlock(e.Name)
		if !ok {
			d.cautionLocked(strconv.Quote(backing.Control+"/tokens/"+e.Name) + " is no number of tokens, and is left alone: airlockfs check says what to do")
		}
		d.tokens.block = max(d.tokens.block, n)
		return nil
	})
	clock := min(max(0, d.Now().UnixMicro()), protocol.MostTokenBlocks*tokenBlock)
	d.tokens.last = max(d.tokens.block*tokenBlock, uint64(clock))
	d.tokens.most = d.tokens.last
	return err
}

// cautionLocked tells the log and status of something wrong about the mount.
func (d *desk) cautionLocked(sentence string) {
	d.Log.Warn(sentence)
	d.warnings = append(d.warnings, sentence)
}

// setTokensAsideLocked writes down that the next block is taken. A rename needs no room on the disk.
func (d *desk) setTokensAsideLocked() error {
	next := max(d.tokens.block+1, (d.tokens.last+tokenBlock-1)/tokenBlock)
	at, to := tokenFolder(d.tokens.block), tokenFolder(next)
	err := d.Store.Move(object(at), object(to), backing.Replace)
	if errors.Is(err, syscall.ENOENT) {
		if err = d.Store.MakePrivate(tokensArea); err == nil { // somebody may have removed it
			err = d.Store.MakePrivate(to)
		}
	}
	if err == nil {
		err = d.Store.SyncFolder(tokensArea)
	}
	if err == nil {
		d.tokens.block, d.tokens.most = next, next*tokenBlock
	}
	return err
}

func tokenFolder(block uint64) string { return tokensArea + "/" + strconv.FormatUint(block, 10) }

// nextTokenLocked is the token of a claim made now.
func (d *desk) nextTokenLocked() uint64 { return d.tokens.last + 1 }

// givenTokenLocked: a claim has that token. Nobody has seen it yet, so this is early enough to set more aside.
func (d *desk) givenTokenLocked(token uint64) {
	d.tokens.last = max(d.tokens.last, token)
	if d.tokens.last <= d.tokens.most {
		return
	}
	if err := d.setTokensAsideLocked(); err != nil {
		d.tokens.most = d.tokens.last + tokenRetry
		d.Log.Error("tokens of claims may come again after a crash: the backing does not let airlockfs set more aside", "error", err)
	}
}

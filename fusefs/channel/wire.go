package channel

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// The kernel and the daemon run on the same machine: integers are in its order.
var native = binary.NativeEndian

// Opcodes, as in include/uapi/linux/fuse.h.
const (
	opForget          = 2
	opRead            = 15
	opWrite           = 16
	opFsync           = 20
	opGetXattr        = 22
	opListXattr       = 23
	opInit            = 26
	opOpenDir         = 27
	opReadDir         = 28
	opFsyncDir        = 30
	opSetLkW          = 33
	opInterrupt       = 36
	opIoctl           = 39
	opNotifyReply     = 41
	opBatchForget     = 42
	opFallocate       = 43
	opReadDirPlus     = 44
	opLseek           = 46
	opCopyFileRange   = 47
	opSyncFS          = 50
	opCopyFileRange64 = 53
)

// Sizes and offsets in bytes, from the same file.
const (
	inHeaderSize      = 40  // struct fuse_in_header
	outHeaderSize     = 16  // struct fuse_out_header
	largestFixedReply = 512 // no reply's structure is larger

	readSizeOffset     = inHeaderSize + 16 // size in struct fuse_read_in
	xattrSizeOffset    = inHeaderSize      // size in struct fuse_getxattr_in
	ioctlOutSizeOffset = inHeaderSize + 28 // out_size in struct fuse_ioctl_in

	initFlagsOffset  = 12 // flags in struct fuse_init_out
	initFlags2Offset = 32 // flags2
)

// mayTakeLong reports whether a request can take as long as a disk or another
// program likes. Such requests are handled beside the reader.
func mayTakeLong(opcode uint32) bool {
	switch opcode {
	case opRead, opWrite, opFsync, opFsyncDir, opSyncFS, opFallocate, opLseek,
		opCopyFileRange, opCopyFileRange64, opOpenDir, opReadDir, opReadDirPlus, opSetLkW:
		return true
	}
	return false
}

// wantsReply is false for the messages the kernel does not wait for; it
// refuses a reply to them.
func wantsReply(opcode uint32) bool {
	return opcode != opForget && opcode != opBatchForget && opcode != opNotifyReply
}

// request is one message as read from the device: struct fuse_in_header and
// what follows it.
type request []byte

func (r request) opcode() uint32 { return native.Uint32(r[4:]) }
func (r request) unique() uint64 { return native.Uint64(r[8:]) }

// replySize is an upper bound of the reply in bytes.
func (r request) replySize() int {
	return outHeaderSize + largestFixedReply + int(r.payloadSize())
}

// payloadSize is how many bytes of data beside the fixed structure the caller
// has room for.
func (r request) payloadSize() uint32 {
	switch r.opcode() {
	case opRead, opReadDir, opReadDirPlus:
		return uint32At(r, readSizeOffset)
	case opGetXattr, opListXattr:
		return uint32At(r, xattrSizeOffset)
	case opIoctl:
		return uint32At(r, ioctlOutSizeOffset)
	}
	return 0
}

// uint32At is 0 beyond the end: an older kernel's structure is shorter.
func uint32At(b []byte, offset int) uint32 {
	if len(b) < offset+4 {
		return 0
	}
	return native.Uint32(b[offset:])
}

// errorReply is a reply that says only errno.
func errorReply(unique uint64, errno unix.Errno) []byte {
	b := native.AppendUint32(nil, outHeaderSize)
	b = native.AppendUint32(b, uint32(-int32(errno)))
	return native.AppendUint64(b, unique)
}

// interruptRequest is the INTERRUPT that the kernel would send for a request.
func interruptRequest(unique uint64) request {
	r := make(request, inHeaderSize+8)
	native.PutUint32(r, inHeaderSize+8)
	native.PutUint32(r[4:], opInterrupt)
	native.PutUint64(r[inHeaderSize:], unique)
	return r
}

// initCapabilities are the flags of a struct fuse_init_out.
func initCapabilities(out []byte) uint64 {
	return uint64(uint32At(out, initFlagsOffset)) | uint64(uint32At(out, initFlags2Offset))<<32
}

// Package backing is the one door to the disk.
//
// It moves names, bytes and descriptors below one root descriptor and knows
// no rule of the hand-off protocol: what an area or a record means is the
// caller's business.
//
// # Path safety
//
// The root is opened once, before the mount exists, as O_PATH. The mount may
// later cover the very same folder, so nothing here uses an absolute path of
// the backing, the working directory or "..": every lookup is an openat2(2)
// relative to a descriptor, with RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS,
// RESOLVE_NO_MAGICLINKS and RESOLVE_NO_XDEV. A symlink in a path is ELOOP, a
// mount point inside the backing is EXDEV. An O_PATH descriptor is turned into
// another kind by opening /proc/self/fd/N, which names the inode and not a
// path. No FIFO, socket or device is ever opened.
//
// # Names
//
// An [Object] is a folder (a path relative to the root) and one name. Folder
// descriptors are cached by path. The cache assumes that folders are renamed
// only by callers who then say [Store.Forget]; a removed folder is noticed.
//
// # Errors
//
// Errors wrap the kernel's errno: errors.Is(err, syscall.ENOENT) works. What a
// person must mend before a mount can start is one of the Err… values, with a
// sentence that says what to do. EINTR never reaches the caller.
//
// # Requirements
//
// Linux 5.8 or newer and /proc. The process should run with umask 0: modes are
// the caller's, as a FUSE request states them.
//
// A [Store] and a [File] are safe for concurrent use.
package backing

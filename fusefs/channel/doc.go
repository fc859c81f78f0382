// Package channel is the connection between the kernel's FUSE module and a
// fuse.RawFileSystem: it mounts, reads requests, writes replies and
// notifications, and unmounts.
//
// # The ordered reader
//
// close(2) returns before its RELEASE is handled, but not before it is queued
// (fs/fuse/file.c). So if requests are handled in the order in which they are
// read, whoever learns that a file was closed finds its RELEASE done. One
// worker at a time has the turn to read the device. It handles what it reads
// before it reads again, except where that could hold up everybody else:
//
//   - data, sync, listing and waiting lock requests pass the turn on before
//     they are handled (wire.go has the list);
//   - any other handler that is about to wait calls [Conn.HandOn] first.
//
// A request that passed the turn on has no order with what follows it. RELEASE
// is a background request, and the kernel keeps background requests above a
// limit out of the queue; see [Options.MaxBackground].
//
// The protocol itself, bytes to method calls, is go-fuse's
// fuse.ProtocolServer. It calls neither RawFileSystem.Init (there is no
// fuse.Server) nor OnUnmount; [Conn.Serve] calls the latter.
package channel

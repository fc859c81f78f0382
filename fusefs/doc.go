// Package fusefs joins the protocol to the kernel and the disk. The methods of FS translate one FUSE request each; the
// desk decides (protocol.Decide), makes the decision durable (backing), installs it (protocol.Apply) and tells those who
// wait. Nothing here is a rule.
//
// # Locking
//
// desk.mu guards the node table, Files, handles' bookkeeping, the owners' index and the lock lists. It is held across
// the short calls of one decision on the disk (stat, rename, create), so that the disk and the memory change together,
// and never across anything that takes its time: copying, syncing, waiting, procfs, calls into the kernel's caches.
// Requests that change names arrive one after the other anyway (package channel), so finer locks would buy nothing.
//
// handle.mu guards the switch of a handle from the base's bytes to its own and is taken without desk.mu, or after it.
// Who is asking (package caller) is found out before desk.mu is taken.
package fusefs

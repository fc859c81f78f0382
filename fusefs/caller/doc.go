// Package caller knows who is asking: it turns the thread id of a FUSE request into a party (a process), keeps the
// facts about its kin, tells how it ended and who inherits from it.
//
// # What may be read when
//
// execve(2) holds the lock exec_update_lock of its process while it closes close-on-exec descriptors, and each of
// these closes is a FLUSH that waits for our answer. /proc/PID/stat and exe wait for the same lock, so reading them in
// a handler can make the daemon and its caller wait for each other for ever. Hence these sources, and no other:
//
//   - any time: /proc/PID/status and statm, pidfd_open, poll and PIDFD_GET_INFO on a pidfd, getsid, getpgid, kill(pid, 0);
//   - the caller's own stat and exe while it waits in OPEN, CREATE or RENAME (methods Opener, Mover): a process can't be at
//     its close-on-exec descriptors before all its other threads are gone, and one of them waits for us; likewise a thread's
//     system call while it waits for a lock (OpenFileLock);
//   - stat of a thread that is exiting (method Closing) or of a zombie: neither can be in execve.
//
// So a party's first sight gives parent, process group, session, user and name; its first OPEN, CREATE or RENAME adds whether
// it has a terminal, whether it has exec'ed, and its program file. A session has one terminal: what an opener learns
// about it is passed on to its ancestors and later descendants in the session. Until one of a session's processes has
// opened something, Terminal and JobControl are false.
//
// # Identity
//
// A process is known by its pidfd. Since Linux 6.9 a pidfd's inode number is unique until the next boot, so it serves as
// protocol.Process.Start and needs no procfs file; on older kernels Start is field 22 of proc_pid_stat(5) and is 0
// until the first OPEN or CREATE (a party without it can't be revived).
//
// # Locks
//
// Table.mu is the only lock. It is held for memory and for system calls that can't block: epoll_ctl, poll with timeout
// 0, close of these descriptors; never during procfs reads. Descriptors are counted, so one that is in use elsewhere is
// closed after that use. Names that end in Locked want it held.
package caller

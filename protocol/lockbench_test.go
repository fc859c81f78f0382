package protocol

import (
	"fmt"
	"testing"
)

// recordLocks are n one-byte write locks, each of another owner.
func recordLocks(n int) *Locks {
	var l Locks
	for i := range uint64(n) {
		l.Acquire(record(i))
	}
	return &l
}

func record(i uint64) Lock {
	return Lock{Kind: Posix, Mode: WriteLock, Owner: i + 1, Handle: i + 1, Start: 2 * i, End: 2 * i}
}

func BenchmarkLockAndRelease(b *testing.B) {
	for _, held := range []int{0, 100, 10_000} {
		b.Run(fmt.Sprintf("held=%d", held), func(b *testing.B) {
			l := recordLocks(held)
			k := record(uint64(held / 2))
			k.Start, k.End = k.Start+1, k.End+1
			for b.Loop() {
				l.Acquire(k)
				l.Release(k)
			}
		})
	}
}

// BenchmarkHandOver releases a lock that 1,000 wait for, which grants it to the next, and queues one more. 10,000 locks
// are held by others.
func BenchmarkHandOver(b *testing.B) {
	for name, k := range map[string]Lock{
		"record": record(20_000),
		"flock":  {Kind: Flock, Mode: WriteLock, Owner: 20_001, End: ToEOF},
	} {
		b.Run(name, func(b *testing.B) {
			l := recordLocks(10_000)
			l.Acquire(k)
			next := k
			for range 1_000 {
				next.Owner++
				l.Wait(next)
			}
			for b.Loop() {
				k = l.Release(k)[0].Lock
				next.Owner++
				l.Wait(next)
			}
		})
	}
}

// BenchmarkManyRecordsWaitedFor: each of 1,000 waits for another one of 10,000 locks.
func BenchmarkManyRecordsWaitedFor(b *testing.B) {
	l := recordLocks(10_000)
	for i := range uint64(1_000) {
		k := record(10 * i)
		k.Owner = 20_000 + i
		l.Wait(k)
	}
	k := record(9_999)
	for b.Loop() {
		l.Release(k)
		l.Acquire(k)
	}
}

// BenchmarkReadersBehindAWriter is the worst case: 10,000 readers hold the whole file, a writer waits for them, and
// 1,000 readers wait for the writer.
func BenchmarkReadersBehindAWriter(b *testing.B) {
	var l Locks
	k := Lock{Kind: Posix, End: ToEOF}
	for k.Owner = range uint64(10_000) {
		l.Acquire(k)
	}
	writer := k
	writer.Owner, writer.Mode = 20_000, WriteLock
	l.Wait(writer)
	for k.Owner = range uint64(1_000) {
		k.Owner += 30_000
		l.Wait(k)
	}
	k.Owner = 9_999
	for b.Loop() {
		l.Release(k)
		k.Ahead = true
		l.Acquire(k)
	}
}

package fusefs

import (
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

// scenesOfNames are about names that others have, too, and about names of other classes.
var scenesOfNames = []*scene{
	{name: "rename to another queue", before: func(s *stage) { s.mkdir("producer", "in"); s.put("producer", "in/a", "one") },
		act: func(s *stage) { s.rename("consumer", "in/a", "b", 0) }},
	{name: "pass a claim on", before: func(s *stage) { s.mkdir("producer", "in"); oneClaimed(s) },
		act: func(s *stage) { s.rename("consumer", "a", "in/b", 0) }},
	{name: "claim by rename to temp", before: one, act: func(s *stage) { s.rename("consumer", "a", "b.tmp", 0) }},
	{name: "give back from temp", before: func(s *stage) { one(s); s.rename("consumer", "a", "b.tmp", 0) },
		act: func(s *stage) { s.end("consumer", killed, "") }},
	{name: "inherit from temp", before: func(s *stage) { one(s); s.rename("consumer", "a", "b.tmp", 0) },
		act: func(s *stage) { s.end("consumer", clean, "heir") }},
	{name: "settle from temp", rules: []string{"done/**=archive"},
		before: func(s *stage) { s.mkdir("consumer", "done"); one(s); s.rename("consumer", "a", "b.tmp", 0) },
		act:    func(s *stage) { s.rename("consumer", "b.tmp", "done/a", 0) }},
	{name: "claimed to work", rules: []string{"work/**=work"}, before: func(s *stage) { s.mkdir("consumer", "work"); oneClaimed(s) },
		act: func(s *stage) { s.rename("consumer", "a", "work/b", 0) }},
	{name: "give back behind a newer one", before: func(s *stage) { oneClaimed(s); s.put("producer", "a", "two") },
		act: func(s *stage) { s.end("consumer", killed, "") }},
	{name: "give back from work behind a newer one", rules: []string{"work/**=work"},
		before: func(s *stage) {
			s.mkdir("consumer", "work")
			one(s)
			s.rename("consumer", "a", "work/b", 0)
			s.put("producer", "a", "two")
		},
		act: func(s *stage) { s.end("consumer", killed, "") }},
	{name: "older comes back", before: func(s *stage) { oneClaimed(s); s.put("producer", "a", "two"); s.end("consumer", clean, "") },
		act: func(s *stage) { s.unlink("heir", "a") }},
	{name: "older behind a claim", before: func(s *stage) { oneClaimed(s); s.put("producer", "a", "two"); s.end("consumer", clean, "") },
		act: func(s *stage) { s.claim("heir", "a"); s.unlink("heir", "a") }},
	{name: "keep both", rules: []string{"*=queue,on-collision=keep-both"}, before: one,
		act: func(s *stage) { s.put("producer", "b.tmp", "two"); s.rename("producer", "b.tmp", "a", 0) }},
	{name: "second name", before: one, act: func(s *stage) { s.link("producer", "a", "b") }},
	{name: "claim of two names", before: func(s *stage) { one(s); s.link("producer", "a", "b") },
		act: func(s *stage) { s.claim("consumer", "a"); s.unlink("consumer", "a"); s.unlink("consumer", "b") }},
	{name: "claim of two names in two folders", before: func(s *stage) {
		s.mkdir("producer", "in")
		one(s)
		s.link("producer", "a", "in/b")
		s.claim("consumer", "a")
	},
		act: func(s *stage) { s.unlink("consumer", "a") }},
	{name: "claim of two names after a restart", before: func(s *stage) {
		s.mkdir("producer", "in")
		one(s)
		s.link("producer", "a", "in/b")
		s.claim("consumer", "a")
		s.restart()
	}, act: func(s *stage) { s.unlink("consumer", "a"); s.unlink("consumer", "in/b") }},
	{name: "claim of two names from temp", before: func(s *stage) {
		one(s)
		s.link("producer", "a", "b")
		s.rename("consumer", "a", "c.tmp", 0)
	}, act: func(s *stage) { s.unlink("consumer", "c.tmp") }},
	{name: "second name of a claim", before: oneClaimed, act: func(s *stage) { s.link("consumer", "a", "b"); s.unlink("consumer", "b") }},
	{name: "give back one of two names", before: func(s *stage) { one(s); s.link("producer", "a", "b"); s.claim("consumer", "b") },
		act: func(s *stage) { s.end("consumer", killed, "") }},
	{name: "archive one of two names", rules: []string{"done/**=archive"},
		before: func(s *stage) {
			s.mkdir("consumer", "done")
			one(s)
			s.link("producer", "a", "b")
			s.claim("consumer", "a")
			s.unlink("consumer", "a")
		},
		act: func(s *stage) { s.claim("consumer", "b"); s.rename("consumer", "b", "done/b", 0) }},
	{name: "replace one of two names", before: func(s *stage) { one(s); s.link("producer", "a", "b") },
		act: func(s *stage) { s.replace("producer", "a", "two") }},
	{name: "write in a claim", before: oneClaimed, act: func(s *stage) { s.replace("consumer", "a", "two") }},
	{name: "append in a claim", before: oneClaimed, act: func(s *stage) {
		h := s.open("consumer", "a", unix.O_WRONLY|unix.O_APPEND)
		s.write(h, "+two")
		s.close(h)
	}},
	{name: "rename over a claim", before: oneClaimed, act: func(s *stage) {
		s.put("consumer", "a.tmp", "two")
		s.rename("consumer", "a.tmp", "a", 0)
	}},
	{name: "write in a claim that moved", before: func(s *stage) { one(s); s.rename("consumer", "a", "b.tmp", 0) },
		act: func(s *stage) { s.replace("consumer", "b.tmp", "two") }},
	{name: "exchange", before: func(s *stage) { one(s); s.put("producer", "b", "two") },
		act: func(s *stage) { s.rename("producer", "a", "b", unix.RENAME_EXCHANGE) }},
	{name: "archive a taken name", rules: []string{"done/**=archive"},
		before: func(s *stage) { s.mkdir("consumer", "done"); s.put("consumer", "done/a", "zero"); oneClaimed(s) },
		act:    func(s *stage) { s.rename("consumer", "a", "done/a", 0) }},
	{name: "plain to queue", rules: []string{"out/**=plain"}, before: func(s *stage) { s.mkdir("producer", "out"); s.put("producer", "out/a", "one") },
		act: func(s *stage) { s.rename("producer", "out/a", "a", 0) }},
	{name: "write in place and hand over", rules: []string{"out/**=plain"}, before: func(s *stage) { s.mkdir("producer", "out") },
		act: func(s *stage) { s.put("producer", "out/a", "one"); s.rename("producer", "out/a", "a", 0) }},
	{name: "plain to temp", rules: []string{"out/**=plain"}, before: func(s *stage) { s.mkdir("producer", "out"); s.put("producer", "out/a", "one") },
		act: func(s *stage) { s.rename("producer", "out/a", "a.tmp", 0); s.rename("producer", "a.tmp", "a", 0) }},
	{name: "plain to work", rules: []string{"out/**=plain", "work/**=work"},
		before: func(s *stage) {
			s.mkdir("producer", "work")
			s.mkdir("producer", "out")
			s.put("producer", "out/a", "one")
		},
		act: func(s *stage) { s.rename("producer", "out/a", "work/a", 0) }},
	{name: "staged to plain", rules: []string{"out/**=plain"}, before: func(s *stage) { s.mkdir("producer", "out"); s.put("producer", "a.tmp", "one") },
		act: func(s *stage) { s.rename("producer", "a.tmp", "out/a", 0) }},
	{name: "staged to work", rules: []string{"work/**=work"}, before: func(s *stage) { s.mkdir("producer", "work"); s.put("producer", "a.tmp", "one") },
		act: func(s *stage) { s.rename("producer", "a.tmp", "work/a", 0) }},
	{name: "queue to shared", rules: []string{"state/**=shared"}, before: func(s *stage) { s.mkdir("producer", "state"); s.put("producer", "state/a", "zero"); one(s) },
		act: func(s *stage) { s.rename("producer", "a", "state/a", 0) }},
	{name: "claimed to shared", rules: []string{"state/**=shared"}, before: func(s *stage) { s.mkdir("producer", "state"); s.put("producer", "state/a", "zero"); oneClaimed(s) },
		act: func(s *stage) { s.rename("consumer", "a", "state/a", 0) }},
	{name: "shared version", rules: []string{"state/**=shared"}, before: func(s *stage) { s.mkdir("producer", "state"); s.put("producer", "state/a", "one") },
		act: func(s *stage) { s.replace("producer", "state/a", "two") }},
	{name: "shared to queue", rules: []string{"state/**=shared"}, before: func(s *stage) { s.mkdir("producer", "state"); s.put("producer", "state/a", "one") },
		act: func(s *stage) { s.rename("producer", "state/a", "a", 0) }},
	{name: "shared to work", rules: []string{"state/**=shared", "work/**=work"},
		before: func(s *stage) {
			s.mkdir("producer", "state")
			s.mkdir("producer", "work")
			s.put("producer", "state/a", "one")
		},
		act: func(s *stage) { s.rename("producer", "state/a", "work/a", 0) }},
	{name: "lock file", act: func(s *stage) { s.put("producer", "a.lock", "7"); s.rename("producer", "a.lock", "a", 0) }},
	{name: "lock to work", rules: []string{"work/**=work"}, before: func(s *stage) { s.mkdir("producer", "work"); s.put("producer", "a.lock", "7") },
		act: func(s *stage) { s.rename("producer", "a.lock", "work/a", 0) }},
	{name: "made to be locked", act: func(s *stage) { s.close(s.createToLock("producer", "a")) }},
	{name: "locked and then written", act: func(s *stage) {
		h := s.createToLock("producer", "a")
		w := s.open("producer", "a", unix.O_RDWR)
		s.write(w, "text")
		s.close(h)
		s.close(w)
	}},
	{name: "in place", rules: []string{"out/**=plain"}, before: func(s *stage) { s.mkdir("producer", "out") },
		act: func(s *stage) { s.put("producer", "out/a", "one") }},
}

// scenesOfStates are about items that are neither public nor claimed, and about folders.
var scenesOfStates = []*scene{
	{name: "failed writer", act: func(s *stage) {
		h := s.create("producer", "a")
		s.write(h, "one")
		s.closeAs(h, failed)
	}},
	{name: "killed writer of a temp file", act: func(s *stage) {
		h := s.create("producer", "a.tmp")
		s.write(h, "one")
		s.closeAs(h, killed)
	}},
	{name: "park", before: func(s *stage) { s.put("producer", "a.tmp", "one") }, act: func(s *stage) { s.end("producer", clean, "") }},
	{name: "abandon", before: func(s *stage) { s.put("producer", "a.tmp", "one") }, act: func(s *stage) { s.end("producer", killed, "") }},
	{name: "inherit a temp file", before: func(s *stage) { s.put("producer", "a.tmp", "one") }, act: func(s *stage) { s.end("producer", clean, "heir") }},
	{name: "adopt and publish", before: parked, act: func(s *stage) { s.rename("consumer", "a.tmp", "a", 0) }},
	{name: "adopt and write", before: parked, act: func(s *stage) {
		h := s.open("consumer", "a.tmp", unix.O_RDWR)
		s.write(h, "+two")
		s.close(h)
	}},
	{name: "write a temp file again", before: func(s *stage) { s.put("producer", "a.tmp", "one") }, act: func(s *stage) {
		h := s.open("producer", "a.tmp", unix.O_RDWR)
		s.write(h, "+two")
		s.close(h)
	}},
	{name: "expire", before: parked, act: func(s *stage) { s.lapse("a.tmp", protocol.OpExpired) }},
	{name: "unlink a temp file", before: func(s *stage) { s.put("producer", "a.tmp", "one") }, act: func(s *stage) { s.unlink("producer", "a.tmp") }},
	{name: "publish after its exit", rules: []string{"*=queue,publish=exit"}, act: func(s *stage) { one(s); s.end("producer", clean, "") }},
	{name: "failed after its close", rules: []string{"*=queue,publish=exit"}, act: func(s *stage) { one(s); s.end("producer", failed, "") }},
	{name: "publish when quiet", rules: []string{"*=queue,publish=quiet=1h"}, act: func(s *stage) { one(s); s.lapse("a", protocol.OpLifted) }},
	{name: "publish when renamed", rules: []string{"*=queue,publish=rename"},
		act: func(s *stage) { s.put("producer", "a", "one"); s.rename("producer", "a", "b", 0) }},
	{name: "order release", before: oneClaimed, act: func(s *stage) { s.order("release", "a", "") }},
	{name: "order requeue", before: inQuarantine, act: func(s *stage) { s.order("requeue", "a", "") }},
	{name: "order requeue under another name", before: inQuarantine, act: func(s *stage) { s.order("requeue", "a", "b") }},
	{name: "order requeue behind a newer one", before: func(s *stage) { inQuarantine(s); s.put("producer", "a", "two") },
		act: func(s *stage) { s.order("requeue", "a", "") }},
	{name: "order discard", before: inQuarantine, act: func(s *stage) { s.order("discard", "a", "") }},
	{name: "order publish", before: parked, act: func(s *stage) { s.order("publish", "a.tmp", "a") }},
	{name: "order publish an older one", before: func(s *stage) { oneClaimed(s); s.put("producer", "a", "two"); s.end("consumer", clean, "") },
		act: func(s *stage) { s.order("publish", "a", "") }},
	{name: "bounds of quarantine", bounds: protocol.Bounds{Most: 4096},
		before: func(s *stage) { inQuarantine(s); s.pass(1); s.failing("b") }, act: func(s *stage) { s.bound() }},
	{name: "replaced versions expire", before: func(s *stage) { one(s); s.replace("producer", "a", "two") },
		act: func(s *stage) { s.pass(2 * keepReplaced); s.replace("producer", "a", "three") }},
	{name: "folder renamed", before: belowFolder, act: func(s *stage) { s.rename("producer", "in", "eu", 0) }},
	{name: "folder renamed into another", before: func(s *stage) { belowFolder(s); s.mkdir("producer", "eu") },
		act: func(s *stage) { s.rename("producer", "in", "eu/in", 0) }},
	{name: "folders exchanged", before: func(s *stage) {
		belowFolder(s)
		s.mkdir("producer", "eu")
		s.put("producer", "eu/c.tmp", "six")
		s.end("producer", clean, "")
	}, act: func(s *stage) { s.rename("producer", "in", "eu", unix.RENAME_EXCHANGE) }},
	{name: "folder removed", before: func(s *stage) {
		s.mkdir("producer", "in")
		s.put("producer", "in/a.tmp", "one")
		s.end("producer", clean, "")
	},
		act: func(s *stage) { s.rmdir("producer", "in") }},
	{name: "folder removed after its last item", before: func(s *stage) {
		s.mkdir("producer", "in")
		s.put("producer", "in/a", "one")
		s.claim("consumer", "in/a")
	},
		act: func(s *stage) { s.unlink("consumer", "in/a"); s.rmdir("producer", "in") }},
}

func parked(s *stage) { s.put("producer", "a.tmp", "one"); s.end("producer", clean, "") }

func inQuarantine(s *stage) { s.failing("a") }

// belowFolder puts something of each state that lets a folder be renamed into one, and into one below that.
func belowFolder(s *stage) {
	s.mkdir("producer", "in")
	s.mkdir("producer", "in/sub")
	s.put("producer", "in/a", "one")
	s.claim("consumer", "in/a")
	s.put("producer", "in/a", "two")
	s.end("consumer", clean, "") // one waits behind two
	s.put("producer", "in/a.tmp", "three")
	s.put("producer", "in/sub/b.tmp", "four")
	s.end("producer", clean, "")
	s.failing("in/sub/c")
}

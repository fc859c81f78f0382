package fusefs

import (
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/protocol"
)

var (
	clean  = protocol.Verdict{Kind: protocol.Clean}
	failed = protocol.Verdict{Kind: protocol.Failed, Status: 1}
	killed = protocol.Verdict{Kind: protocol.Killed, Status: 9}
)

// one is a file that was handed over before the scene.
func one(s *stage) { s.put("producer", "a", "one") }

func oneClaimed(s *stage) { one(s); s.claim("consumer", "a") }

var scenes = []*scene{
	{name: "first mount", empty: true, act: func(*stage) {}},
	{name: "publish", act: one},
	{name: "publish synced", sync: SyncFull, act: one},
	{name: "replace synced", sync: SyncFull, before: one, act: func(s *stage) { s.replace("producer", "a", "two") }},
	{name: "publish by rename synced", sync: SyncFull, act: func(s *stage) {
		s.put("producer", "a.tmp", "one")
		s.rename("producer", "a.tmp", "a", 0)
	}},
	{name: "publish by rename", act: func(s *stage) {
		s.put("producer", "a.tmp", "one")
		s.rename("producer", "a.tmp", "a", 0)
	}},
	{name: "publish by link", act: func(s *stage) {
		s.put("producer", "a.tmp", "one")
		s.link("producer", "a.tmp", "a")
		s.unlink("producer", "a.tmp")
	}},
	{name: "publish renamed while open", act: func(s *stage) {
		h := s.create("producer", "a.tmp")
		s.write(h, "one")
		s.rename("producer", "a.tmp", "a", 0)
		s.close(h)
	}},
	{name: "replace", before: one, act: func(s *stage) { s.replace("producer", "a", "two") }},
	{name: "replace by rename", before: one, act: func(s *stage) {
		s.put("producer", "a.tmp", "two")
		s.rename("producer", "a.tmp", "a", 0)
	}},
	{name: "append", before: one, act: func(s *stage) {
		h := s.open("producer", "a", unix.O_WRONLY|unix.O_APPEND)
		s.write(h, "+two")
		s.close(h)
	}},
	{name: "truncate", before: one, act: func(s *stage) { s.truncate("producer", "a", 1) }},
	{name: "claim", before: one, act: func(s *stage) { s.claim("consumer", "a") }},
	{name: "give back", before: oneClaimed, act: func(s *stage) { s.end("consumer", clean, "") }},
	{name: "give back after a kill", before: oneClaimed, act: func(s *stage) { s.end("consumer", killed, "") }},
	{name: "inherit", before: oneClaimed, act: func(s *stage) { s.end("consumer", clean, "heir") }},
	{name: "settle by unlink", before: oneClaimed, act: func(s *stage) { s.unlink("consumer", "a") }},
	{name: "settle to archive", rules: []string{"done/**=archive"}, before: func(s *stage) { s.mkdir("consumer", "done"); oneClaimed(s) },
		act: func(s *stage) { s.rename("consumer", "a", "done/a", 0) }},
	{name: "settle to plain", rules: []string{"out/**=plain"}, before: func(s *stage) { s.mkdir("consumer", "out"); oneClaimed(s) },
		act: func(s *stage) { s.rename("consumer", "a", "out/b", 0) }},
	{name: "unlink unclaimed", before: one, act: func(s *stage) { s.unlink("consumer", "a") }},
	{name: "claim by rename to work", rules: []string{"work/**=work"}, before: func(s *stage) { s.mkdir("consumer", "work"); one(s) },
		act: func(s *stage) { s.rename("consumer", "a", "work/b", 0) }},
	{name: "give back from work", rules: []string{"work/**=work"},
		before: func(s *stage) { s.mkdir("consumer", "work"); one(s); s.rename("consumer", "a", "work/b", 0) },
		act:    func(s *stage) { s.end("consumer", failed, "") }},
	{name: "done in work", rules: []string{"work/**=work"},
		before: func(s *stage) { s.mkdir("consumer", "work"); one(s); s.rename("consumer", "a", "work/b", 0) },
		act:    func(s *stage) { s.end("consumer", clean, "") }},
	{name: "settle from work", rules: []string{"work/**=work", "done/**=archive"},
		before: func(s *stage) {
			s.mkdir("consumer", "work")
			s.mkdir("consumer", "done")
			one(s)
			s.rename("consumer", "a", "work/b", 0)
		},
		act: func(s *stage) { s.rename("consumer", "work/b", "done/b", 0) }},
}

package fusefs

// scenesSynced are those of calls that return when what they did is durable: after one of them the power may fail, and the
// only outcome is what it did.
var scenesSynced = []*scene{
	{name: "publish by link synced", sync: SyncFull, act: func(s *stage) {
		s.put("producer", "a.tmp", "one")
		s.link("producer", "a.tmp", "a")
	}},
	{name: "truncate synced", sync: SyncFull, before: one, act: func(s *stage) { s.truncate("producer", "a", 1) }},
	{name: "settle by unlink synced", sync: SyncFull, before: oneClaimed, act: func(s *stage) { s.unlink("consumer", "a") }},
	{name: "settle to archive synced", sync: SyncFull, rules: []string{"done/**=archive"},
		before: func(s *stage) { s.mkdir("consumer", "done"); oneClaimed(s) },
		act:    func(s *stage) { s.rename("consumer", "a", "done/a", 0) }},
	{name: "folder made synced", sync: SyncFull, act: func(s *stage) { s.mkdir("producer", "in"); s.put("producer", "in/a", "one") }},
	{name: "requeue synced", sync: SyncFull, before: inQuarantine, act: func(s *stage) { s.order("requeue", "a", "") }},
}

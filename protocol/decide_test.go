package protocol

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDecideTranscripts plays testdata/decide/*.txt. Each block is one call, and answers what the caller got and what
// changed. Items are written PATH#ID.
//
//	rules                        starts anew with these rules, one a line
//	new                          starts anew with the rules there are
//	party NAME [child-of P] [uid N] [worker W] [observer] [job N]     in the job of whom it descends from, if not in N
//	open P PATH FLAGS            FLAGS of read write creat excl trunc append mkstemp nonblock
//	write P PATH                 the first write to what P opened there
//	lock P PATH                  asks for a lock on it
//	hold P PATH ex|sh|wait|un    takes a lock on a name, waits for one, or gives it up
//	root-bound                   by other users' locks, too
//	close P PATH [VERDICT|short|write-error|unopened]   VERDICT of clean failed killed
//	rename P A B [noreplace] [exchange]
//	link P A B | unlink P A | mkdir P A | truncate P A
//	fork P CHILD                 CHILD has P's descriptors too
//	end P VERDICT [heir=Q]       P exits: its descriptors close, then what it owned is settled
//	ended P VERDICT [heir=Q]     the same, but its descriptors live on
//	dies P                       P ends together with the daemon
//	release PATH#ID | expire PATH#ID | lift PATH#ID     the linger's or a last close, time, a barrier's event
//	order P ORDER PATH#ID [as PATH] [force] [powerless]  ORDER of release requeue discard publish; uid 0 oversees all
//	wait DURATION
//	see P PATH...                what the names mean for P
//	look P PATH                  P looks a name up, as stat(2) does
//	turn PATH                    whose turn it is with a serial file; the job's end and --reserve end it
//	bases PATH                   what jobs know of a state file, by their first party
//	ls P                         the hidden names that listings show to P
//	list                         all items
//	restart                      a crash of the daemon, and what the next one finds
func TestDecideTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/decide/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			s := &script{t: t, sim: newSim(t)}
			runTranscript(t, file, s.do)
		})
	}
}

// script runs the commands of a transcript.
type script struct {
	t     *testing.T
	sim   *sim
	rules []string
}

func (s *script) do(command string, input []string) string {
	verb, rest, _ := strings.Cut(command, " ")
	args := strings.Fields(rest)
	s.sim.said = nil
	var answer string
	switch verb {
	case "rules", "new":
		if verb == "rules" {
			s.rules = input
		}
		s.sim = newSim(s.t, s.rules...)
		for _, line := range input {
			if verb == "new" {
				s.call("party", strings.Fields(line)[1:])
			}
		}
	default:
		answer = s.call(verb, args)
	}
	return strings.Join(append([]string{answer}, s.sim.said...), "\n")
}

var commands map[string]func(*script, []string) string

func init() {
	commands = map[string]func(*script, []string) string{
		"party": (*script).party, "open": (*script).open, "close": (*script).close, "end": (*script).end, "ended": (*script).ended,
		"see": (*script).see, "look": (*script).look, "bases": (*script).bases, "turn": (*script).turn, "ls": (*script).ls, "fork": (*script).fork, "order": (*script).order,
		"write": func(s *script, a []string) string { return s.answer(s.sim.write(s.handle(a[0], a[1]))) },
		"lock":  func(s *script, a []string) string { return s.answer(s.sim.lock(s.handle(a[0], a[1]))) },
		"rename": func(s *script, a []string) string {
			return s.answer(s.sim.rename(s.who(a[0]), s.sim.key(a[1]), s.sim.key(a[2]), slices.Contains(a, "noreplace"), slices.Contains(a, "exchange")))
		},
		"link": func(s *script, a []string) string {
			return s.answer(s.sim.link(s.who(a[0]), s.sim.key(a[1]), s.sim.key(a[2])))
		},
		"hold": func(s *script, a []string) string {
			s.sim.hold(s.who(a[0]), s.sim.key(a[1]), a[2])
			return ""
		},
		"root-bound": func(s *script, a []string) string {
			s.sim.rootBound = true
			return ""
		},
		"unlink":   func(s *script, a []string) string { return s.answer(s.sim.unlink(s.who(a[0]), s.sim.key(a[1]))) },
		"mkdir":    func(s *script, a []string) string { return s.answer(s.sim.take(s.who(a[0]), s.sim.key(a[1]))) },
		"truncate": (*script).truncate,
		"release":  func(s *script, a []string) string { return s.about(OpReleased, a[0]) },
		"expire":   func(s *script, a []string) string { return s.about(OpExpired, a[0]) },
		"lift":     func(s *script, a []string) string { return s.about(OpLifted, a[0]) },
		"list":     func(s *script, a []string) string { return strings.Join(s.sim.list(), "\n") },
		"wait": func(s *script, a []string) string {
			d, err := time.ParseDuration(a[0])
			require.NoError(s.t, err)
			s.sim.pass(d)
			return ""
		},
		"dies": func(s *script, a []string) string {
			s.sim.dead[s.who(a[0]).ID] = true
			return ""
		},
		"restart": func(s *script, a []string) string {
			s.sim = s.sim.restarted()
			return ""
		},
	}
}

func (s *script) call(verb string, args []string) string {
	do, ok := commands[verb]
	require.True(s.t, ok, "unknown command %q", verb)
	return do(s, args)
}

func (s *script) who(name string) *Party {
	p := s.sim.party(name)
	require.NotNil(s.t, p, "no party %q", name)
	return p
}

func (s *script) party(args []string) string {
	var parent *Party
	if n := slices.Index(args, "child-of"); n > 0 {
		parent = s.who(args[n+1])
	}
	p := s.sim.add(args[0], parent)
	if n := slices.Index(args, "uid"); n > 0 {
		uid, err := strconv.ParseUint(args[n+1], 10, 32)
		require.NoError(s.t, err)
		p.Process.UID = uint32(uid)
	}
	if n := slices.Index(args, "worker"); n > 0 {
		p.Worker = args[n+1]
	}
	if slices.Contains(args, "heir") {
		s.sim.heirs[p.ID] = parent
	}
	s.sim.observe[p.ID] = slices.Contains(args, "observer")
	if n := slices.Index(args, "job"); n > 0 {
		group, err := strconv.Atoi(args[n+1])
		require.NoError(s.t, err)
		s.sim.jobs[p.ID] = Job{Group: group}
	}
	return ""
}

func (s *script) open(args []string) string {
	has := func(flag string) bool { return slices.Contains(args[2:], flag) }
	m := OpenMode{Read: has("read") || has("mkstemp"), Write: has("write") || has("mkstemp"), Append: has("append"), Truncate: has("trunc"),
		NonBlock: has("nonblock"), Exclusive: has("excl") || has("mkstemp"), Mode: 0o644}
	if has("mkstemp") {
		m.Mode = 0o600
	}
	h, d := s.sim.open(s.who(args[0]), s.sim.key(args[1]), m, has("creat") || has("mkstemp"))
	if h == nil {
		return s.answer(d)
	}
	return fmt.Sprintf("gets #%d %s", h.item, accessNames[h.access])
}

var accessNames = map[Access]string{AccessClaim: "as a claim", AccessView: "to read", AccessWrite: "to write", AccessInPlace: "in place",
	AccessLock: "to lock", AccessRedirect: "redirected again"}

// handle is the last description that a party has of a name.
func (s *script) handle(party, path string) *simHandle {
	p, n := s.who(party), s.sim.key(path)
	for k := len(s.sim.handles) - 1; k >= 0; k-- {
		if h := s.sim.handles[k]; h.party == p && h.path == n {
			return h
		}
	}
	require.Fail(s.t, "not open", "%s %s", party, path)
	return nil
}

func (s *script) close(args []string) string {
	h, v := s.handle(args[0], args[1]), Verdict{}
	i := s.sim.items[h.item]
	if len(args) > 2 {
		switch args[2] {
		case "short":
			i.Taint = i.Taint.Worse(Taint{Kind: TaintShort})
		case "write-error":
			i.Taint = i.Taint.Worse(Taint{Kind: TaintWrite})
		case "unopened":
			h.unopened = true
		default:
			v = s.verdict(args[2])
		}
	}
	return s.answer(s.sim.close(h, v))
}

// verdict reads clean, failed, killed, unknown, and signals by number.
func (s *script) verdict(text string) Verdict {
	switch text {
	case "clean":
		return Verdict{Kind: Clean}
	case "failed":
		return Verdict{Kind: Failed, Status: 1}
	case "killed":
		return Verdict{Kind: Killed, Status: 9}
	case "unknown":
		return Verdict{Kind: Unknown}
	}
	signal, err := strconv.Atoi(text)
	require.NoError(s.t, err)
	return Verdict{Kind: Killed, Status: signal}
}

func (s *script) end(args []string) string {
	s.sim.end(s.who(args[0]), s.verdict(args[1]), s.heir(args))
	return ""
}

func (s *script) ended(args []string) string {
	s.sim.ended(s.who(args[0]), s.verdict(args[1]), s.heir(args))
	return ""
}

func (s *script) heir(args []string) *Party {
	for _, a := range args {
		if name, ok := strings.CutPrefix(a, "heir="); ok {
			return s.who(name)
		}
	}
	return nil
}

// fork gives a child the parent's descriptors. The description stays one: it is the child's that is closed last.
func (s *script) fork(args []string) string {
	for _, h := range s.sim.handles {
		if h.party == s.who(args[0]) {
			h.party = s.who(args[1])
		}
	}
	return ""
}

func (s *script) truncate(args []string) string {
	p, n := s.who(args[0]), s.sim.key(args[1])
	h, d := s.sim.open(p, n, OpenMode{Write: true, Resize: true}, false)
	if h == nil {
		return s.answer(d)
	}
	s.sim.write(h)
	s.sim.close(h, Verdict{})
	return ""
}

func (s *script) about(op Op, item string) string { return s.answer(s.sim.about(op, s.item(item))) }

// item reads PATH#ID.
func (s *script) item(text string) *Item {
	_, id, _ := strings.Cut(text, "#")
	n, err := strconv.ParseUint(id, 10, 64)
	require.NoError(s.t, err)
	return s.sim.items[ItemID(n)]
}

var orders = map[string]Op{"release": OpOrderRelease, "requeue": OpOrderRequeue, "discard": OpOrderDiscard, "publish": OpOrderPublish}

func (s *script) order(args []string) string {
	e := s.sim.event(orders[args[1]], s.who(args[0]))
	e.Oversees, e.Force, e.Powerless = e.By.Process.UID == 0, slices.Contains(args, "force"), slices.Contains(args, "powerless")
	var as *NameKey
	if n := slices.Index(args, "as"); n > 0 {
		key := s.sim.key(args[n+1])
		as = &key
	}
	return s.answer(s.sim.order(e, s.item(args[2]), as))
}

func (s *script) see(args []string) string {
	var lines []string
	for _, p := range args[1:] {
		line := p + " -"
		if i := s.sim.visible(s.who(args[0]), s.sim.key(p)); i != nil {
			line = fmt.Sprintf("%s #%d %s", p, i.ID, s.sim.state(i))
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func (s *script) ls(args []string) string {
	var names []string
	for n := range s.sim.files {
		if f := s.sim.look(n); Listed(s.sim.world(n, nil), f, s.sim.event(OpOpen, s.who(args[0]))) {
			names = append(names, s.sim.path(n))
		}
	}
	slices.Sort(names)
	return strings.Join(names, "\n")
}

// answer writes a refusal; what was granted shows in what changed.
func (s *script) answer(d Decision) string {
	r := d.Refuse
	if r == nil {
		return ""
	}
	text := "refused: " + r.Reason.String()
	if r.On != (NameKey{}) {
		text = "waits: " + r.Reason.String()
	}
	switch {
	case r.Item == 0 && r.By != 0:
		text += ", met the " + r.Kind
	case r.Item != 0:
		text += fmt.Sprintf(", met %s #%d", r.Kind, r.Item)
	}
	if r.By != 0 {
		text += " of " + s.sim.names[r.By]
	}
	if r.WhatNow != "" {
		text += "; " + r.WhatNow
	}
	return text
}

package fusefs

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// scenesOfMarks are about locks that are made of existence.
var scenesOfMarks = []*scene{
	{name: "mark", act: func(s *stage) { s.close(s.createNew("producer", "a.lock")) }},
	{name: "mark with a pid", act: func(s *stage) {
		h := s.createNew("producer", "a.lock")
		s.write(h, "7")
		s.close(h)
	}},
	{name: "mark that is none", act: func(s *stage) {
		h := s.createNew("producer", "a.lock")
		s.write(h, "x")
		s.close(h)
	}},
	{name: "folder as a mark", act: func(s *stage) { s.mkdir("producer", "a.lock") }},
	{name: "link as a mark", rules: []string{"lk/**=lock"}, before: func(s *stage) { s.mkdir("producer", "lk"); s.put("producer", "lk/t", "7") },
		act: func(s *stage) { s.link("producer", "lk/t", "lk/q") }},
	{name: "link of a public file as a mark", before: one, act: func(s *stage) { s.link("producer", "a", "a.lock") }},
	{name: "mark removed", before: func(s *stage) { s.mkdir("producer", "a.lock") }, act: func(s *stage) { s.rmdir("producer", "a.lock") }},
	{name: "mark renamed", before: func(s *stage) { s.close(s.createNew("producer", "a.lock")) },
		act: func(s *stage) { s.rename("producer", "a.lock", "b.lock", 0) }},
	{name: "mark inherited", before: func(s *stage) { s.mkdir("producer", "a.lock") }, act: func(s *stage) { s.end("producer", clean, "heir") }},
	{name: "mark of who was killed", before: func(s *stage) { s.close(s.createNew("producer", "a.lock")) },
		act: func(s *stage) { s.end("producer", killed, "") }},
	{name: "folder of who was killed", before: func(s *stage) { s.mkdir("producer", "a.lock") }, act: func(s *stage) { s.end("producer", killed, "") }},
	{name: "link of who has failed", rules: []string{"lk/**=lock"},
		before: func(s *stage) {
			s.mkdir("producer", "lk")
			s.put("producer", "lk/t", "7")
			s.link("producer", "lk/t", "lk/q")
		},
		act: func(s *stage) { s.end("producer", failed, "") }},
}

var recordPattern = regexp.MustCompile(`[0-9a-f]+\.[0-9a-f]+\.(\d+)\.\d+\.\d+\.\d+~([0-9a-z]+~)\d+~\d+~\d+(~\d+~\d+/)`)

// maskedRecord is a line without what differs from run to run in the record of a mark.
func (s *stage) maskedRecord(line string) string {
	return recordPattern.ReplaceAllStringFunc(line, func(record string) string {
		f := recordPattern.FindStringSubmatch(record)
		return s.actorOf(f[1]) + "~" + f[2] + "…" + f[3]
	})
}

// eachRecord has the records of marks in a folder changed.
func (s *stage) eachRecord(dir string, change func(r *protocol.MarkRecord, at string)) {
	list, err := os.ReadDir(filepath.Join(dir, marksArea))
	if os.IsNotExist(err) {
		return
	}
	require.NoError(s.t, err)
	for _, e := range list {
		at := filepath.Join(dir, marksArea, e.Name())
		text, err := os.Readlink(at)
		require.NoError(s.t, err)
		r, err := protocol.ParseMarkRecord(text)
		require.NoError(s.t, err)
		change(&r, at)
		require.NoError(s.t, os.Remove(at))
		require.NoError(s.t, os.Symlink(r.String(), at))
	}
}

// identifyMarks makes the records name the files and folders as they were laid out.
func (s *stage) identifyMarks(m image, dir string) {
	s.eachRecord(dir, func(r *protocol.MarkRecord, _ string) {
		m.walk("", m.root, func(path string, id inodeID, _ inode) {
			if id.ino == r.Ino && id.born == r.Born {
				now := identity(s.t, filepath.Join(dir, path))
				r.Ino, r.Born = now.ino, now.born
			}
		})
	})
}

func (s *stage) rebootMarks(dir string) {
	s.eachRecord(dir, func(r *protocol.MarkRecord, _ string) { r.Line.Process.Boot = "0ddba11" })
}

// marked tells about a record, and a folder in quarantine.
func (s *stage) marked(path string, n inode) (text string, ok bool) {
	part := strings.Split(strings.TrimPrefix(path, backing.Control+"/"), "/")
	switch {
	case part[0] == "marks" && len(part) == 2:
		r, err := protocol.ParseMarkRecord(n.data)
		require.NoError(s.t, err)
		return "mark " + r.Name + " (" + s.actorOf(strconv.Itoa(r.Line.Process.PID)) + ")", true
	case part[0] == protocol.Quarantined.Area() && len(part) == 3 && n.mode&unix.S_IFMT == unix.S_IFDIR:
		return "quarantined " + part[2] + "/", true
	}
	return "", false
}

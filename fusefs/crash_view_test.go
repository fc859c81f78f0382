package fusefs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/fusefs/checkup"
	"github.com/airlockfs/airlockfs/protocol"
)

var (
	placePattern = regexp.MustCompile(`([0-9a-z]+~\d+~)[0-9a-f]+\.[0-9a-f]+\.(\d+)\.\d+\.\d+\.\d+(?:\.\d+\.\d+)?`)
	draftPattern = regexp.MustCompile(`(folders/[0-9a-z]+)\.[0-9]+\.new`)
	untilPattern = regexp.MustCompile(`replaced/\d+~`)
	tokenPattern = regexp.MustCompile(`@tokens/[1-9][0-9]*`)
)

// actorOf is the name of the process with a pid.
func (s *stage) actorOf(pid string) string {
	for name, n := range s.actors {
		if strconv.Itoa(n) == pid {
			return name
		}
	}
	return "nobody"
}

// recovered lays an image out, has a mount take it over, has it checked, and tells what there is. images are those
// that a crash of the recovery itself may leave. reboot: whoever owned something ran before the machine's last start.
func (s *stage) recovered(m image, reboot bool) (view string, images []image) {
	key := fmt.Sprint(reboot, m.key())
	if known, again := s.judged[key]; again {
		return known.view, known.images
	}
	defer func() { s.judged[key] = judged{view, images} }()
	dir := inMemory(s.t)
	defer os.RemoveAll(dir)
	m.lay(s.t, dir)
	s.identify(m, dir)
	s.identifyMarks(m, dir)
	if reboot {
		s.reboot(dir)
		s.rebootMarks(dir)
	}
	r := &recording{t: s.t, dir: dir}
	r.begin()
	s.mount(dir, r.trace)
	s.leave()
	for n := range r.steps {
		images = append(images, r.image(n))
	}
	view = s.view(dir)
	for _, kind := range s.check(dir) {
		view += "; PROBLEM " + kind
	}
	return view, images
}

// judged is what became of an image.
type judged struct {
	view   string
	images []image
}

// reboot makes all owners in the names of places processes of an earlier boot.
func (s *stage) reboot(dir string) {
	for _, area := range protocol.Areas() {
		list, err := os.ReadDir(filepath.Join(dir, backing.Control, area))
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(s.t, err)
		for _, e := range list {
			p, err := protocol.ParsePlace(area, e.Name())
			require.NoError(s.t, err)
			if p.Owner.PID != 0 {
				p.Owner.Boot = "0ddba11"
				require.NoError(s.t, os.Rename(filepath.Join(dir, backing.Control, area, e.Name()), filepath.Join(dir, backing.Control, area, p.Dir())))
			}
		}
	}
}

// identify makes the drafts in the registry name the folders as they were laid out, which are other inodes than those
// whose image it is.
func (s *stage) identify(m image, dir string) {
	folders, _ := m.find(foldersArea)
	m.walk("", m.root, func(path string, id inodeID, _ inode) {
		for name := range m.inodes[folders].entries {
			key, inode, _ := strings.Cut(name, ".")
			if inode == strconv.FormatUint(id.ino, 10)+draftSuffix {
				now := key + "." + strconv.FormatUint(identity(s.t, filepath.Join(dir, path)).ino, 10) + draftSuffix
				require.NoError(s.t, os.Rename(filepath.Join(dir, foldersArea, name), filepath.Join(dir, foldersArea, now)))
			}
		}
	})
}

// check is airlockfs check: the problems that it finds.
func (s *stage) check(dir string) (problems []string) {
	store, err := backing.Open(dir, backing.Options{})
	require.NoError(s.t, err)
	defer store.Close()
	found, err := checkup.Run(store, checkup.Facts{Served: func(backing.ID) bool { return false }, Here: s.callers.Here,
		Alive: func(p protocol.Process) bool { _, alive := s.callers.Revive(p); return alive }})
	require.NoError(s.t, err)
	for _, f := range found {
		if f.Problem {
			problems = append(problems, f.Kind)
		}
	}
	return problems
}

// view tells all files that there are, where they stand, and what they hold: "a=one; claimed b=two (consumer)".
func (s *stage) view(dir string) string {
	m := imageOf(s.t, dir)
	for id, n := range m.inodes {
		n.data = strings.ReplaceAll(n.data, "\x00", "·")
		m.inodes[id] = n
	}
	keys := map[string]string{"0": ""}
	if folders, ok := m.find(foldersArea); ok {
		for key, id := range m.inodes[folders].entries {
			keys[key] = m.inodes[id].data
		}
	}
	var all []string
	m.walk("", m.root, func(path string, _ inodeID, n inode) {
		kind := n.mode & unix.S_IFMT
		inside := strings.HasPrefix(path+"/", backing.Control+"/")
		if text, ok := s.marked(path, n); ok {
			all = append(all, text)
		}
		switch {
		case kind == unix.S_IFDIR && !inside:
			all = append(all, path+"/")
		case kind == unix.S_IFREG && !inside:
			all = append(all, path+"="+n.data+s.noted(n))
		case kind == unix.S_IFREG && strings.Count(path, "/") == 3:
			all = append(all, s.private(path, n, keys))
		}
	})
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// private tells about a file in an area of the control folder.
func (s *stage) private(path string, n inode, keys map[string]string) string {
	part := strings.SplitN(path, "/", 4)
	area, place, name := part[1], part[2], part[3]
	if area == "replaced" {
		_, key, _ := strings.Cut(place, "~")
		return "replaced " + strings.TrimPrefix(keys[key]+"/"+name, "/") + "=" + n.data
	}
	p, err := protocol.ParsePlace(area, place)
	require.NoError(s.t, err)
	folder, known := keys[p.Folder]
	if !known {
		folder = "?"
	}
	text := p.State.String() + " "
	if p.Barrier != protocol.NoBarrier {
		text = "held:" + p.Barrier.String() + " "
	}
	text += strings.TrimPrefix(folder+"/"+name, "/") + "=" + n.data
	if p.State == protocol.Claimed || p.State == protocol.Staged {
		text += " (" + s.actorOf(strconv.Itoa(p.Owner.PID)) + ")"
	}
	return text + s.noted(n)
}

// noted is what an item's note says that matters to programs and people.
func (s *stage) noted(n inode) (text string) {
	_, value, _ := strings.Cut(n.attrs, "user.airlockfs.note=")
	note, err := protocol.DecodeNote([]byte(value))
	require.NoError(s.t, err)
	if note.Ghost {
		text += " (to be locked)"
	}
	if note.Class != "" && !note.Ghost {
		text += " (class " + note.Class + ")"
	}
	if note.Attempts > 0 {
		text += " attempts " + strconv.Itoa(note.Attempts)
	}
	if note.Taint != "" {
		text += " [" + note.Taint + "]"
	}
	return text
}

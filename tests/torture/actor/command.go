package actor

import (
	"embed"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed scripts
var scripts embed.FS

// Kinds are all actors, with how often each is chosen, in a fixed order.
var Kinds = []struct {
	Name   string
	Weight int
	Role   string // makes, takes or disturbs
}{
	{"maker", 8, "makes"}, {"taker", 8, "takes"}, {"watcher", 2, "disturbs"}, {"breaker", 3, "makes"}, {"taker.py", 4, "takes"},
	{"shell-maker", 3, "makes"}, {"shell-taker", 4, "takes"}, {"editor", 3, "makes"}, {"maker.py", 3, "makes"}, {"linker", 1, "makes"},
	{"locker", 2, "disturbs"}, {"mover", 1, "disturbs"}, {"operator", 1, "disturbs"},
}

// Unpack writes the scripts to a folder, for everybody, with observers' names for this program and tar.
func Unpack(side, self string) error {
	files, err := scripts.ReadDir("scripts")
	if err != nil {
		return err
	}
	for _, f := range files {
		b, err := scripts.ReadFile("scripts/" + f.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(side, f.Name()), b, 0o755); err != nil {
			return err
		}
	}
	tar, err := exec.LookPath("tar")
	if err != nil {
		return err
	}
	if err := os.Symlink(self, filepath.Join(side, Looker)); err != nil {
		return err
	}
	return os.Symlink(tar, filepath.Join(side, Looker+"-tar"))
}

// Command starts an actor.
func Command(s Setting, log string) *exec.Cmd {
	seed := strconv.FormatUint(s.Seed, 10)
	switch {
	case strings.HasPrefix(s.Kind, "shell-"):
		return s.script(log, "bash", filepath.Join(s.Side, s.Kind+".sh"))
	case strings.HasSuffix(s.Kind, ".py"):
		return s.script(log, "python3", filepath.Join(s.Side, s.Kind))
	}
	program := s.Self
	if s.Kind == "watcher" {
		program = filepath.Join(s.Side, Looker)
	}
	return exec.Command(program, "actor", "--id", s.ID, "--kind", s.Kind, "--seed", seed, "--life", s.Life.String(),
		"--root", s.Root, "--side", s.Side, "--logs", s.Logs, "--self", s.Self, "--bin", s.Bin)
}

func (s Setting) script(log, interpreter, file string) *exec.Cmd {
	cmd := exec.Command(interpreter, file)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PYTHONDONTWRITEBYTECODE=1", "ROOT="+s.Root, "SIDE="+s.Side, "LOG="+log, "SELF="+s.Self, "ID="+s.ID,
		"SEED="+strconv.FormatUint(s.Seed%32768, 10), "LIFE="+strconv.Itoa(max(1, int(s.Life.Seconds()))))
	return cmd
}

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/airlockfs/airlockfs/tests/torture/journal"
	"github.com/airlockfs/airlockfs/tests/torture/verdict"
)

// judge judges again what --keep has kept, until the machine's next boot.
func judge(kept string, out io.Writer) (int, error) {
	lines, err := journal.Read(filepath.Join(kept, "logs"), journal.StartClock())
	if err != nil {
		return 2, err
	}
	f := &final{files: map[string]string{}}
	backing := filepath.Join(kept, "disk", "backing")
	if _, err := os.Stat(backing); err != nil {
		backing = filepath.Join(kept, "mnt")
	}
	f.walk(backing)
	r := verdict.Judge(lines, f.found)
	table(out, "steps, by how they ended", r.Counts)
	table(out, "accepted parcels, by where they ended", r.Where)
	fmt.Fprintf(out, "parcels: %d; histories checked: %d\n", r.Parcels, r.Histories)
	return sentence(out, append(f.violations, r.Violations...), r), nil
}

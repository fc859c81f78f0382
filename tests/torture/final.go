package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/airlockfs/airlockfs/fusefs/report"
	"github.com/airlockfs/airlockfs/tests/torture/parcel"
	"github.com/airlockfs/airlockfs/tests/torture/verdict"
)

// final is what is there when all actors have ended.
type final struct {
	found      []verdict.Found
	files      map[string]string // path below the backing → area
	violations []verdict.Violation
}

func (f *final) say(kind, format string, args ...any) {
	f.violations = append(f.violations, verdict.Violation{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// takeStock ends the mount, and finds out where everything is.
func (f *final) takeStock(d *driver) {
	var status report.Status
	var listed []string
	if d.on == onAirlockfs {
		status, listed = f.askMount(d)
	}
	if d.daemon != nil {
		if err := d.daemon.end(); err != nil {
			f.say("not unmounted", "%v", err)
		}
		if out, err := output(d.bin, "check", d.stage.backing); err != nil && d.on == onAirlockfs {
			f.say("check", "%v: %s", err, out)
		}
	}
	f.walk(d.stage.backing)
	if d.on == onAirlockfs {
		f.compare(status, listed)
	}
}

// askMount asks the mount once nothing is the dead's any more.
func (f *final) askMount(d *driver) (s report.Status, listed []string) {
	settled := until(15*time.Second, func() bool {
		out, err := output(d.bin, "status", "--json", d.stage.root)
		s = report.Status{}
		return err == nil && json.Unmarshal(out, &s) == nil && !slices.ContainsFunc(s.Items, ofTheDead)
	})
	if !settled {
		for _, i := range s.Items {
			if ofTheDead(i) {
				f.say("held by the dead", "%s is %s by %v", i.Path, i.State, i.Owner)
			}
		}
	}
	d.vitals.look(d.daemon)
	if c := d.vitals.complaint(len(s.Items)); c != "" {
		f.say("too much", "%s", c)
	}
	out, err := output("find", filepath.Join(d.stage.root, "q"), "-type", "f", "-printf", "q/%P\n")
	if err != nil {
		f.say("can't be listed", "%v", err)
	}
	return s, strings.Fields(string(out))
}

func ofTheDead(i report.Item) bool { return i.State == "claimed" || i.State == "staged" }

// walk reads all files of the backing.
func (f *final) walk(backing string) {
	err := filepath.WalkDir(backing, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, _ := filepath.Rel(backing, path)
		area := area(rel)
		if area == "" || strings.HasPrefix(rel, "q/locks/") {
			return nil
		}
		f.files[rel] = area
		b, err := os.ReadFile(path)
		names, torn := parcel.Parse(b)
		if torn != nil && (area == "public" || area == "archive") {
			f.say("torn", "%s is public: %v", rel, torn)
		}
		for _, name := range names {
			f.found = append(f.found, verdict.Found{Parcel: name, Area: area, Where: rel})
		}
		return err
	})
	if err != nil {
		f.say("can't be read", "%v", err)
	}
}

// area is where a file of the backing is: "" if it holds no parcel.
func area(rel string) string {
	control, inside := strings.CutPrefix(rel, ".airlockfs/")
	switch {
	case !inside && strings.HasPrefix(rel, "q/done/"):
		return "archive"
	case !inside:
		return "public"
	}
	name, rest, deep := strings.Cut(control, "/")
	if !deep || rest == "" || name == "probe" {
		return ""
	}
	return name
}

// compare: what is public can be seen, and what is not has a reason.
func (f *final) compare(s report.Status, listed []string) {
	reasons := map[string]string{}
	for _, i := range s.Items {
		reasons[i.Bytes] = i.Reason
	}
	seen := map[string]bool{}
	for _, path := range listed {
		seen[path] = true
	}
	for path, area := range f.files {
		switch area {
		case "public", "archive":
			if !seen[path] {
				f.say("not seen", "%s is public, and the mount does not list it", path)
			}
		case "replaced":
		default:
			if reasons[path] == "" {
				f.say("without a reason", "%s is hidden, and status does not say why: %+v", path, s.Items)
			}
		}
	}
}

package protocol

import (
	"fmt"
	"slices"
	"strings"
)

// NameTables are the patterns that decide by name inside queue and work folders. They are asked in the order lock, log,
// plain, marker, temp; within a table the order does not matter. Patterns are written as in rules.
type NameTables struct {
	Lock     []string // class lock, because others must see them
	Unlisted []string // those of Lock that no listing shows
	Log      []string // class log if created with O_APPEND
	Plain    []string // class plain
	Database []string // class plain if created as databases are
	Marker   []string // says that something else is complete

	Temp          []string // unfinished by name alone: barrier temp
	TempExclusive []string // unfinished if created as mkstemp(3) does, because they match ordinary names too
	Resumable     []string // those of Temp that their user may reopen after the writer was killed

	Litter []string // private to their maker for ever
}

// DefaultNames gives the tables that are on unless the user says otherwise. The caller may change what it gets.
func DefaultNames() NameTables {
	return NameTables{
		Lock: []string{"*.lock", "*.lck", "*.pid", "*.lock.d", "lock", "mutex", ".~lock.*#", "~$*", ".*.sw?", ".#*",
			"**/*.git/**/*.lock", "**/*.lock/*", "**/*.lck/*", "**/*.lock.d/*"},
		Unlisted: []string{".*.sw?", ".#*"},
		Log:      []string{"*.log", "*.out", "*.err"},
		Plain:    []string{"**/*.git/**"},
		Database: []string{"*.db", "*.sqlite*", "*-journal", "*-wal", "*-shm"},
		Marker:   []string{"_SUCCESS", "*.done", "*.complete", "*.ok", "*.ready", "*.ctl"},
		Temp: []string{"*.tmp", "*.temp", "*.TMP", "*.part", "*.partial", "*.filepart", "*.crdownload", "*.opdownload",
			"*.wkdownload", "*.!ut", "*.bc!", "*.!qB", "*.!sync", "*.xltd", "*.aria2", "*.writing", "*._COPYING_",
			"*.uploading", "*.incomplete", "*.inprogress", "*.unfinished", "*.temp.{mkv,mp4,webm,m4a,mp3,opus}",
			"*.dpkg-new", "*.dpkg-tmp", "*___jb_tmp___", ".in.*.", ".pureftpd-upload.*", ".pureftpd-rename.*",
			".sftpgo-upload.*", ".sftpgo-partial.*", ".syncthing.*.tmp", "~syncthing~*.tmp", "*.ocTransferId*.part",
			".unison.*.unison.tmp", ".goutputstream-??????", ".nfs*", ".fuse_hidden*", ".__afs*", ".uploading-*",
			"*.aria2__temp", "**/.~tmp~/**", "**/.rsync-partial/**"},
		TempExclusive: []string{".*.??????", "sed??????", "tmp*", ".tmp*", "tmp.??????????", "XX??????", "zi??????"},
		Resumable:     []string{"*.filepart", "*.part", "*.partial", "*.crdownload"},
	}
}

// AddTemp makes names temp by name alone. It fails for a malformed pattern.
func (n *NameTables) AddTemp(pattern string) error {
	if _, err := compilePatterns(pattern); err != nil {
		return fmt.Errorf("temp pattern %q: %w", pattern, err)
	}
	n.Temp = append(n.Temp, pattern)
	return nil
}

// DropTemp switches off one pattern, written as in the tables, or "all". It fails if no such pattern is on.
func (n *NameTables) DropTemp(pattern string) error {
	if pattern == "all" {
		n.Temp, n.TempExclusive = nil, nil
		return nil
	}
	isIt := func(p string) bool { return p == pattern }
	on := len(n.Temp) + len(n.TempExclusive)
	n.Temp = slices.DeleteFunc(n.Temp, isIt)
	n.TempExclusive = slices.DeleteFunc(n.TempExclusive, isIt)
	if len(n.Temp)+len(n.TempExclusive) == on {
		return fmt.Errorf("temp pattern %q is not on; those that are: all %s", pattern,
			strings.Join(slices.Concat(n.Temp, n.TempExclusive), " "))
	}
	return nil
}

// IgnoreLitter keeps the files private that desktop systems leave in every folder they show.
func (n *NameTables) IgnoreLitter() {
	n.Litter = []string{"._*", ".DS_Store", "Thumbs.db", "desktop.ini"}
}

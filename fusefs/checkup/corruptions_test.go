package checkup

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/protocol"
)

func barred(b protocol.Barrier) protocol.Place {
	p := place(protocol.Held, "1")
	p.Barrier = b
	return p
}

func owned(state protocol.State, pid int, boot string) protocol.Place {
	p := place(state, "1")
	p.Owner.PID, p.Owner.Boot = pid, boot
	return p
}

// corruptions do one damage each, and give the path where it must be found.
var corruptions = map[string]func(d disk) string{
	"control-open":    func(d disk) string { return d.chmod(control("."), 0o755) },
	"control-foreign": func(d disk) string { return d.chown(control(".")) },
	"control-stray":   func(d disk) string { return d.file(control("readme")) },
	"control-half": func(d disk) string {
		d.remove(control("."))
		require.NoError(d.t, os.Mkdir(d.path(control(".")), 0o700))
		return control(".")
	},
	"format-missing": func(d disk) string {
		d.remove(formatPath)
		return formatPath
	},
	"format-unknown": func(d disk) string {
		require.NoError(d.t, os.WriteFile(d.path(formatPath), []byte("airlockfs 99\n"), 0o600))
		return formatPath
	},
	"format-draft": func(d disk) string { return d.file(control("format.new")) },
	"probe-left":   func(d disk) string { return d.folder(control("probe")) },
	"area-missing": func(d disk) string {
		d.remove(control("abandoned"))
		return control("abandoned")
	},
	"area-not-folder": func(d disk) string {
		d.remove(control("abandoned"))
		return d.file(control("abandoned"))
	},
	"area-owner": func(d disk) string { return d.chown(control("staging")) },
	"area-mode":  func(d disk) string { return d.chmod(control("claimed"), 0o750) },

	"registry-stray":       func(d disk) string { return d.link("in", "folders/NOT A KEY") },
	"registry-root":        func(d disk) string { return d.link("in", "folders/0") },
	"registry-draft":       func(d disk) string { return d.link("in", "folders/1.new") },
	"registry-not-symlink": func(d disk) string { return d.file(control("folders/2")) },
	"registry-escapes":     func(d disk) string { return d.link("in/../..", "folders/2") },
	"registry-missing":     func(d disk) string { return d.link("gone", "folders/2") },
	"registry-not-folder":  func(d disk) string { return d.link("in/public", "folders/2") },
	"registry-twice":       func(d disk) string { return d.link("in", "folders/2") },

	"mark-stray":      func(d disk) string { return d.file(control("marks/1")) },
	"mark-unparsable": func(d disk) string { return d.link("nobody's", "marks/1") },
	"mark-gone":       func(d disk) string { return d.mark(7, "gone.lock") },
	"mark-owner-dead": func(d disk) string { return d.mark(70, "x.lock") },

	"place-stray":      func(d disk) string { return d.file(control("held/file")) },
	"place-unparsable": func(d disk) string { return d.folder(control("held/1~x")) },
	"place-owner":      func(d disk) string { return d.chown(dirOf(place(protocol.Claimed, "1"))) },
	"place-mode":       func(d disk) string { return d.chmod(dirOf(place(protocol.Staged, "1")), 0o701) },
	"place-barrier": func(d disk) string {
		return d.folder(dirOf(barred(protocol.NoBarrier)))
	},
	"place-unknown-key": func(d disk) string {
		p := place(protocol.Staged, "z")
		d.item(p, "lost")
		return dirOf(p)
	},
	"place-folder-gone": func(d disk) string {
		d.remove("in")
		return dirOf(place(protocol.Claimed, "1"))
	},

	"item-folder":    func(d disk) string { return d.folder(dirOf(place(protocol.Claimed, "1")) + "/sub") },
	"item-irregular": func(d disk) string { return d.fifo(dirOf(place(protocol.Claimed, "1")) + "/fifo") },
	"item-also-public": func(d disk) string {
		return d.hardlink("in/public", dirOf(place(protocol.Claimed, "1"))+"/public")
	},
	"item-twice": func(d disk) string {
		return d.hardlink(dirOf(place(protocol.Staged, "1"))+"/a", dirOf(place(protocol.Claimed, "1"))+"/a2")
	},
	"item-owner-dead":    func(d disk) string { return d.item(owned(protocol.Claimed, 6, "bb"), "x") },
	"item-owner-earlier": func(d disk) string { return d.item(owned(protocol.Staged, 7, "old"), "x") },
	"claim-unowned":      func(d disk) string { return d.item(owned(protocol.Claimed, 0, "bb"), "x") },
	"held-alone":         func(d disk) string { return d.item(barred(protocol.BarrierOlder), "x") },
	"held-overdue": func(d disk) string {
		return d.note(d.item(barred(protocol.BarrierQuiet), "x"), `{"until":"2001-02-03T04:05:06Z"}`)
	},
	"quarantine-unexplained": func(d disk) string { return d.item(place(protocol.Quarantined, "1"), "x") },

	"note-unreadable": func(d disk) string { return d.note("in/public", "{") },
	"note-class":      func(d disk) string { return d.note("in/public", `{"class":"nosuch"}`) },
	"note-taint": func(d disk) string {
		return d.note(d.item(place(protocol.Quarantined, "1"), "x"), `{"taint":"nosuch"}`)
	},
	"note-attempts": func(d disk) string { return d.note("in/public", `{"attempts":-1}`) },
	"note-home":     func(d disk) string { return d.note(d.item(place(protocol.Claimed, "1"), "x"), `{"home":"z/x"}`) },

	"public-secret":  func(d disk) string { return d.note("in/public", `{"taint":"failed"}`) },
	"public-claimed": func(d disk) string { return d.note("in/public", `{"home":"1/x"}`) },
	"public-control": func(d disk) string { return d.folder("in/.airlockfs") },
	"public-mount": func(d disk) string {
		d.folder("in/mounted")
		require.NoError(d.t, unix.Mount("none", d.path("in/mounted"), "tmpfs", 0, "size=4k"))
		d.t.Cleanup(func() { require.NoError(d.t, unix.Unmount(d.path("in/mounted"), unix.MNT_DETACH)) })
		return "in/mounted"
	},

	"tokens-stray": func(d disk) string {
		for _, name := range []string{"99999999999999999999", "-1", "007"} {
			d.folder(control("tokens/" + name))
		}
		return d.folder(control("tokens/x"))
	},
	"tokens-missing": func(d disk) string {
		d.remove(control("tokens"))
		return control("tokens")
	},

	"replaced-stray":       func(d disk) string { return d.file(control("replaced/file")) },
	"replaced-unparsable":  func(d disk) string { return d.folder(control("replaced/soon~1")) },
	"replaced-irregular":   func(d disk) string { return d.fifo(control("replaced/1800000000000000000~1/fifo")) },
	"replaced-unknown-key": func(d disk) string { return d.folder(control("replaced/1800000000000000000~z")) },
	"unreadable": func(d disk) string {
		folder := dirOf(place(protocol.Claimed, "1"))
		d.remove(folder)
		d.folder(folder)
		require.NoError(d.t, unix.Mount("none", d.path(folder), "tmpfs", 0, "size=4k"))
		d.t.Cleanup(func() { require.NoError(d.t, unix.Unmount(d.path(folder), unix.MNT_DETACH)) })
		return folder
	},
}

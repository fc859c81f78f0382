package channel

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"
)

const (
	defaultMaxWrite      = 1 << 20
	defaultMaxBackground = 1<<16 - 1
	defaultName          = "airlockfs"
	defaultMaxPages      = 256 // FUSE_MAX_MAX_PAGES, before it became a sysctl
)

// wantedCapabilities are asked for beside the library's own list. Without
// ATOMIC_O_TRUNC an open with O_TRUNC becomes OPEN and a SETATTR that names no
// handle; with DONT_MASK the umask comes with the request, as default ACLs need.
// DIRECT_IO_ALLOW_MMAP is not among them: a shared mapping of a direct handle is
// ENODEV, because what is done with it would not come to us.
const wantedCapabilities = fuse.CAP_ATOMIC_O_TRUNC | fuse.CAP_DONT_MASK

// Options say how to mount. The zero value is usable.
type Options struct {
	// Source and Subtype are what /proc/mounts shows: the source and, after
	// "fuse.", the type. Both default to "airlockfs".
	Source, Subtype string

	ReadOnly   bool
	AllowOther bool // let every user in, not only the one who mounts

	// MountOptions are further options as mount(8) writes them ("noexec",
	// "noatime", "context=…").
	MountOptions []string

	// MaxWrite is the largest READ and WRITE in bytes, in whole pages: 1 MiB by
	// default, at most what /proc/sys/fs/fuse/max_pages_limit allows.
	MaxWrite int

	// MaxBackground is how many background requests the kernel has under way,
	// at most and by default 65535. RELEASE is one of them, and so is read-ahead:
	// a RELEASE held back behind this limit is no longer in order. For a user
	// other than root the kernel applies its max_user_bgreq as well.
	MaxBackground int

	// Enable and Disable change the set of FUSE capabilities (fuse.CAP_…)
	// asked for. READDIRPLUS is off, locks and ACLs are on by default.
	Enable, Disable uint64

	// Log defaults to slog.Default(). The library's own messages go to level
	// debug.
	Log *slog.Logger

	// Count, if set, is called with the opcode of every request, from several
	// goroutines.
	Count func(opcode uint32)
}

func (o Options) withDefaults() Options {
	o.Source = cmp.Or(o.Source, defaultName)
	o.Subtype = cmp.Or(o.Subtype, defaultName)
	o.MaxWrite = wholePages(min(cmp.Or(o.MaxWrite, defaultMaxWrite), maxPages()*os.Getpagesize()))
	o.MaxBackground = min(cmp.Or(o.MaxBackground, defaultMaxBackground), defaultMaxBackground)
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Count == nil {
		o.Count = func(uint32) {}
	}
	return o
}

// wholePages rounds down to what the kernel can use, which counts in pages.
func wholePages(size int) int {
	page := os.Getpagesize()
	return max(size/page, 1) * page
}

func (o Options) filesystemType() string { return "fuse." + o.Subtype }

func (o Options) protocol() *fuse.MountOptions {
	return &fuse.MountOptions{
		Name:                 o.Subtype,
		MaxWrite:             o.MaxWrite,
		MaxBackground:        o.MaxBackground,
		EnableLocks:          true,
		EnableAcl:            true,
		ExtraCapabilities:    wantedCapabilities | o.Enable,
		DisabledCapabilities: fuse.CAP_READDIRPLUS&^o.Enable | o.Disable | fuse.CAP_ALLOW_IDMAP,
		Logger:               slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		PanicHandler:         o.logPanic,
	}
}

func (o Options) logPanic(value any) fuse.Status {
	o.Log.LogAttrs(context.Background(), slog.LevelError, "a request handler panicked",
		slog.Any("panic", value), slog.String("stack", string(debug.Stack())))
	return fuse.EIO
}

// maxPages is the kernel's limit on the pages of one request
// (Documentation/admin-guide/sysctl/fs.rst, max_pages_limit; Linux 6.13).
func maxPages() int {
	text, err := os.ReadFile("/proc/sys/fs/fuse/max_pages_limit")
	if err != nil {
		return defaultMaxPages
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || n <= 0 {
		return defaultMaxPages
	}
	return n
}

package show

import (
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Screen is where output for people goes, and what can be done there.
type Screen struct {
	Out           io.Writer
	Moves         bool // a terminal whose cursor can be moved
	Colours       bool
	Width, Height int // 0: unknown, or without end
}

// NewScreen finds out what the output can do. colour is what --color says.
func NewScreen(out io.Writer, colour string) Screen {
	s := Screen{Out: out}
	if f, ok := out.(*os.File); ok && IsTerminal(f) {
		s.Moves = os.Getenv("TERM") != "dumb" && os.Getenv("TERM") != ""
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil {
			s.Width, s.Height = int(size.Col), int(size.Row)
		}
	}
	s.Colours = colour == "always" || colour == "auto" && s.Moves && os.Getenv("NO_COLOR") == ""
	return s
}

// Colour is how a text stands out, as the parameters of ECMA-48's SGR; "" does not.
type Colour string

const (
	Bold   Colour = "1"
	Faint  Colour = "2"
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
	Cyan   Colour = "36"
)

// Paint gives a text its colour, where there are any.
func (s Screen) Paint(c Colour, text string) string {
	if !s.Colours || c == "" || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// Redraw writes a page over the former one, without a flicker. What does not fit is left out.
func (s Screen) Redraw(page string) error {
	lines := strings.Split(strings.TrimSuffix(page, "\n"), "\n")
	if s.Height > 1 && len(lines) >= s.Height {
		lines = append(lines[:s.Height-2:s.Height-2], "…")
	}
	_, err := io.WriteString(s.Out, "\x1b[H"+strings.Join(lines, "\x1b[K\n")+"\x1b[K\n\x1b[J")
	return err
}

// IsTerminal tells whether a file is one.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

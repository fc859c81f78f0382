package show

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// cell is a text of a table.
type cell struct {
	text   string
	colour Colour
}

// Column says how a column is laid out.
type Column struct {
	Heading string
	Right   bool // numbers
	Least   int  // to so many columns of the terminal it may be shortened; 0: never
	Tail    bool // its end tells more than its beginning
}

// Table is rows of cells that are aligned and, on a terminal, fit it.
type Table struct {
	Columns []Column
	rows    [][]cell
}

// Add adds a row. Its first text has a colour.
func (t *Table) Add(first Colour, texts ...string) {
	cells := make([]cell, len(texts))
	for n, text := range texts {
		cells[n].text = text
	}
	cells[0].colour = first
	t.rows = append(t.rows, cells)
}

// Drop leaves out a column.
func (t *Table) Drop(n int) {
	t.Columns = append(t.Columns[:n:n], t.Columns[n+1:]...)
	for r, cells := range t.rows {
		t.rows[r] = append(cells[:n:n], cells[n+1:]...)
	}
}

// Print writes the table under its headings.
func (t *Table) Print(s Screen) error {
	heading := make([]cell, len(t.Columns))
	for n, c := range t.Columns {
		heading[n] = cell{c.Heading, Bold}
	}
	return t.write(s, append([][]cell{heading}, t.rows...))
}

// Rows aligns rows of equally many texts.
func Rows(out io.Writer, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	t := Table{Columns: make([]Column, len(rows[0]))}
	for _, texts := range rows {
		t.Add("", texts...)
	}
	return t.write(Screen{Out: out}, t.rows)
}

func (t *Table) write(s Screen, rows [][]cell) error {
	widths := t.widths(s.Width)
	var b strings.Builder
	for _, cells := range rows {
		t.line(&b, s, cells, widths)
	}
	_, err := io.WriteString(s.Out, b.String())
	return err
}

func (t *Table) line(b *strings.Builder, s Screen, cells []cell, widths []int) {
	for n, c := range cells {
		text := shorten(c.text, widths[n], t.Columns[n].Tail)
		gap := strings.Repeat(" ", widths[n]-Width(text))
		switch {
		case t.Columns[n].Right:
			b.WriteString(gap + s.Paint(c.colour, text))
		case n == len(cells)-1:
			b.WriteString(s.Paint(c.colour, text))
		default:
			b.WriteString(s.Paint(c.colour, text) + gap)
		}
		if n < len(cells)-1 {
			b.WriteString("  ")
		}
	}
	b.WriteString("\n")
}

// widths are those of the longest texts. Where they don't fit, the widest column gives way, until the next is as wide.
func (t *Table) widths(room int) []int {
	widths := make([]int, len(t.Columns))
	total := 2 * (len(t.Columns) - 1)
	for n, c := range t.Columns {
		widths[n] = Width(c.Heading)
		for _, cells := range t.rows {
			widths[n] = max(widths[n], Width(cells[n].text))
		}
		total += widths[n]
	}
	for ; room > 0 && total > room; total-- {
		widest := -1
		for n, c := range t.Columns {
			if c.Least > 0 && widths[n] > c.Least && (widest < 0 || widths[n] > widths[widest]) {
				widest = n
			}
		}
		if widest < 0 {
			break // it does not fit
		}
		widths[widest]--
	}
	return widths
}

// shorten cuts a text to so many columns of a terminal, and shows where.
func shorten(text string, room int, tail bool) string {
	if Width(text) <= room {
		return text
	}
	for Width(text) > room-1 {
		_, first := utf8.DecodeRuneInString(text)
		_, last := utf8.DecodeLastRuneInString(text)
		if tail {
			text = text[first:]
		} else {
			text = text[:len(text)-last]
		}
	}
	if tail {
		return "…" + text
	}
	return text + "…"
}

// Width is how many columns of a terminal a text takes.
func Width(text string) int {
	n := 0
	for _, r := range text {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

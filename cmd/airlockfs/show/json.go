package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
)

// JSON is for programs.
func JSON(out io.Writer, value any) error { return encodeJSON(out, value, "  ") }

// JSONLine is for programs that read values as they come.
func JSONLine(out io.Writer, value any) error { return encodeJSON(out, value, "") }

// encodeJSON writes what a terminal would obey as it writes other control characters: escaped. Such runes stand only in
// strings, where JSON allows that for any.
func encodeJSON(out io.Writer, value any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", indent)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return err
	}
	var safe strings.Builder
	for _, r := range b.String() {
		if r == '\n' || unicode.IsPrint(r) {
			safe.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&safe, "\\u%04x", unit)
		}
	}
	_, err := io.WriteString(out, safe.String())
	return err
}

package show

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Name makes a name safe to print: one that holds control or invisible characters, or is not UTF-8, is written as a
// Go string.
func Name(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return name
	}
	return strconv.Quote(name)
}

// Text makes a text of one or more lines safe to print.
func Text(text string) string {
	var b strings.Builder
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if r == '\n' || unicode.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(rest[:size])
		} else {
			b.WriteString(strings.Trim(strconv.Quote(rest[:size]), `"`))
		}
		rest = rest[size:]
	}
	return b.String()
}

// Argument writes a name as an argument that can be typed in a shell.
func Argument(name string) string {
	if Name(name) != name {
		return "$'" + strings.NewReplacer(`'`, `\'`, `\"`, `"`).Replace(strings.Trim(strconv.Quote(name), `"`)) + "'"
	}
	harmless := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/._-+=:,@%~", r)
	}
	if name != "" && name[0] != '~' && !strings.ContainsFunc(name, func(r rune) bool { return !harmless(r) }) {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

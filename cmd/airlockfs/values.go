package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// choice is a flag that takes one of a few words; the first is the default.
type choice struct {
	value   *string
	allowed []string
}

func newChoice(value *string, allowed ...string) *choice {
	*value = allowed[0]
	return &choice{value, allowed}
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return "choice" }

func (c *choice) Set(word string) error {
	if !slices.Contains(c.allowed, word) {
		return fmt.Errorf("there is no %q: use one of %s", word, strings.Join(c.allowed, ", "))
	}
	*c.value = word
	return nil
}

// duration is a flag that says how long.
type duration struct{ value *time.Duration }

func newDuration(value *time.Duration, initial time.Duration) *duration {
	*value = initial
	return &duration{value}
}

func (d *duration) Type() string { return "duration" }

// String writes whole days, hours and minutes without what is zero in them.
func (d *duration) String() string {
	const day = 24 * time.Hour
	switch {
	case d.value == nil: // pflag asks a zero value
		return ""
	case *d.value > day && *d.value%day == 0:
		return fmt.Sprintf("%dd", *d.value/day)
	}
	text := d.value.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func (d *duration) Set(text string) error {
	value, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if value, err = time.ParseDuration(days + "h"); err == nil && value > math.MaxInt64/24 {
			err = strconv.ErrRange
		}
		value *= 24
	}
	switch {
	case err != nil:
		return fmt.Errorf("%q is no duration: write a number and a unit, such as 90s, 10m, 24h or 14d", text)
	case value < 0:
		return fmt.Errorf("%q: a duration can't be negative", text)
	}
	*d.value = value
	return nil
}

// byteSize is a flag that says how many bytes.
type byteSize struct{ value *int64 }

func newByteSize(value *int64, initial int64) *byteSize {
	*value = initial
	return &byteSize{value}
}

// units are powers of 1024.
const units = "KMGTP"

func (b *byteSize) Type() string { return "size" }

// String is the number in the largest unit that it is whole in.
func (b *byteSize) String() string {
	if b.value == nil { // pflag asks a zero value
		return ""
	}
	n, unit := *b.value, ""
	for u := 0; u < len(units) && n != 0 && n%1024 == 0; u++ {
		n, unit = n/1024, units[u:u+1]
	}
	return strconv.FormatInt(n, 10) + unit
}

func (b *byteSize) Set(text string) error {
	digits, factor := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I"), int64(1)
	if u := strings.IndexByte(units, (digits + " ")[max(len(digits)-1, 0)]); u >= 0 {
		digits, factor = digits[:len(digits)-1], int64(1)<<(10*(u+1))
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/factor {
		return fmt.Errorf("%q is no size: write a number of bytes, or one with a unit, such as 500M or 10G", text)
	}
	*b.value = n * factor
	return nil
}

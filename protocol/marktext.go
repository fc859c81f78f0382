package protocol

import (
	"bytes"
	"regexp"
	"strconv"
)

// LongestMark is how much a file may hold that is a mark because it names a process.
const LongestMark = 256

// MarkText is what a mark says of processes.
type MarkText struct {
	PIDs  []int // numbers in it that may be process ids
	Alone bool  // it is nothing but one number, as in a pid file, or nothing at all
}

var (
	numbers = regexp.MustCompile(`[0-9]+`)
	jsonPid = regexp.MustCompile(`"(?i:pid)"\s*:\s*"?([0-9]+)`)
	// words are numbers that are no part of a longer word, or of a number with dots, such as a version: PID, HOST:PID,
	// pid=PID, HOST.PID:BOOT.
	words = regexp.MustCompile(`(?:^|[\s:@=,/+-])([0-9]+)(?:$|[\s:@,/])|\.([0-9]+):`)
)

// largestPid is PID_MAX_LIMIT.
const largestPid = 1 << 22

// ReadMark reads the text of a file. More than LongestMark bytes name nobody. What people have in files that are called *.lock,
// such as lists of versions, has numbers in it, too: so a text of several lines names a process in its first line only, and that
// must be all there is in it.
func ReadMark(text []byte) MarkText {
	line, rest, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	line = bytes.TrimSpace(line)
	alone := len(numbers.Find(line)) == len(line)
	switch {
	case len(text) > LongestMark:
		return MarkText{}
	case len(line) == 0:
		return MarkText{Alone: true}
	case alone:
		pids := pidsOf([][]byte{line})
		return MarkText{PIDs: pids, Alone: len(rest) == 0}
	case jsonPid.Match(text):
		return MarkText{PIDs: pidsOf([][]byte{jsonPid.FindSubmatch(text)[1]})}
	case len(rest) > 0 || line[0] == '{' || line[0] == '[':
		return MarkText{}
	}
	var found [][]byte
	for _, w := range words.FindAllSubmatch(line, -1) {
		found = append(found, w[1], w[2])
	}
	return MarkText{PIDs: pidsOf(found)}
}

// ReadMarkLink reads where a link points to: nobody makes a link to a list of versions, so any number may be the one.
func ReadMarkLink(target string) MarkText {
	return MarkText{PIDs: pidsOf(numbers.FindAll([]byte(target), -1)), Alone: true}
}

func pidsOf(texts [][]byte) []int {
	var pids []int
	for _, text := range texts {
		if n, err := strconv.Atoi(string(text)); err == nil && n > 0 && n <= largestPid {
			pids = append(pids, n)
		}
	}
	return pids
}

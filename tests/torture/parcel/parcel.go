// Package parcel makes and reads bytes that tell by themselves whether they are whole: what the torture run hands over.
//
// A parcel has a header with its name, its length and a hash, and a body. A file holds one parcel or, after appending,
// several. So every reader can tell a torn file without asking anybody.
package parcel

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const magic = "parcel "

// Make is the parcel of a name, with a body of so many bytes. The body follows from the name.
func Make(name string, size int) []byte {
	body := make([]byte, 0, size+2*sha256.Size)
	seed := sha256.Sum256([]byte(name))
	for len(body) < size {
		body = hex.AppendEncode(body, seed[:])
		seed = sha256.Sum256(seed[:])
	}
	body = body[:size]
	return append(fmt.Appendf(nil, "%s%s %d %x\n", magic, name, size, sha256.Sum256(body)), body...)
}

// Parse gives the names of the parcels that a file is made of, or says how it is torn. A file without a parcel is torn.
func Parse(b []byte) ([]string, error) {
	var names []string
	for len(b) > 0 || names == nil {
		header, rest, found := bytes.Cut(b, []byte("\n"))
		if !found {
			return names, fmt.Errorf("%d bytes where a header should be", len(b))
		}
		name, size, sum, err := parseHeader(string(header))
		if err != nil {
			return names, err
		}
		if len(rest) < size {
			return names, fmt.Errorf("%s has %d of %d bytes", name, len(rest), size)
		}
		if fmt.Sprintf("%x", sha256.Sum256(rest[:size])) != sum {
			return names, fmt.Errorf("%s has other bytes than it says", name)
		}
		names, b = append(names, name), rest[size:]
	}
	return names, nil
}

func parseHeader(line string) (name string, size int, sum string, err error) {
	text, ok := strings.CutPrefix(line, magic)
	if ok {
		_, err = fmt.Sscanf(text, "%s %d %s", &name, &size, &sum)
	}
	if !ok || err != nil || size < 0 {
		return "", 0, "", fmt.Errorf("%.40q is no header", line)
	}
	return name, size, sum, nil
}

package show

import (
	"fmt"
	"os/user"
	"strconv"

	"github.com/airlockfs/airlockfs/fusefs/report"
)

// Owner names a party for people.
func Owner(o *report.Owner) string {
	if o == nil {
		return "-"
	}
	text := fmt.Sprintf("%d %s %s", o.PID, Name(o.Program), User(o.UID))
	if o.Worker != "" {
		text += " worker " + Name(o.Worker)
	}
	return text
}

// User is the name of a uid, or the number if it has none.
func User(uid uint32) string {
	number := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(number); err == nil {
		return u.Username
	}
	return number
}

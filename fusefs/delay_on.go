//go:build slowrelease

package fusefs

import "time"

// releaseDelay holds up the end of each descriptor: what waits for it must wait long enough.
const releaseDelay = 300 * time.Millisecond

package report

// Check is what `airlockfs check --json` prints.
type Check struct {
	Backing  string    `json:"backing"`
	Findings []Finding `json:"findings"`
}

// Finding is something that should not be on the disk, or, if it is no problem, something that is worth to know.
type Finding struct {
	Kind    string `json:"kind"` // stable name
	Problem bool   `json:"problem"`
	Where   string `json:"where"`         // path below the backing
	Raw     []byte `json:"raw,omitempty"` // the path's bytes, if they are not UTF-8
	What    string `json:"what"`
	Do      string `json:"do"`
}

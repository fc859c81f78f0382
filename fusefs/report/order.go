package report

// Order is what a program writes into the control file "command", as one JSON object by one write(2): something to be
// done with one item that is not public. The answer, an Outcome, is read from the same descriptor.
type Order struct {
	Do    string `json:"do"`              // release requeue discard publish; join
	Path  string `json:"path"`            // relative to the mount's root
	Raw   []byte `json:"raw,omitempty"`   // the path's bytes, if they are not UTF-8
	Item  uint64 `json:"item,omitempty"`  // which one, if several stand behind the path
	As    string `json:"as,omitempty"`    // requeue, publish: another name in the same folder
	Force bool   `json:"force,omitempty"` // discard: also what is not given up yet
	Try   bool   `json:"try,omitempty"`   // only say what would come of it

	Worker string `json:"worker,omitempty"` // join: the common name of whoever writes this and its descendants
}

// Outcome is what came of an order.
type Outcome struct {
	Done    bool   `json:"done"`
	Refused string `json:"refused,omitempty"` // why not, and what to do: a sentence
	Item    *Item  `json:"item,omitempty"`    // what it was about, as it was before
	State   string `json:"state,omitempty"`   // what it is now: published held gone …
	Path    string `json:"path,omitempty"`    // where it is now
	Choices []Item `json:"choices,omitempty"` // if none was said: the items it may mean
}

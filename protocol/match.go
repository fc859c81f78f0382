package protocol

// Match is what rules and name tables say about one name. Match values may be compared.
type Match struct {
	Vector
	Temp TempKind
	// Resumable: an abandoned item of the temp name may be opened again by its user.
	Resumable bool
	// Unlisted: found by its exact name, but in no listing.
	Unlisted bool
	// LogIfAppend: class log if the file is created with O_APPEND.
	LogIfAppend bool
	// PlainIfDatabase: class plain if the file is created as databases are.
	PlainIfDatabase bool
	// Marker: the file says that others are complete.
	Marker bool
	// Litter: the file stays private to its maker.
	Litter bool
	// Ghost: class lock because of how the file was created. It goes at its last close if it is still empty, and
	// becomes an unfinished item of its name's class when it gets bytes that are not a pid.
	Ghost bool
	// Why says which rule or table decided, in one sentence for people.
	Why string
}

// TempKind tells whether the barrier temp applies to a name.
type TempKind uint8

const (
	NotTemp TempKind = iota
	TempByName
	TempIfExclusive // only if created O_RDWR|O_CREAT|O_EXCL with mode 0600
)

var tempNames = [...]string{"not temp", "temp", "temp if created exclusively"}

func (t TempKind) String() string { return nameOf(tempNames[:], uint8(t)) }

// as gives the match with another class, which leaves nothing of what held for the former one but Litter.
func (m Match) as(c Class, why string) Match {
	return Match{Vector: vectorOf(c), Litter: m.Litter, Why: why}
}

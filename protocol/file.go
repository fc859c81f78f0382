package protocol

// File is one name with everything that stands behind it. The desk owns Files; Decide only reads them.
type File struct {
	Name    NameKey
	Match   Match   // what the name is by rules and name tables
	Public  *Item   // the version in the backing's folder, or nil
	Private []*Item // all others, oldest first
	Aliases []Alias // further names of items published by link(2), for the kin of who linked
	Foreign *Item   // instead of Public: somebody outside the mount is writing it
	Link    *Item   // the name is on the disk, as a further name of an inode that is not public
	Mark    *Mark   // the name is held by its mere existence
	Within  *Mark   // the folder it lies in is
	// Bound are the locks on its lock file, for OpApproach and OpCreate only.
	Bound []Holding

	Bases map[Job]Base // of a state file: what jobs know of it
	Came  Came         // and what last changed it, as far as some job needs that
	Turn  *Turn        // of a serial file: whose turn it is; nil: anybody's
}

// Alias is a temp name that link(2) published under another name and that was not yet unlinked.
type Alias struct {
	Item *Item
	By   PartyID
}

// World is what one event can touch.
type World struct {
	File   *File
	Target *File // rename and link only
	// PartyOf gives the facts of a party by id, nil if unknown. It must not block.
	PartyOf func(PartyID) *Party
	// HasMade tells whether a party has the descriptor that made a mark, though its maker has ended; nil: nobody has.
	HasMade func(*Mark, *Party) bool
	// HeirOf gives who would inherit from a living party if it ended now, nil if nobody. It must not block. nil: nobody has
	// heirs.
	HeirOf func(PartyID) *Party
	// LocksOn gives the locks on the file that an item is a version of, held and waited for, and those on its lock file, whose
	// holders may write it. nil: there are none.
	LocksOn   func(*Item) []Holding
	RootBound bool // by other users' locks
}

// item finds an item of the world by id.
func (w *World) item(id ItemID) *Item {
	for _, f := range []*File{w.File, w.Target} {
		if f == nil {
			continue
		}
		if f.Public != nil && f.Public.ID == id {
			return f.Public
		}
		if f.Link != nil && f.Link.ID == id {
			return f.Link
		}
		for _, i := range f.Private {
			if i.ID == id {
				return i
			}
		}
	}
	return nil
}

// kin tells whether who may act for the item's owner.
func (w *World) kin(i *Item, who *Party) bool {
	return i.Owner != 0 && Kin(w.PartyOf(i.Owner), who)
}

// Visible is the only rule of visibility: the item that the name means for a caller, or nil. Kin's staged item comes
// first (but not one that was only opened and never written, nor one that comes too late), then kin's claim, then the public one. A name that link(2)
// left behind means its item to the linker's kin whatever became of it, so that they can remove the name. An observer
// sees claimed items too. A parked item, and an abandoned one that can be resumed, is found by whoever has its user id
// and asks for exactly this name.
func Visible(w *World, f *File, e *Event) *Item {
	if i := newest(f, func(i *Item) bool {
		return (i.State == Staged || i.State == Held) && !i.Derived && i.Taint.Kind != TaintBase && w.kin(i, e.By)
	}); i != nil {
		return i
	}
	if i := newest(f, func(i *Item) bool { return i.State == Claimed && w.kin(i, e.By) }); i != nil {
		return i
	}
	if f.Link != nil && (w.kin(f.Link, e.By) || e.SeesClaimed) {
		return f.Link
	}
	for _, a := range f.Aliases {
		if Kin(w.PartyOf(a.By), e.By) {
			return a.Item
		}
	}
	if f.Public != nil {
		return f.Public
	}
	if e.SeesClaimed {
		return newest(f, func(i *Item) bool { return i.State == Claimed })
	}
	return newest(f, func(i *Item) bool { return adoptable(i, e.By) })
}

// adoptable: parked and resumable items are found by name by the same user, and those that wait for a rename.
func adoptable(i *Item, who *Party) bool {
	waits := i.State == Parked || i.State == Abandoned && i.Match.Resumable || i.State == Held && i.Owner == 0 && i.Barrier == BarrierRename
	return waits && i.UID == who.Process.UID
}

func newest(f *File, want func(*Item) bool) *Item {
	for n := len(f.Private) - 1; n >= 0; n-- {
		if want(f.Private[n]) {
			return f.Private[n]
		}
	}
	return nil
}

// Listed tells whether a listing of the folder shows the name to a caller although nothing public is there: his own
// unfinished and claimed items, and the names that link(2) left behind.
func Listed(w *World, f *File, e *Event) bool {
	if f.Match.Unlisted {
		return false
	}
	i := Visible(w, f, e)
	if i == nil || i.State == Held && !w.kin(i, e.By) {
		return false
	}
	return i.State == Staged || i.State == Held || i.State == Claimed || f.alias(i)
}

package protocol

// Job names what belongs together for a user: a named worker, or the process group of a script with all that it runs. It is
// comparable. The zero Job is nobody's.
type Job struct {
	Worker  string
	UID     uint32  // of the worker
	Group   int     // process group
	Leader  uint64  // tells the group from another that had its number before
	Session PartyID // of a server's session, which shares its group with others: the process itself
}

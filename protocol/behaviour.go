package protocol

// Creation is how a file is created, as open(2) has it; O_CREAT is implied.
type Creation struct {
	ReadOnly, ReadWrite         bool // O_RDONLY, O_RDWR; neither is O_WRONLY
	Append, Exclusive, Truncate bool
	Mode                        uint32 // permission bits
}

const (
	whyGhost    = "created O_RDONLY|O_CREAT, as programs do that only want to lock it: class lock while it has no other content"
	whyLog      = "a log name, and created with O_APPEND as loggers do"
	whyDatabase = "a database name, and created O_RDWR|O_CREAT without O_EXCL and O_TRUNC as databases are"
	whyMkstemp  = "created O_RDWR|O_CREAT|O_EXCL with mode 0600 as mkstemp does, under a name that such programs give"
	whyOrdinary = "the name alone does not decide, and the file was not created as such programs do: an item like any other"
)

// Created decides what the name left open: what the file is that is created under it so. The answer is final, Created
// changes it no more. Only for regular files.
func (m Match) Created(c Creation) Match {
	if !m.Class.named() {
		return m
	}
	switch {
	case c.ReadOnly:
		return m.ghost()
	case m.LogIfAppend && c.Append:
		return m.as(ClassLog, whyLog)
	case m.PlainIfDatabase && c.ReadWrite && !c.Exclusive && !c.Truncate:
		return m.as(ClassPlain, whyDatabase)
	}
	return m.item(c)
}

// ghost is a lock file made by behaviour.
func (m Match) ghost() Match {
	m = m.as(ClassLock, whyGhost)
	m.Ghost, m.Unlisted = true, true
	return m
}

// item is a file that is handed over, perhaps under a temp name first.
func (m Match) item(c Creation) Match {
	if m.LogIfAppend || m.PlainIfDatabase || m.Temp == TempIfExclusive {
		m.Why = whyOrdinary
	}
	m.LogIfAppend, m.PlainIfDatabase = false, false
	if m.Temp != TempIfExclusive {
		return m
	}
	m.Temp = NotTemp
	if c.mkstemp() {
		m.Temp, m.Why = TempByName, whyMkstemp
	}
	return m
}

// mkstemp tells whether the file is created as mkstemp(3) does.
func (c Creation) mkstemp() bool {
	return c.ReadWrite && c.Exclusive && c.Mode&0o7777 == 0o600
}

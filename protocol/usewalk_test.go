package protocol

import "github.com/stretchr/testify/require"

// modelUse is a use of bytes in the model's own words: by a process (0-3), by way of an open file (0-3).
type modelUse struct {
	process, file int
	write, cache  bool
	from, to      int
}

// refused tells whether a byte of it is locked by others.
func (m *lockModel) refused(u modelUse) bool {
	for table := range m.held {
		for i := u.from; i < u.to; i++ {
			for owner, letter := range m.held[table][i] {
				own := owner == u.process || owner == u.file+4
				if (!own || u.cache) && (letter == 'w' || letter == 'r' && u.write) {
					return true
				}
			}
		}
	}
	return false
}

func (u modelUse) real() Use {
	k := modelAsk{from: u.from, to: u.to}.real()
	return Use{Write: u.write, Cache: u.cache, Start: k.Start, End: k.End, Owner: uint64(u.process) + 1, Handle: uint64(u.file) + 1}
}

// use asks whether bytes may be used. It changes nothing.
func (w *lockWalk) use(u modelUse) {
	w.note("use %+v", u)
	r := w.list.MayUse(u.real(), somebody)
	require.Equal(w.t, w.model.refused(u), r != nil, "%v", w.trace)
	w.same(nil)
}

package backing

import "golang.org/x/sys/unix"

// Folder is an open folder: the same one, whatever becomes of its name. It is
// there to be synced without holding up who may rename it.
type Folder struct {
	ID    ID
	store *Store
	at    Object // where it was when it was opened, for messages
	fd    int
}

// OpenFolder opens a folder. ENOENT if it was removed.
func (s *Store) OpenFolder(folder string) (*Folder, error) {
	f := &Folder{store: s, at: Object{Folder: folder}, fd: -1}
	err := s.run(Call{Name: "open", Object: f.at, Detail: "folder"}, func() (err error) {
		if f.fd, err = s.openListing(folder); err != nil {
			return err
		}
		var st Stat
		if st, err = statOf(f.fd); err != nil {
			unix.Close(f.fd)
		}
		f.ID = st.ID
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Sync makes the names in it durable (fsync(2)). As with a file, a failed sync
// is never to be repeated.
func (f *Folder) Sync() error {
	return f.store.run(changing("fsync", f.at, "folder"), func() error {
		return retry(func() error { return unix.Fsync(f.fd) })
	})
}

// Close gives the descriptor back. It is called once.
func (f *Folder) Close() { unix.Close(f.fd) }

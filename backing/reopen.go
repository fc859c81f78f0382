package backing

// Reopen opens the same inode again, as a description of its own
// (proc_pid_fd(5)): also when it has no name any more. flags are Store.Open's.
func (f *File) Reopen(flags int) (*File, error) {
	again := -1
	err := f.look("open", func(fd int) (err error) {
		again, err = reopen(fd, flags)
		return err
	})
	return f.store.newFile(again, f.at, err)
}

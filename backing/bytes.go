package backing

import "fmt"

// ReadAt reads at an offset in bytes; io.EOF if that ends before buf is full.
func (f *File) ReadAt(buf []byte, off int64) (int, error) {
	if err := f.askBytes("read", len(buf), off); err != nil {
		return 0, err
	}
	n, err := f.file.ReadAt(buf, off)
	return n, f.troubled(err)
}

// WriteAt writes at an offset in bytes, all of buf unless it fails.
func (f *File) WriteAt(buf []byte, off int64) (int, error) {
	if err := f.askBytes("write", len(buf), off); err != nil {
		return 0, err
	}
	n, err := f.file.WriteAt(buf, off)
	return n, f.troubled(err)
}

// Write writes at the end of a file opened with O_APPEND, else after what was
// written last.
func (f *File) Write(buf []byte) (int, error) {
	if err := f.askBytes("write", len(buf), -1); err != nil {
		return 0, err
	}
	n, err := f.file.Write(buf)
	return n, f.troubled(err)
}

func (f *File) troubled(err error) error {
	if err != nil {
		f.store.trouble(err)
	}
	return err
}

// askBytes asks before n bytes are read or written; off -1: wherever the file
// stands.
func (f *File) askBytes(name string, n int, off int64) error {
	if f.store.before == nil && f.store.gone.Load() == nil && f.store.mounts == nil {
		return nil
	}
	c := Call{Name: name, Object: f.at, Detail: fmt.Sprint(n), Changes: name == "write"}
	if off >= 0 {
		c.Detail = fmt.Sprintf("%d at %d", n, off)
	}
	return fail(name, f.at, f.troubled(f.store.may(c)))
}

// Close gives the descriptor back, whatever it answers (close(2)).
func (f *File) Close() error {
	err := f.store.ask(Call{Name: "close", Object: f.at}, func() error { return nil })
	if closed := f.file.Close(); closed != nil {
		return closed
	}
	return fail("close", f.at, err)
}

package backing

import (
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// CopyFrom makes the bytes of f, which is open for writing, those of the first
// n bytes of src, or of all if it has fewer. The cheapest way the filesystem
// offers: shared extents for a whole file, else copy_file_range(2), else
// through memory. Holes stay holes. src must not change meanwhile.
func (f *File) CopyFrom(src *File, n int64) error {
	c := Call{Name: "copy", Object: src.at, To: f.at, Detail: fmt.Sprint(n), Changes: true}
	return f.store.run(c, func() error {
		return f.control(func(to int) error {
			return src.control(func(from int) error { return f.copy(src, to, from, n) })
		})
	})
}

func (f *File) copy(src *File, to, from int, n int64) error {
	st, err := statOf(from)
	if err != nil {
		return err
	}
	if err := unix.Ftruncate(to, 0); err != nil {
		return err
	}
	if n >= st.Size && unix.IoctlFileClone(to, from) == nil {
		return nil
	}
	end := min(n, st.Size)
	if err := unix.Ftruncate(to, end); err != nil { // first: who looks at it meanwhile sees its length
		return err
	}
	return f.copyData(src, from, end)
}

// copyData copies each stretch of data before end.
func (f *File) copyData(src *File, from int, end int64) error {
	for off := int64(0); off < end; {
		data, hole, err := nextData(from, off, end)
		if err != nil {
			return err
		}
		if err := f.copyRange(src, data, hole); err != nil {
			return err
		}
		off = hole
	}
	return nil
}

// nextData finds the next stretch of data in [off, end); it is empty and at
// end if there is none. A filesystem without holes says that all is data.
func nextData(fd int, off, end int64) (data, hole int64, err error) {
	data, err = unix.Seek(fd, off, unix.SEEK_DATA)
	switch err {
	case nil:
	case unix.ENXIO:
		return end, end, nil
	case unix.EINVAL:
		return off, end, nil
	default:
		return 0, 0, err
	}
	if data >= end {
		return end, end, nil
	}
	hole, err = unix.Seek(fd, data, unix.SEEK_HOLE)
	if err == nil && (data < off || hole <= data) { // nonsense, on which a copy would never end
		return off, end, nil
	}
	return data, min(hole, end), err
}

// copyRange copies the bytes in [off, end) to the same place. Whatever keeps
// the kernel from it, reading and writing tells the true error.
func (f *File) copyRange(src *File, off, end int64) error {
	for off < end {
		n, err := f.copyInKernel(src, off, end)
		if n <= 0 || err != nil {
			return f.copyThrough(src, off, end)
		}
		off += n
	}
	return nil
}

func (f *File) copyInKernel(src *File, off, end int64) (n int64, err error) {
	err = f.control(func(to int) error {
		return src.control(func(from int) error {
			in, out := off, off
			copied, err := unix.CopyFileRange(from, &in, to, &out, int(min(end-off, 1<<30)), 0)
			n = int64(copied)
			return err
		})
	})
	return n, err
}

func (f *File) copyThrough(src *File, off, end int64) error {
	section := io.NewSectionReader(src.file, off, end-off)
	_, err := io.CopyBuffer(io.NewOffsetWriter(f.file, off), struct{ io.Reader }{section}, make([]byte, 128<<10))
	return err
}

package backing

import (
	"errors"
	"fmt"
	"os"
)

// What keeps a mount from starting. Each comes wrapped with the path and a
// sentence that says what to do.
var (
	ErrMissing        = errors.New("the backing folder does not exist")
	ErrNotFolder      = errors.New("the backing is not a folder")
	ErrNotWritable    = errors.New("the backing folder is not writable")
	ErrOldKernel      = errors.New("the kernel is too old")
	ErrForeignControl = errors.New("the control folder is not ours")
	ErrOpenControl    = errors.New("the control folder is not private")
	ErrInUse          = errors.New("the backing is in use")
	ErrFormat         = errors.New("the format of the control folder is unknown")
	ErrFormatMissing  = errors.New("nothing says in which format the control folder is")
	ErrHalfMade       = errors.New("the control folder is half-made")
	ErrNoControl      = errors.New("the backing has no control folder")
)

// ControlError says what is wrong with a control folder, and what to do.
type ControlError struct {
	Kind           error // ErrForeignControl or ErrOpenControl
	Path, What, Do string
}

func (e *ControlError) Error() string {
	return fmt.Sprintf("%v: %s: %s: %s", e.Kind, e.Path, e.What, e.Do)
}

func (e *ControlError) Unwrap() error { return e.Kind }

// ErrNotRegular is the answer to opening anything but a regular file.
var ErrNotRegular = errors.New("not a regular file")

// fail gives an errno its call and place; nil stays nil.
func fail(call string, o Object, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: call, Path: o.String(), Err: err}
}

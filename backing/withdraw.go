package backing

// Withdraw undoes an Acquire after which nothing was done: it removes the
// control folder if that Acquire made it, so that a mount that fails does not
// leave a folder of this user behind that locks the right one out. It stops
// with ENOTEMPTY, ENOTDIR or whatever else the disk answers where it meets more
// than the format and empty folders; the next Acquire makes whole what is left.
// The store must not be shared, and is of no use afterwards but for Close.
func (s *Store) Withdraw() error {
	if !s.made {
		return nil
	}
	var areas []Object
	err := s.List(Control, func(e Entry) error {
		if e.Name != formatName {
			areas = append(areas, Object{Control, e.Name})
		}
		return nil
	})
	for _, area := range areas {
		if err == nil {
			err = s.Rmdir(area)
		}
	}
	if err != nil {
		return err
	}
	if err := s.Remove(Object{Control, formatName}); err != nil {
		return err
	}
	return s.Rmdir(Object{Name: Control})
}

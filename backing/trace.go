package backing

import "os"

// Call is one call that reaches the disk: an operation of a Store or a File,
// which may be several system calls.
type Call struct {
	Name    string // as in the trace: "rename", "fdatasync", "read note" …
	Object  Object // of a File: where it was when it was opened
	To      Object // the second one of a rename, link or copy
	Detail  string // as in the trace, in brackets
	Changes bool   // it changes names, bytes or state; all but reads and writes of bytes are traced then
}

// String is the call as a line of the trace.
func (c Call) String() string {
	text := c.Name + " " + c.Object.String()
	if c.To != (Object{}) {
		text += " → " + c.To.String()
	}
	if c.Detail != "" {
		text += " (" + c.Detail + ")"
	}
	return text
}

// changing is a call that changes one object.
func changing(name string, o Object, detail string) Call {
	return Call{Name: name, Object: o, Detail: detail, Changes: true}
}

// run makes a call from its beginning to its end.
func (s *Store) run(c Call, do func() error) error { return s.done(c, s.ask(c, do)) }

// change makes a changing call on one object.
func (s *Store) change(name string, o Object, detail string, do func(fd int) error) error {
	return s.run(changing(name, o, detail), func() error { return s.with(o, do) })
}

// look makes a call on one object that changes nothing.
func (s *Store) look(name string, o Object, do func(fd int) error) error {
	return s.run(Call{Name: name, Object: o}, func() error { return s.with(o, do) })
}

// ask makes a call unless Before forbids it, or there is no backing any more.
func (s *Store) ask(c Call, do func() error) error {
	err := s.may(c)
	if err == nil {
		err = do()
	}
	if err != nil {
		s.trouble(err)
	}
	return err
}

func (s *Store) may(c Call) error {
	if e := s.gone.Load(); e != nil {
		return e
	}
	if s.mounts != nil && s.mounts.detached() {
		return s.lose(detached)
	}
	if s.before != nil {
		return s.before(c)
	}
	return nil
}

// done ends a call: a line of trace if it changes something, the error wrapped.
func (s *Store) done(c Call, err error) error {
	if s.trace != nil && c.Changes {
		s.trace(ended(c, err))
	}
	if err == nil {
		return nil
	}
	if c.To != (Object{}) {
		return &os.LinkError{Op: c.Name, Old: c.Object.String(), New: c.To.String(), Err: err}
	}
	return fail(c.Name, c.Object, err)
}

func ended(c Call, err error) string {
	if err != nil {
		return c.String() + ": " + err.Error()
	}
	return c.String()
}

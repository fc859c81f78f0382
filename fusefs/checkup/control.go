package checkup

import (
	"errors"
	"slices"

	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

const (
	foldersArea  = "folders"
	replacedArea = "replaced"
	tokensArea   = "tokens"
	marksArea    = "marks"
	formatPath   = backing.Control + "/format"
)

// inspect looks at what decides whether the rest can be read at all.
func (c *checkup) inspect() (readable bool, err error) {
	var control *backing.ControlError
	err = c.store.Inspect()
	c.served = err == nil && c.facts.Served(c.store.ControlID())
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, backing.ErrNoControl):
		return false, err
	case errors.As(err, &control):
		kind := map[error]string{backing.ErrForeignControl: "control-foreign", backing.ErrOpenControl: "control-open"}[control.Kind]
		c.find(kind, backing.Control, "%v: %s", control.Kind, control.What)
	case errors.Is(err, backing.ErrHalfMade):
		c.find("control-half", backing.Control, "%v", err)
	case errors.Is(err, backing.ErrFormatMissing):
		c.find("format-missing", formatPath, "%v", err)
	case errors.Is(err, backing.ErrFormat), errors.Is(err, backing.ErrNotRegular):
		c.find("format-unknown", formatPath, "%v", err)
	default:
		return false, err
	}
	return false, nil
}

// control looks at what lies in the control folder itself.
func (c *checkup) control() {
	areas := append(protocol.Areas(), foldersArea, replacedArea, tokensArea, marksArea)
	names := c.list(backing.Control)
	for _, name := range names {
		switch {
		case name == "format":
		case name == "format.new":
			c.find("format-draft", inControl(name), "a mount that was just beginning was interrupted")
		case name == "probe":
			c.find("probe-left", inControl(name), "a mount that was trying the backing out was interrupted")
		case slices.Contains(areas, name):
			c.checkArea(name)
		default:
			c.find("control-stray", inControl(name), "it is not of airlockfs's making")
		}
	}
	for _, area := range areas {
		if area != tokensArea && area != marksArea && !slices.Contains(names, area) {
			c.find("area-missing", inControl(area), "the area is missing")
		}
	}
}

func (c *checkup) checkArea(name string) {
	st, path, ok := c.stat(backing.Control, name)
	switch {
	case !ok:
	case !st.IsFolder():
		c.find("area-not-folder", path, "it is no folder")
	default:
		c.checkPrivate("area", path, st)
	}
}

// checkPrivate looks whether a folder of the control folder is ours alone.
func (c *checkup) checkPrivate(what, path string, st backing.Stat) {
	if st.UID != c.uid {
		c.find(what+"-owner", path, "its owner is uid %d, expected was %d", st.UID, c.uid)
	}
	if st.Mode&0o077 != 0 {
		c.find(what+"-mode", path, "its mode is %04o, so others can get in", st.Mode&0o7777)
	}
}

// isArea tells whether an area can be listed; what else it may be was found before.
func (c *checkup) isArea(name string) bool {
	st, err := c.store.Stat(backing.Object{Folder: backing.Control, Name: name})
	return err == nil && st.IsFolder()
}

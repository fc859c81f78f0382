package checkup

import (
	"github.com/airlockfs/airlockfs/backing"
	"github.com/airlockfs/airlockfs/protocol"
)

// placed is a place that was found, with what lies in it.
type placed struct {
	protocol.Place
	path  string
	names []string
}

// listPlaces collects the places of all areas and what they hold.
func (c *checkup) listPlaces() {
	for _, area := range protocol.Areas() {
		if !c.isArea(area) {
			continue
		}
		for _, dir := range c.list(inControl(area)) {
			c.listPlace(area, dir)
		}
	}
}

func (c *checkup) listPlace(area, dir string) {
	st, path, ok := c.stat(inControl(area), dir)
	if !ok {
		return
	}
	if !st.IsFolder() {
		c.find("place-stray", path, "it is no folder, and a place must be one")
		return
	}
	place, err := protocol.ParsePlace(area, dir)
	if err != nil {
		c.find("place-unparsable", path, "its name says neither whose it is nor where its files belong")
		return
	}
	c.checkPrivate("place", path, st)
	c.places = append(c.places, placed{place, path, c.list(path)})
}

// checkPlaces looks at what the places' names say.
func (c *checkup) checkPlaces() {
	registered := map[string]bool{"0": true}
	if c.isArea(foldersArea) {
		for _, name := range c.list(inControl(foldersArea)) {
			registered[name] = true
		}
	}
	for i := range c.places {
		p := &c.places[i]
		if (p.State == protocol.Held) != (p.Barrier != protocol.NoBarrier) {
			c.find("place-barrier", p.path, "only what is held, and all of that, has a barrier in its place's name")
		}
		c.checkFolderOf(p, registered)
		for _, name := range p.names {
			c.listItem(p, name)
		}
	}
}

// checkFolderOf looks whether the items of a place have a folder to go to. Quarantine needs none.
func (c *checkup) checkFolderOf(p *placed, registered map[string]bool) {
	_, there := c.keys[p.Folder]
	switch {
	case there || len(p.names) == 0:
	case !registered[p.Folder]:
		c.find("place-unknown-key", p.path, "no folder has the key %q", p.Folder)
	case p.State != protocol.Quarantined:
		c.find("place-folder-gone", p.path, "the folder with the key %q, to which its files belong, is not there", p.Folder)
	}
}

// publicName is where an item of the place would be public.
func (c *checkup) publicName(p *placed, name string) (backing.Object, bool) {
	folder, ok := c.keys[p.Folder]
	return backing.Object{Folder: folder, Name: name}, ok
}

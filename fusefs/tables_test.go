package fusefs

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// tables are the sizes of all maps, slices and lists of ours that can be reached from a mount, by the fields that hold them, so that none can be forgotten that is added later. Nothing may be under way.
type tables map[string]int

// sizesOf finds them. A struct's mu, if it has one, is held while it is looked at.
func sizesOf(m *Mounted) tables {
	m.desk.mu.Lock()
	m.desk.foldLocked(0)
	m.desk.mu.Unlock()
	w := walk{tables{}, map[uintptr]bool{}}
	w.value("", reflect.ValueOf(m))
	return w.sizes
}

type walk struct {
	sizes   tables
	visited map[uintptr]bool
}

func (w *walk) value(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && !w.visited[v.Pointer()] {
			w.visited[v.Pointer()] = true
			w.value(path, v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			w.value(path, v.Elem())
		}
	case reflect.Struct:
		w.fields(path, v)
	case reflect.Map:
		w.sizes[path] += v.Len()
		for _, k := range v.MapKeys() {
			w.value(path+"[]", v.MapIndex(k))
			w.value(path+"[key]", k)
		}
	case reflect.Slice:
		w.sizes[path] += v.Len()
		for n := range v.Len() {
			w.value(path+"[]", v.Index(n))
		}
	}
}

// fields are named by their struct's type, and not by the way that has led there: that may be another one each time.
func (w *walk) fields(path string, v reflect.Value) {
	if of := v.Type().PkgPath(); of == "container/list" && v.Type().Name() == "List" {
		w.sizes[path] += int(v.FieldByName("len").Int())
		return
	} else if of != "" && !strings.HasPrefix(of, "github.com/airlockfs/") {
		return // of a library, or of the language
	}
	if mu := v.FieldByName("mu"); mu.IsValid() && mu.CanAddr() && mu.Type() == reflect.TypeFor[sync.Mutex]() {
		lock := (*sync.Mutex)(mu.Addr().UnsafePointer())
		lock.Lock()
		defer lock.Unlock()
	}
	for n := range v.NumField() {
		field := v.Type().Field(n).Name
		w.value(strings.TrimPrefix(v.Type().String(), "fusefs.")+"."+field, v.Field(n))
	}
}

// caches remember what was, up to a bound of their own.
var caches = tables{
	"desk.asked":               mostAsked,
	"desk.replaced":            20, // kept for a millisecond, and looked at when the next comes
	"channel.Conn.workers":     64,
	"counter.counts":           64, // kinds of requests
	"eventLog.last":            mostEvents,
	"publications.byInode":     mostPublications,
	"publications.order":       mostPublications,
	"ruins.folders":            2 * fewRuins,
	"slots.idle":               mostIdleSlots,
	"slots.names":              mostIdleSlots + spareSlots,
	"table.byID":               2 * fewRuins,
	"table.byInode":            2 * fewRuins,
	"backing.folders.byPath":   manyFolders,
	"backing.folders.recent":   manyFolders,
	"caller.Table.byID":        manyCallers + 20, // with the parents of some
	"caller.Table.byPID":       manyCallers,
	"caller.Table.recent":      manyCallers,
	"caller.Table.threads":     manyCallers,
	"caller.Table.used":        manyCallers,
	"caller.entry.threads":     manyCallers,
	"protocol.Party.Ancestors": 64 * manyCallers, // of whoever looks at the mountpoint meanwhile: a df, an ls
}

// beyond tells which tables have more in them than they had before, and are no cache that is within its bounds.
func (now tables) beyond(before tables) []string {
	var all []string
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if size := now[path]; size > before[path] && size > caches[path] {
			all = append(all, fmt.Sprintf("%s: %d, before: %d", path, size, before[path]))
		}
	}
	return all
}

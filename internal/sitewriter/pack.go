package sitewriter

import (
	"cmp"
	"context"

	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/internal/packs"
)

// packs reports whether the answer at path is stored in a pack.
func (w *writer) packs(path string) bool {
	if w.opts.Layout != Packed {
		return false
	}
	_, ok := packs.Key(path)
	return ok
}

// lineRoom is the size of the line of an answer in a pack without its path and document.
const lineRoom = int64(len("\"\":,\n"))

// packAnswers moves the answers of tools from w.files to w.packed, and adds the packs to w.files.
func (w *writer) packAnswers(ctx context.Context) error {
	if w.opts.Layout != Packed {
		return nil
	}
	var members []member
	for i := range w.files {
		if key, ok := packs.Key(w.files[i].path); ok {
			members = append(members, member{key, i})
		}
	}
	// Most files are answers in packs: they stay where they are.
	rest := make([]file, 0, len(w.files)-len(members))
	w.packed = w.files[:0]
	for i := range w.files {
		n := len(w.packed)
		if n < len(members) && members[n].at == i {
			members[n].at = n
			w.packed = append(w.packed, w.files[i])
		} else {
			rest = append(rest, w.files[i])
		}
	}
	w.files = rest
	order.By(members, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at))
	})
	items := make([]packs.Item, len(members))
	for i, m := range members {
		f := &w.packed[m.at]
		items[i] = packs.Item{
			Key:  m.key,
			Size: int64(len(f.path)) + f.size + lineRoom,
		}
	}
	w.items = items
	var ends []int
	packs.Split(items, func(start string, _, to int) {
		w.table = append(w.table, start)
		ends = append(ends, to)
	})
	var text []byte
	from := 0
	for i, start := range w.table {
		next := ""
		if i+1 < len(w.table) {
			next = w.table[i+1]
		}
		part := members[from:ends[i]]
		from = ends[i]
		var err error
		text, err = packs.Append(text[:0], next, len(part), func(k int) (string, []byte, error) {
			f := &w.packed[part[k].at]
			doc, err := w.spool.view(f.at, f.size)
			return f.path, doc, err
		})
		if err != nil {
			return err
		}
		if err := w.keep(file{path: packs.File(start)}, text, nil); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	w.sort()
	return nil
}

// member is an answer in a pack: its number, and its index in w.packed.
type member struct {
	key uint64
	at  int
}

package compose

import (
	"fmt"

	"github.com/slipway-mcp/slipway/internal/urilabel"
)

// labels map sources to their URI prefixes, as in "notes+file:///a.md", and back.
type labels struct {
	of   []string       // by part
	part map[string]int // by label; absentPart for a source that offers nothing yet
}

// absentPart marks a source that belongs to the union but is not joined yet.
const absentPart = -1

// labelsOf returns the labels of parts and of absent sources. They are independent of
// which sources are absent.
func labelsOf(parts []Named, absent []string) (*labels, error) {
	var names []string
	for _, p := range parts {
		names = append(names, p.Name)
	}
	names = append(names, absent...)
	users := make(map[string]int, len(names))
	for _, name := range names {
		users[urilabel.Of(name)]++
	}

	l := &labels{part: make(map[string]int, len(names))}
	for i, name := range names {
		label := urilabel.Of(name)
		if users[label] > 1 {
			label = urilabel.Hashed(name)
		}
		if _, taken := l.part[label]; taken {
			return nil, fmt.Errorf("union: the name %q cannot be asked from another in a URI", name)
		}
		l.part[label] = absentPart
		if i < len(parts) {
			l.part[label] = i
			l.of = append(l.of, label)
		}
	}
	return l, nil
}

// qualify returns the URI, or the URI template, with the label of a part.
func (l *labels) qualify(part int, uri string) string { return urilabel.Join(l.of[part], uri) }

// split is the inverse of qualify. It returns false if no source has that label. part may
// be absentPart.
func (l *labels) split(uri string) (part int, own string, ok bool) {
	label, own, ok := urilabel.Split(uri)
	if !ok {
		return 0, "", false
	}
	part, ok = l.part[label]
	return part, own, ok
}

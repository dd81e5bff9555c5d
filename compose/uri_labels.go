package compose

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// labels map sources to their URI prefixes, as in "notes+file:///a.md", and back. A label
// consists of scheme characters except "+", so the first "+" ends it.
type labels struct {
	of   []string       // by part
	part map[string]int // by label; absentPart for a source that offers nothing yet
}

// absentPart marks a source that belongs to the union but is not joined yet.
const absentPart = -1

// uiScheme is the scheme that hosts require for the pages of MCP Apps, so the label goes
// after it.
const uiScheme = "ui://"

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
		users[schemeName(name)]++
	}

	l := &labels{part: make(map[string]int, len(names))}
	for i, name := range names {
		label := schemeName(name)
		if users[label] > 1 {
			label = hashed(label, name)
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

// maxLabel is the maximum length of a label without its hash.
const maxLabel = 40

// schemeName returns name as a valid scheme: in lower case, because URI parsers normalize
// schemes, and with "-" for characters that a scheme cannot contain.
func schemeName(name string) string {
	label := strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-', r == '.':
			return r
		}
		return '-'
	}, name)
	if label == "" || label[0] < 'a' || label[0] > 'z' {
		label = "s-" + label
	}
	if len(label) > maxLabel {
		return hashed(label[:maxLabel], name)
	}
	return label
}

// hashed returns a label with 8 hexadecimal digits of the name's digest, which tell apart two
// names that become the same label.
func hashed(label, name string) string {
	sum := sha256.Sum256([]byte(name))
	return label + "-" + hex.EncodeToString(sum[:4])
}

// qualify returns the URI, or the URI template, with the label of a part.
func (l *labels) qualify(part int, uri string) string {
	if rest, ok := strings.CutPrefix(uri, uiScheme); ok {
		return uiScheme + l.of[part] + "+" + rest
	}
	return l.of[part] + "+" + uri
}

// split is the inverse of qualify. It returns false if no source has that label. part may
// be absentPart.
func (l *labels) split(uri string) (part int, own string, ok bool) {
	rest, ui := strings.CutPrefix(uri, uiScheme)
	label, own, found := strings.Cut(rest, "+")
	if !found || len(label) > maxLabel+len("-01234567") {
		return 0, "", false
	}
	part, ok = l.part[strings.ToLower(label)]
	if ui {
		own = uiScheme + own
	}
	return part, own, ok
}

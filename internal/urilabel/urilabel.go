// Package urilabel writes and reads the label of a source in front of the URI of a resource:
//
//	urilabel.Join("notes", "file:///a.md")  // notes+file:///a.md
//	urilabel.Join("notes", "ui://view/a")   // ui://notes+view/a
//	urilabel.Split("Notes+file:///a.md")    // "notes", "file:///a.md", true
//
// Code that routes by a label and code that decides about the same URI use this package, so that both read it in the
// same way.
package urilabel

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxPlain is the maximum length of a label without its hash, and maxLabel of any label.
const (
	maxPlain = 40
	maxLabel = maxPlain + len("-01234567")
)

// uiScheme is the scheme that hosts require for the pages of MCP Apps, so the label goes after it.
const uiScheme = "ui://"

// Of returns the label of a source: its name as a scheme, in lower case because URI parsers normalize schemes, and
// with "-" for characters that a scheme cannot contain. It has no "+", so the first one ends it.
func Of(name string) string {
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
	if len(label) > maxPlain {
		return hashed(label[:maxPlain], name)
	}
	return label
}

// Hashed returns the label of a source if another one has the same [Of]: it ends with 8 hexadecimal digits of the
// name's digest.
func Hashed(name string) string { return hashed(Of(name), name) }

func hashed(label, name string) string {
	sum := sha256.Sum256([]byte(name))
	return label + "-" + hex.EncodeToString(sum[:4])
}

// Join returns the URI, or the URI template, with a label.
func Join(label, uri string) string {
	if rest, ok := strings.CutPrefix(uri, uiScheme); ok {
		return uiScheme + label + "+" + rest
	}
	return label + "+" + uri
}

// Split is the inverse of Join. It returns false if the URI has no label. A label is in lower case.
func Split(uri string) (label, own string, ok bool) {
	rest, ui := strings.CutPrefix(uri, uiScheme)
	label, own, ok = strings.Cut(rest, "+")
	if !ok || len(label) > maxLabel {
		return "", "", false
	}
	if ui {
		own = uiScheme + own
	}
	return strings.ToLower(label), own, true
}

package mcplog

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// Redactor converts the events of a tap, and removes secrets from them. It is safe for
// concurrent use.
type Redactor struct {
	// scanner finds secrets, and paths are redacted in any case.
	scanner *secrets.Scanner
	paths   [][]string
}

// NewRedactor returns a Redactor. The arguments are those of [WriterOptions]; an invalid
// path is a [*PathError].
func NewRedactor(environment, redact []string) (*Redactor, error) {
	r := &Redactor{scanner: secrets.New(environment)}
	for _, text := range redact {
		path, err := parsePath(text)
		if err != nil {
			return nil, err
		}
		r.paths = append(r.paths, path)
	}
	return r, nil
}

// Event returns the redacted event of a source, without a Seq. It copies what it needs of t.
func (r *Redactor) Event(t *tap.Event, source int) *Event {
	body := t.Body
	if t.Kind == tap.Message && len(r.paths) > 0 {
		body = redactPaths(body, r.paths)
	}
	shown := *t
	shown.Body = body
	e := newEvent(&shown, source, r.Clean)
	e.Bytes = len(t.Body)
	return e
}

// maxRounds is how often a text is searched for secrets: one search has a limit of
// matches. A text that still contains some is redacted as a whole.
const maxRounds = 8

// Clean replaces the credentials in a text with [redacted]. It keeps strings that only look
// random, because many are identifiers that a replay needs. A JSON text stays valid, or is
// redacted as a whole.
func (r *Redactor) Clean(text string) string {
	original := text
	for range maxRounds {
		var found []string
		for _, m := range r.scanner.Find(text) {
			if m.Kind != secrets.Entropy && m.Kind != secrets.Dump {
				found = append(found, text[m.Start:m.End])
			}
		}
		if len(found) > 0 {
			for _, secret := range found {
				text = strings.ReplaceAll(text, secret, "[redacted]")
			}
			continue
		}
		if text != original && jsonscan.Valid([]byte(original)) == nil && jsonscan.Valid([]byte(text)) != nil {
			break // a secret outside of a string
		}
		return text
	}
	return "[redacted]"
}

// PathError is the error for an invalid path in [WriterOptions.Redact].
type PathError struct{ Path string }

// Error implements the error interface.
func (e *PathError) Error() string {
	return fmt.Sprintf("%q is not a path such as $.params.arguments.password", e.Path)
}

// parsePath splits a path such as $.params.arguments.password.
func parsePath(text string) ([]string, error) {
	rest, ok := strings.CutPrefix(text, "$.")
	if !ok || slices.Contains(strings.Split(rest, "."), "") {
		return nil, &PathError{text}
	}
	return strings.Split(rest, "."), nil
}

// redactPaths replaces the values at paths of a valid JSON text.
func redactPaths(text []byte, paths [][]string) []byte {
	for _, path := range paths {
		text = replacePath(text, path, []byte(`"[redacted]"`))
	}
	return text
}

// removePaths removes the members at paths of a valid JSON text. Elements become null.
func removePaths(text []byte, paths [][]string) []byte {
	for _, path := range paths {
		text = replacePath(text, path, nil)
	}
	return text
}

// replacePath replaces the values at a path. A nil replacement removes members.
func replacePath(value []byte, path []string, with []byte) []byte {
	start := jsonscan.Space(value, 0)
	if start == len(value) || value[start] != '{' && value[start] != '[' {
		return value
	}
	isObject := value[start] == '{'
	fields := jsonscan.Members(value)
	if !isObject {
		for i, element := range jsonscan.Elements(value) {
			fields = append(fields, jsonscan.Field{
				Name:  strconv.Itoa(i),
				Value: element,
			})
		}
	}
	var parts [][]byte
	for _, f := range fields {
		inner := f.Value
		switch {
		case path[0] != "*" && path[0] != f.Name:
		case len(path) > 1:
			inner = replacePath(inner, path[1:], with)
		case with != nil:
			inner = with
		case isObject:
			continue
		default:
			inner = []byte("null")
		}
		if isObject {
			inner = append(append(jsonscan.AppendQuote(nil, f.Name), ':'), inner...)
		}
		parts = append(parts, inner)
	}
	out := append([]byte{value[start]}, bytes.Join(parts, []byte{','})...)
	return append(out, value[start]+2) // the closing bracket: both are two apart
}

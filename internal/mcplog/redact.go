package mcplog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

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
	e := newEvent(t, source)
	body := t.Body
	if len(r.paths) > 0 && t.Kind != tap.Stderr {
		body = redactPaths(body, r.paths)
	}
	if t.Kind == tap.Message {
		e.classify(body)
	}
	text := string(body)
	clean := r.Clean(text)
	if utf8.ValidString(clean) {
		e.Body = clean
	} else {
		e.Binary = []byte(clean)
	}
	if t.Kind == tap.Message && clean != text {
		e.classify([]byte(clean)) // the context of a secret in the body may be what identifies it
	}
	r.cleanFields(e)
	return e
}

// cleanFields redacts all texts of an event except its body.
func (r *Redactor) cleanFields(e *Event) {
	if e.Header != nil {
		e.Header = e.Header.Clone()
	}
	var all []string
	texts := []*string{&e.Method, &e.Name, &e.HTTPMethod, &e.URL, &e.Detail, &e.Error}
	for _, text := range texts {
		all = append(all, *text)
	}
	all = append(all, string(e.ID))
	for name, values := range e.Header {
		if len(r.paths) > 0 && repeatsBody(name) {
			values = []string{secrets.Redacted}
			e.Header[name] = values
		}
		all = append(all, values...)
	}
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	joined := strings.Join(all, "\x00")
	if r.Clean(joined) == joined {
		return // almost always: one search costs a fifth of one for each text
	}
	for _, text := range texts {
		*text = r.Clean(*text)
	}
	if id := string(e.ID); r.Clean(id) != id {
		e.ID = []byte(redactedJSON)
	}
	for _, values := range e.Header {
		for i := range values {
			values[i] = r.Clean(values[i])
		}
	}
}

// repeatsBody reports whether a header repeats a value from the params of its message, where a
// path may redact it.
func repeatsBody(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return name == "Mcp-Name" || strings.HasPrefix(name, "Mcp-Param-")
}

// redactedJSON replaces a value in JSON.
const redactedJSON = `"` + secrets.Redacted + `"`

// maxRounds is how often a text is searched for secrets: one search has a limit of
// matches. A text that still contains some is redacted as a whole.
const maxRounds = 8

// Clean replaces the credentials in a text with [redacted], and keeps everything else byte for
// byte. It keeps strings that only look random, because many are identifiers that a replay
// needs. A JSON text stays valid, or is redacted as a whole.
func (r *Redactor) Clean(text string) string {
	original := text
	for range maxRounds {
		d := decodeEscapes(text)
		var found []string
		for _, m := range r.scanner.Find(d.text) {
			if m.Kind != secrets.Entropy && m.Kind != secrets.Dump {
				found = append(found, d.text[m.Start:m.End])
			}
		}
		if len(found) > 0 {
			text = d.redact(text, found)
			continue
		}
		if text != original && jsonscan.Valid([]byte(original)) == nil && jsonscan.Valid([]byte(text)) != nil {
			break // a secret outside of a string
		}
		return text
	}
	return secrets.Redacted
}

// JSON is [Redactor.Clean] for a value in JSON, which stays one. nil stays nil.
func (r *Redactor) JSON(value json.RawMessage) json.RawMessage {
	clean := r.Clean(string(value))
	switch clean {
	case string(value):
		return value
	case secrets.Redacted:
		return json.RawMessage(redactedJSON)
	}
	return json.RawMessage(clean)
}

// decoded is a text in which escapes are replaced by their characters.
type decoded struct {
	text    string
	escapes []escape
}

// escape is a decoded escape: end is the index after its character, and shift how much further to
// the right the rest of the text is in the original.
type escape struct{ end, shift int }

// decodeEscapes decodes the escapes of JSON for characters that need none, also those in JSON
// that is quoted in a string: some encoders escape each slash, plus sign or quotation mark of a
// secret.
func decodeEscapes(text string) *decoded {
	if !strings.Contains(text, `\/`) && !strings.Contains(text, `\u00`) {
		return &decoded{text: text}
	}
	d := new(decoded)
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		end := i
		for end < len(text) && text[end] == '\\' {
			end++
		}
		switch c, size := escaped(text[end:]); {
		case end > i && size > 0:
			out = append(out, c)
			i = end + size
			d.escapes = append(d.escapes, escape{len(out), i - len(out)})
		case end > i:
			out = append(out, text[i:end]...)
			i = end
		default:
			out = append(out, text[i])
			i++
		}
	}
	d.text = string(out)
	return d
}

// original returns the index in the original of a byte of the text.
func (d *decoded) original(i int) int {
	n := sort.Search(len(d.escapes), func(n int) bool { return d.escapes[n].end > i })
	if n == 0 {
		return i
	}
	return i + d.escapes[n-1].shift
}

// redact replaces all occurrences of secrets in the original text. Overlapping ones are replaced
// together.
func (d *decoded) redact(original string, found []string) string {
	slices.Sort(found)
	var spans [][2]int
	for _, secret := range slices.Compact(found) {
		for at := 0; ; at += len(secret) {
			i := strings.Index(d.text[at:], secret)
			if i < 0 {
				break
			}
			at += i
			spans = append(spans, [2]int{at, at + len(secret)})
		}
	}
	slices.SortFunc(spans, func(a, b [2]int) int { return cmp.Or(a[0]-b[0], b[1]-a[1]) })
	var out strings.Builder
	written := 0 // of the decoded text
	for _, s := range spans {
		if s[0] >= written {
			out.WriteString(original[d.original(written):d.original(s[0])])
			out.WriteString(secrets.Redacted)
		}
		written = max(written, s[1])
	}
	out.WriteString(original[d.original(written):])
	return out.String()
}

// escaped returns the printable ASCII character of an escape whose text after the backslash
// starts s, and the length of that. The length is 0 for other escapes, and for quotation mark
// and backslash, which cannot be in a string without one.
func escaped(s string) (c byte, size int) {
	if strings.HasPrefix(s, "/") {
		return '/', 1
	}
	if !strings.HasPrefix(s, "u00") || len(s) < 5 {
		return 0, 0
	}
	n, err := strconv.ParseUint(s[3:5], 16, 8)
	if err != nil || n < ' ' || n > '~' || n == '"' || n == '\\' {
		return 0, 0
	}
	return byte(n), 5
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

// redactPaths replaces the values at paths of a message, or of each message in a batch. A
// malformed message has no paths, so nothing of it is kept.
func redactPaths(text []byte, paths [][]string) []byte {
	start := jsonscan.Space(text, 0)
	if start == len(text) || text[start] != '{' && text[start] != '[' {
		return text
	}
	if jsonscan.Valid(text) != nil {
		return []byte(secrets.Redacted)
	}
	for _, path := range paths {
		if text[start] == '[' {
			path = append([]string{"*"}, path...)
		}
		text = replacePath(text, path, []byte(redactedJSON))
		start = 0
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

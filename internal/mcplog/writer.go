package mcplog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// WriterOptions configure a [Writer]. Nil and the zero value mean the defaults.
type WriterOptions struct {
	// Environment is searched for secrets, as NAME=value. Their values are redacted
	// wherever they occur, in addition to credentials in known formats.
	Environment []string
	// Redact are paths into messages whose values are redacted, such as
	// $.params.arguments.password. A * stands for every member or element.
	Redact []string
	// MaxBytes is the maximum size of the recording; 0 means 1 GiB. When it is reached, a
	// [Gap] is written and recording ends.
	MaxBytes int64
	// Failed, if not nil, is called once when recording has ended early: because of an
	// error of writing, or of MaxBytes.
	Failed func(error)
}

// ErrFull is why a recording ended that has reached its maximum size.
var ErrFull = errors.New("the recording has reached its maximum size")

// Writer writes a recording. It is safe for concurrent use. An error ends the recording
// but never the conversation that is recorded.
type Writer struct {
	opts    WriterOptions
	scanner *secrets.Scanner
	paths   [][]string

	mu    sync.Mutex
	w     io.Writer
	seq   uint64
	bytes int64
	err   error
}

// NewWriter writes the header to w and returns a Writer for the events. Every line is
// passed to w with one call of Write. opts may be nil.
func NewWriter(w io.Writer, h *Header, opts *WriterOptions) (*Writer, error) {
	l := &Writer{w: w}
	if opts != nil {
		l.opts = *opts
	}
	if l.opts.MaxBytes <= 0 {
		l.opts.MaxBytes = 1 << 30
	}
	for _, text := range l.opts.Redact {
		path, err := parsePath(text)
		if err != nil {
			return nil, err
		}
		l.paths = append(l.paths, path)
	}
	l.scanner = secrets.New(l.opts.Environment)
	first := *h
	first.Format = Version
	if err := l.line(&first); err != nil {
		return nil, err
	}
	return l, nil
}

// Tap returns a tap that records events of a source, see [Event.Source].
func (l *Writer) Tap(source int) tap.Func {
	return func(t *tap.Event) {
		body := t.Body
		if t.Kind == tap.Message && len(l.paths) > 0 {
			body = redactPaths(body, l.paths)
		}
		shown := *t
		shown.Body = body
		e := newEvent(&shown, source, l.clean)
		e.Bytes = len(t.Body)
		l.write(e)
	}
}

// maxRounds is how often a text is searched for secrets: one search has a limit of
// matches. A text that still contains some is redacted as a whole.
const maxRounds = 8

// clean redacts the credentials in a text. Strings that only look random stay: many are
// identifiers that a replay needs.
func (l *Writer) clean(text string) string {
	valid := jsonscan.Valid([]byte(text)) == nil
	for range maxRounds {
		var found []string
		for _, m := range l.scanner.Find(text) {
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
		if valid && jsonscan.Valid([]byte(text)) != nil {
			break // a secret outside of a string
		}
		return text
	}
	return "[redacted]"
}

// write appends an event, unless the recording has ended.
func (l *Writer) write(e *Event) {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return
	}
	l.seq++
	e.Seq = l.seq
	err := l.line(e)
	if err == nil && l.bytes >= l.opts.MaxBytes {
		err = ErrFull
		_ = l.line(&Event{
			Seq:         l.seq + 1,
			Nanoseconds: e.Nanoseconds,
			Kind:        Gap,
			Error:       err.Error(),
		})
	}
	l.err = err
	l.mu.Unlock()
	if err != nil && l.opts.Failed != nil {
		l.opts.Failed(err)
	}
}

func (l *Writer) line(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	n, err := l.w.Write(append(text, '\n'))
	l.bytes += int64(n)
	return err
}

// PathError is why a text is not a path into a message.
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

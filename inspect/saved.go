package inspect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// savedCalls is the file of saved calls, which was named when the program started.
type savedCalls struct {
	file string
	mu   sync.Mutex // guards the file between reading and replacing it
}

// maxSaved limits the file.
const maxSaved = 16 << 20

// state returns what the state of the page says of the file.
func (s *savedCalls) state() any {
	if s.file == "" {
		return nil
	}
	return map[string]any{
		"file":     filepath.Base(s.file),
		"writable": true,
	}
}

// read returns the file and its tag. A file that does not exist is empty.
func (s *savedCalls) read() (text []byte, tag string, err error) {
	if s.file == "" {
		return nil, "", &Failure{
			Text: "no file for saved calls was named",
			Hint: "start with --calls FILE",
			Code: "not_found",
			http: http.StatusNotFound,
		}
	}
	text, err = os.ReadFile(s.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", failure(http.StatusInternalServerError, "file", "%s cannot be read: %v", filepath.Base(s.file),
			errors.Unwrap(err))
	}
	if len(text) > maxSaved {
		return nil, "", failure(http.StatusRequestEntityTooLarge, "too_large", "%s has more than %d bytes",
			filepath.Base(s.file), maxSaved)
	}
	sum := sha256.Sum256(text)
	return text, strconv.Quote(hex.EncodeToString(sum[:8])), nil
}

// serveGet serves GET api/calls.
func (s *savedCalls) serveGet(w http.ResponseWriter, _ *http.Request) error {
	s.mu.Lock()
	text, tag, err := s.read()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	w.Header().Set("ETag", tag)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(text) // on failure, the client has gone
	return nil
}

// serveSaveCalls serves PUT api/calls.
func (in *Inspector) serveSaveCalls(w http.ResponseWriter, r *http.Request) error {
	text, err := readBody(w, r, maxSaved)
	if err != nil {
		return err
	}
	if err := jsonscan.Valid(text); err != nil || !jsonscan.IsObject(text) {
		return badRequest("the file of saved calls is a JSON object")
	}
	tag, err := in.saved.replace(text, r.Header.Get("If-Match"))
	if err != nil {
		return err
	}
	w.Header().Set("ETag", tag)
	in.publish("calls", map[string]string{"etag": tag})
	return done(w)
}

// replace writes the file, unless it has changed since it had the tag, and returns the
// new tag.
func (s *savedCalls) replace(text []byte, expected string) (tag string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, tag, err = s.read()
	if err != nil {
		return "", err
	}
	if expected != "" && strings.TrimPrefix(expected, "W/") != tag {
		return "", &Failure{
			Text: filepath.Base(s.file) + " has changed since it was read",
			Hint: "load it again",
			Code: "changed",
			http: http.StatusPreconditionFailed,
		}
	}
	if err := fsutil.Replace(s.file, 0o644, fsutil.Content(text)); err != nil {
		return "", failure(http.StatusInternalServerError, "file", "%s cannot be written: %v", filepath.Base(s.file), err)
	}
	_, tag, err = s.read()
	return tag, err
}

// memberOf returns a member of an object, or nil.
func memberOf(object json.RawMessage, name string) json.RawMessage {
	return jsonscan.Member(object, name)
}

// fieldsOf returns the string members of an object as pairs.
func fieldsOf(object json.RawMessage) (pairs [][2]string) {
	for _, m := range jsonscan.Members(object) {
		text, _ := jsonscan.Unquote(m.Value)
		pairs = append(pairs, [2]string{m.Name, text})
	}
	return pairs
}

// withoutMeta returns an object without its member _meta.
func withoutMeta(object json.RawMessage) json.RawMessage {
	out := []byte{'{'}
	for _, m := range jsonscan.Members(object) {
		if m.Name == "_meta" {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(jsonscan.AppendQuote(out, m.Name), ':'), m.Value...)
	}
	return append(out, '}')
}

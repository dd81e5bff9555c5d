package inspect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/calltest"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// savedCalls is the file of saved calls, which was named when the program started.
type savedCalls struct {
	file string
	mu   sync.Mutex // guards the file between reading and replacing it
}

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

// read returns the file and its tag, which is "" for a file that does not exist. It fails if the page
// could not write the file without losing a part of it.
func (s *savedCalls) read() (text []byte, tag string, err error) {
	if s.file == "" {
		return nil, "", &Failure{
			Text: "no file for saved calls was named",
			Hint: "start with --calls FILE",
			Code: "not_found",
			http: http.StatusNotFound,
		}
	}
	text, err = calltest.ReadEditable(s.file)
	if err != nil {
		return nil, "", unusableCalls(http.StatusConflict, err)
	}
	return text, tagOf(text), nil
}

// unusableCalls returns the failure for an invalid file of saved calls.
func unusableCalls(status int, err error) *Failure {
	f := failure(status, "file", "%v", err)
	var e *calltest.EditError
	if errors.As(err, &e) {
		f.Hint = e.Hint()
	}
	return f
}

// tagOf returns the tag of a file that exists, of which text is not nil, and otherwise "".
func tagOf(text []byte) string {
	if text == nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return strconv.Quote(hex.EncodeToString(sum[:8]))
}

// serveCalls serves GET api/calls.
func (in *Inspector) serveCalls(w http.ResponseWriter, _ *http.Request) error {
	in.saved.mu.Lock()
	text, tag, err := in.saved.read()
	in.saved.mu.Unlock()
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
	text, err := readBody(w, r, calltest.MaxFile)
	if err != nil {
		return err
	}
	tag, err := in.saved.replace(text, r.Header.Get("If-Match"))
	if err != nil {
		return err
	}
	w.Header().Set("ETag", tag)
	in.publish("calls", map[string]string{"etag": tag})
	return done(w)
}

// replace writes the file and returns its new tag. A file that exists is replaced only if it has the
// expected tag, so that the caller knows its content, and keeps its mode.
func (s *savedCalls) replace(text []byte, expected string) (tag string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, tag, err = s.read()
	if err != nil {
		return "", err
	}
	name := filepath.Base(s.file)
	if strings.TrimPrefix(expected, "W/") != tag {
		return "", &Failure{
			Text: name + " has changed since it was read",
			Hint: "load it again",
			Code: "changed",
			http: http.StatusPreconditionFailed,
		}
	}
	if err := calltest.CheckEditable(s.file, text); err != nil {
		return "", unusableCalls(http.StatusBadRequest, err)
	}
	if why := fsutil.ReadOnly(s.file); why != "" {
		return "", failure(http.StatusConflict, "file", "%s cannot be written: %s", name, why)
	}
	if info, statErr := os.Stat(s.file); statErr == nil {
		err = fsutil.Replace(s.file, info.Mode().Perm(), fsutil.Content(text))
	} else {
		err = fsutil.Create(s.file, 0o644, fsutil.Content(text))
	}
	if err != nil {
		return "", failure(http.StatusInternalServerError, "file", "%s cannot be written: %s", name, fsutil.Reason(err))
	}
	return tagOf(text), nil
}

// serveVerify serves POST api/verify: what in the answer to a call is not as a saved call
// expects. Without a call, it is what is wrong in the saved call itself. The pointers of problems
// are those in the saved call.
func (in *Inspector) serveVerify(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Call  int             `json:"call"`
		Saved json.RawMessage `json:"saved"`
	}
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	var made *call
	if body.Call != 0 {
		found := in.calls.get(body.Call)
		if found == nil {
			return notFound("there is no call %d", body.Call)
		}
		made = found.copy()
	}
	problems, err := in.verify(made, body.Saved)
	if err != nil {
		return err
	}
	return answer(w, map[string]any{"problems": append([]calltest.Problem{}, problems...)})
}

// verify returns the problems of a call that has ended, or those of the saved call if made is nil.
func (in *Inspector) verify(made *call, saved json.RawMessage) ([]calltest.Problem, error) {
	const first = "/calls/0" // the only call of the file
	file, report := calltest.Read("saved call.json", append(append([]byte(`{"calls":[`), saved...), "]}"...))
	var problems []calltest.Problem
	for _, f := range report.Findings() {
		problems = append(problems, calltest.Problem{
			Pointer: strings.TrimPrefix(f.Pointer, first),
			Message: f.Message,
		})
	}
	if file == nil {
		return problems, nil
	}
	if len(file.Calls) != 1 {
		return nil, badRequest("the member saved must be one saved call")
	}
	if made == nil {
		return problems, nil
	}
	if made.State == stateRunning {
		return nil, failure(http.StatusConflict, "running", "call %d has no answer yet", made.ID)
	}
	if made.Answer == 0 {
		message := "the call was " + made.State
		if made.Failure != nil {
			message = made.Failure.Text
		}
		return []calltest.Problem{{Message: message}}, nil
	}
	_, text, err := in.frame(strconv.FormatUint(made.Answer, 10))
	if err != nil {
		return nil, err
	}
	problems = file.Calls[0].Verify(&calltest.Answer{
		Result: memberOf(text, "result"),
		Error:  memberOf(text, "error"),
		Took:   time.Duration(made.Took),
	})
	for i := range problems {
		problems[i].Pointer = strings.TrimPrefix(problems[i].Pointer, first)
	}
	return problems, nil
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

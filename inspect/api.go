package inspect

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// routes is the complete list of the page's requests. Handlers return a value or an error;
// how both are written is decided in one place.
var routes = []struct {
	pattern string
	serve   func(in *Inspector, w http.ResponseWriter, r *http.Request) error
}{
	{"GET /api/state", (*Inspector).serveState},
	{"GET /api/stream", (*Inspector).serveStream},
	{"GET /api/frames", (*Inspector).serveFrames},
	{"GET /api/frames/{seq}", (*Inspector).serveBody},
	{"GET /api/frames/{seq}/copy", (*Inspector).serveCopy},
	{"GET /api/search", (*Inspector).serveSearch},
	{"GET /api/diff", (*Inspector).serveDiff},
	{"GET /api/catalog", (*Inspector).serveCatalog},
	{"GET /api/form", (*Inspector).serveForm},
	{"GET /api/expand", (*Inspector).serveExpand},
	{"GET /api/commands", (*Inspector).serveCommands},
	{"GET /api/lock", (*Inspector).serveLock},
	{"POST /api/lock", (*Inspector).serveLockDiff},
	{"GET /api/calls", (*Inspector).serveCalls},
	{"PUT /api/calls", (*Inspector).serveSaveCalls},
	{"POST /api/verify", (*Inspector).serveVerify},
	{"GET /api/record", (*Inspector).serveRecord},
	{"POST /api/open", (*Inspector).serveOpen},
	{"POST /api/app", (*Inspector).serveOpenApp},
	{"POST /api/app/{id}", (*Inspector).serveApp},
	{"DELETE /api/app/{id}", (*Inspector).serveCloseApp},
	{"GET /api/app/controls", (*Inspector).serveControls},
	{"GET /api/app/{id}/violations", (*Inspector).serveViolations},
	{"POST /api/check", (*Inspector).serveCheck},
	{"POST /api/call", (*Inspector).serveCall},
	{"GET /api/call/{id}", (*Inspector).serveOutcome},
	{"POST /api/cancel", (*Inspector).serveCancel},
	{"POST /api/answer", (*Inspector).serveAnswer},
	{"POST /api/complete", (*Inspector).serveComplete},
	{"POST /api/subscribe", (*Inspector).serveSubscribe},
	{"POST /api/level", (*Inspector).serveLevel},
	{"POST /api/roots", (*Inspector).serveRoots},
	{"POST /api/reconnect", (*Inspector).serveReconnect},
}

// handler answers the requests of [routes], and all others with the page.
func (in *Inspector) handler() *http.ServeMux {
	mux := http.NewServeMux()
	for _, route := range routes {
		mux.HandleFunc(route.pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := route.serve(in, w, r); err != nil {
				writeFailure(w, in.explain(err))
			}
		})
	}
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		writeFailure(w, notFound("the API has no %s %s", r.Method, r.URL.Path))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		in.page.serve(w, r, in.boot())
	})
	return mux
}

// writeFailure answers with a failure as JSON. Its status is that of the failure, or 500 if it has
// none.
func writeFailure(w http.ResponseWriter, f *Failure) {
	status := f.http
	if status == 0 {
		status = http.StatusInternalServerError
	}
	body := map[string]any{"error": f}
	if f.problems != nil {
		body["problems"] = f.problems
	}
	writeJSON(w, status, body)
}

// writeJSON answers with a value as JSON. Answers contain traffic, so browsers must not store them.
func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(mustJSON(value)) // on failure, the client has gone
}

// answer writes a value as the response.
func answer(w http.ResponseWriter, value any) error {
	writeJSON(w, http.StatusOK, value)
	return nil
}

// done is the response of a request without a result.
func done(w http.ResponseWriter) error { return answer(w, struct{}{}) }

// maxBody limits a request of the API.
const maxBody = 64 << 20

// readJSON decodes the body of a request.
func readJSON(w http.ResponseWriter, r *http.Request, into any) error {
	text, err := readBody(w, r, maxBody)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return badRequest("invalid request: %v", err)
	}
	return nil
}

// readBody reads the body of a request. A body of more than limit bytes is refused with status 413.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, failure(http.StatusRequestEntityTooLarge, "too_large", "the request has more than %d bytes", limit)
	}
	if err != nil {
		return nil, badRequest("the request is incomplete: %v", err)
	}
	return text, nil
}

// number returns a number in the query, or a default.
func number(r *http.Request, name string, otherwise uint64) (uint64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, badRequest("%s is not a number", name)
	}
	return n, nil
}

// asked returns the source that a query names.
func (in *Inspector) asked(r *http.Request) (*target, error) {
	id, err := number(r, "source", 1)
	if err != nil {
		return nil, err
	}
	return in.target(int(id))
}

// serveState serves GET api/state.
func (in *Inspector) serveState(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, in.snapshot())
}

// snapshot returns the state of everything but frames and lists. Streams begin with it.
func (in *Inspector) snapshot() map[string]any {
	first, last := in.store.bounds()
	var states []*State
	for _, t := range in.all() {
		states = append(states, t.state())
	}
	return map[string]any{
		"by":      in.opts.By,
		"started": in.started.UTC().Format(time.RFC3339),
		"first":   first,
		"seq":     last,
		"calls":   in.saved.state(),
		"asks":    in.asks.list(),
		"running": in.calls.running(),
		"sources": states,
	}
}

// maxHeads limits the frames in one response.
const maxHeads = 5000

// serveFrames serves GET api/frames: heads by range.
func (in *Inspector) serveFrames(w http.ResponseWriter, r *http.Request) error {
	first, last := in.store.bounds()
	from, err := number(r, "from", 0)
	if err != nil {
		return err
	}
	to, err := number(r, "to", last)
	if err != nil {
		return err
	}
	limit, err := number(r, "limit", maxHeads)
	if err != nil {
		return err
	}
	limit = min(limit, maxHeads)
	to = min(to, last)
	if from == 0 && to >= limit {
		from = to - limit + 1
	}
	list := []Frame{}
	if from <= to {
		list = in.store.slice(from, int(min(limit, to-from+1)))
	}
	for len(list) > 0 && list[len(list)-1].Seq > to {
		list = list[:len(list)-1]
	}
	return answer(w, map[string]any{
		"frames": list,
		"first":  first,
		"last":   last,
	})
}

// frame returns the frame that a path names.
func (in *Inspector) frame(text string) (*Frame, []byte, error) {
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return nil, nil, badRequest("%q is not the number of a frame", text)
	}
	f := in.store.get(seq)
	if f == nil {
		return nil, nil, notFound("frame %d is no longer kept", seq)
	}
	body, ok := f.text()
	if !ok {
		return nil, nil, notFound("frame %d is no longer kept", seq)
	}
	return f, body, nil
}

// serveBody serves GET api/frames/SEQ: the bytes of a message.
func (in *Inspector) serveBody(w http.ResponseWriter, r *http.Request) error {
	f, body, err := in.frame(r.PathValue("seq"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", "attachment; filename=frame-"+r.PathValue("seq")+".json")
	w.Header().Set("X-Total-Bytes", strconv.Itoa(f.Bytes))
	http.ServeContent(w, r, "", time.Time{}, newReader(body))
	return nil
}

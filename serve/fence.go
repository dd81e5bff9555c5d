package serve

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// fence is what a replica has to own to answer a request: a session, or the processes of a caller.
type fence interface {
	// confirm returns nil if the replica owns it now.
	confirm(ctx context.Context) error
}

var (
	_ fence = (*ownedSession)(nil)
	_ fence = (*callerHome)(nil)
	_ fence = fences{}
)

// fences are several, all of which the replica has to own.
type fences []fence

// confirm implements fence.
func (all fences) confirm(ctx context.Context) error {
	for _, f := range all {
		if err := f.confirm(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fencedWriter refuses what a replica would answer although it may not own the session of the request, or the
// processes of its caller, any more, because it was suspended or cut off meanwhile.
type fencedWriter struct {
	http.ResponseWriter

	fence   fence
	request *http.Request
	// refused means that writes fail from now on, and started that the header was sent.
	refused bool
	started bool
}

// errFenced is the error of writes that are refused.
var errFenced = errors.New("the replica does not own what the request needs any more")

// Unwrap is for [http.ResponseController].
func (f *fencedWriter) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (f *fencedWriter) WriteHeader(status int) {
	if f.permitted() {
		f.started = true
		f.ResponseWriter.WriteHeader(status)
	}
}

// Write implements [http.ResponseWriter].
func (f *fencedWriter) Write(b []byte) (int, error) {
	if !f.permitted() {
		return 0, errFenced
	}
	f.started = true
	return f.ResponseWriter.Write(b)
}

// permitted reports whether the replica may still answer. Otherwise it answers with an error, unless
// an answer has begun.
func (f *fencedWriter) permitted() bool {
	if f.refused {
		return false
	}
	if f.fence.confirm(context.WithoutCancel(f.request.Context())) == nil {
		return true
	}
	f.refused = true
	if f.started {
		// What has been sent must not look complete.
		_ = http.NewResponseController(f.ResponseWriter).SetWriteDeadline(time.Now())
		return false
	}
	header := f.ResponseWriter.Header()
	clear(header)
	writeError(f.ResponseWriter, f.request, http.StatusBadGateway, mcp.CodeInternalError,
		"the replica lost its lease while it served the request: it may have run")
	// Writers of streams set a deadline, and clear it only after a write that succeeded. Over HTTP/2, a deadline that is
	// left would reset the stream, and this answer with it.
	_ = http.NewResponseController(f.ResponseWriter).SetWriteDeadline(time.Time{})
	return false
}

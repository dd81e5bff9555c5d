package serve

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// lostFence is a fence that the replica does not own.
type lostFence struct{}

func (lostFence) confirm(context.Context) error { return errors.New("lost") }

// deadlineRecorder records the deadline for writes.
type deadlineRecorder struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (r *deadlineRecorder) SetWriteDeadline(t time.Time) error {
	r.deadline = t
	return nil
}

// TestFencedAnswerHasNoDeadline guards the answer of a replica that lost its lease: over HTTP/2, the deadline of the
// refused write reset its stream if the handler was silent for longer.
func TestFencedAnswerHasNoDeadline(t *testing.T) {
	recorder := &deadlineRecorder{ResponseRecorder: httptest.NewRecorder()}
	w := &fencedWriter{
		ResponseWriter: &timeoutStream{ResponseWriter: recorder},
		fence:          lostFence{},
		request:        httptest.NewRequest(http.MethodPost, "/mcp", nil),
	}
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("event")); !errors.Is(err, errFenced) {
		t.Errorf("Write = %v, want %v", err, errFenced)
	}
	if recorder.Code != http.StatusBadGateway {
		t.Errorf("status %d, want 502", recorder.Code)
	}
	if !recorder.deadline.IsZero() {
		t.Errorf("the response has the deadline %v", recorder.deadline)
	}
}

package serve

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// goneClient is the writer of a client that has gone.
type goneClient struct{ http.ResponseWriter }

func (goneClient) Write([]byte) (int, error) { return 0, errors.New("the client has gone") }

// TestBufferAfterFailedWrite guards the answers of other clients: a connection over HTTP/2 may read a buffer
// after the write that failed, so no other answer is put into it.
func TestBufferAfterFailedWrite(t *testing.T) {
	var pool sync.Pool
	a := &answerWriter{
		ResponseWriter: goneClient{httptest.NewRecorder()},
		buffers:        &pool,
	}
	buf := a.Get()
	if _, err := a.Write(buf); err == nil {
		t.Error("the write succeeded")
	}
	a.Put(buf)
	if pool.Get() != nil {
		t.Error("the buffer of a write that failed is used again")
	}
}

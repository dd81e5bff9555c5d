package serve

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// goneClient is the writer of a client that has gone.
type goneClient struct{ http.ResponseWriter }

func (goneClient) Write([]byte) (int, error) { return 0, errors.New("the client has gone") }

// TestBufferAfterFailedWrite guards the answers of other clients: a connection over HTTP/2 may read a buffer
// after the write that failed, so no other answer is put into it.
func TestBufferAfterFailedWrite(t *testing.T) {
	p := new(hop)
	err := p.copyAnswer(goneClient{httptest.NewRecorder()}, &http.Response{
		StatusCode: http.StatusOK,
		Body:       io.NopCloser(strings.NewReader("text")),
	})
	if err == nil {
		t.Error("the write succeeded")
	}
	if p.buffers.Get() != nil {
		t.Error("the buffer of a write that failed is used again")
	}
}

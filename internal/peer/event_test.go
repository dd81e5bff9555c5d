package peer_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

func TestEventReader(t *testing.T) {
	long := strings.Repeat("x", 40<<10)
	tests := map[string]struct {
		in, lastID string
		want       []peer.Event
		err        error
	}{
		"empty":               {"", "", nil, io.EOF},
		"one":                 {"data: {}\n\n", "", []peer.Event{{Data: []byte("{}")}}, io.EOF},
		"a name and an id":    {"event: message\nid: 7\ndata:{}\n\n", "7", []peer.Event{{"message", []byte("{}")}}, io.EOF},
		"several lines":       {"data: a\ndata\ndata: b\n\n", "", []peer.Event{{Data: []byte("a\n\nb")}}, io.EOF},
		"CRLF and a comment":  {": hello\r\ndata: a\r\n\r\n", "", []peer.Event{{Data: []byte("a")}}, io.EOF},
		"a byte order mark":   {"\ufeffdata: a\n\n", "", []peer.Event{{Data: []byte("a")}}, io.EOF},
		"an id without data":  {"id: 3\ndata:\n\ndata: a\n\n", "3", []peer.Event{{Data: []byte("a")}}, io.EOF},
		"an incomplete event": {"data: a\n\ndata: b\n", "", []peer.Event{{Data: []byte("a")}}, io.EOF},
		"beyond the buffer":   {"data: " + long + "\n\n", "", []peer.Event{{Data: []byte(long)}}, io.EOF},
		"a line too long":     {"data: " + long + long + "\n\n", "", nil, peer.ErrTooLong},
		"an event too long":   {strings.Repeat("data: "+long[:1000]+"\n", 80) + "\n", "", nil, peer.ErrTooLong},
		"many events in limit": {
			strings.Repeat("data: a\n\n", 3),
			"",
			[]peer.Event{{Data: []byte("a")}, {Data: []byte("a")}, {Data: []byte("a")}},
			io.EOF,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := peer.NewEventReader(strings.NewReader(tt.in), 64<<10)
			var got []peer.Event
			var err error
			for err == nil {
				var ev peer.Event
				if ev, err = r.Next(); err == nil {
					got = append(got, ev)
				}
			}
			if diff := cmp.Diff(got, tt.want); diff != "" || !errors.Is(err, tt.err) || r.LastID != tt.lastID {
				t.Errorf("error %v, want %v; last id %q, want %q; events (-got +want):\n%s", err, tt.err, r.LastID, tt.lastID, diff)
			}
		})
	}
	r := peer.NewEventReader(strings.NewReader("retry: 250\n\nretry: x\n\n"), 100)
	if _, err := r.Next(); err != io.EOF || r.Retry != 250*time.Millisecond {
		t.Errorf("Retry = %v, %v, want 250ms", r.Retry, err)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("event: message\nid: 1\nretry: 5\ndata: {}\ndata:x\n\n:c\r\ndata\r\n\r\n")
	f.Add("\ufeffdata: a\n\n")
	fuzzbound.Fuzz(f, func(t *testing.T, text string) {
		for r := peer.NewEventReader(strings.NewReader(text), 1000); ; {
			if _, err := r.Next(); err != nil {
				return
			}
		}
	})
}

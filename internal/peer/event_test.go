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
		"empty":              {"", "", nil, io.EOF},
		"one":                {"data: {}\n\n", "", []peer.Event{{Data: []byte("{}")}}, io.EOF},
		"a name and an id":   {"event: message\nid: 7\ndata:{}\n\n", "7", []peer.Event{{"message", []byte("{}")}}, io.EOF},
		"several lines":      {"data: a\ndata\ndata: b\n\n", "", []peer.Event{{Data: []byte("a\n\nb")}}, io.EOF},
		"CRLF and a comment": {": hello\r\ndata: a\r\n\r\n", "", []peer.Event{{Data: []byte("a")}}, io.EOF},
		"CR alone": {
			":c\rid: 4\rdata: a\rdata: b\r\rdata: c\r\r",
			"4",
			[]peer.Event{{Data: []byte("a\nb")}, {Data: []byte("c")}},
			io.EOF,
		},
		"mixed line ends": {
			"data: a\r\ndata: b\rdata: c\n\r\ndata: d\n\rdata: e\r\r\n",
			"",
			[]peer.Event{{Data: []byte("a\nb\nc")}, {Data: []byte("d")}, {Data: []byte("e")}},
			io.EOF,
		},
		"CR beyond buffer":    {"data: " + long + "\r\r", "", []peer.Event{{Data: []byte(long)}}, io.EOF},
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

// TestEventReaderDoesNotWait guards that an event is returned when its last line is complete,
// although the byte after a CR might still be the LF of a CRLF.
func TestEventReaderDoesNotWait(t *testing.T) {
	for _, end := range []string{"\n", "\r", "\r\n"} {
		in, out := io.Pipe()
		go func() {
			for _, text := range []string{"one", "two"} {
				// Closed by the test on failure.
				_, _ = io.WriteString(out, "data: "+text+end+end)
			}
		}()
		r := peer.NewEventReader(in, 1000)
		for _, want := range []string{"one", "two"} {
			if ev, err := r.Next(); err != nil || string(ev.Data) != want {
				t.Errorf("lines that end in %q: event %q, %v, want %q", end, ev.Data, err, want)
			}
		}
		_ = in.Close()
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("event: message\nid: 1\nretry: 5\ndata: {}\ndata:x\n\n:c\r\ndata\r\n\r\n")
	f.Add("\ufeffdata: a\n\n")
	f.Add("data: a\rdata: b\r\n\rdata: c\r\r")
	fuzzbound.Fuzz(f, func(t *testing.T, text string) {
		for r := peer.NewEventReader(strings.NewReader(text), 1000); ; {
			if _, err := r.Next(); err != nil {
				return
			}
		}
	})
}

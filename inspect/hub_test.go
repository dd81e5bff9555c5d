package inspect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/race"
)

// What waits for a page that does not read is limited in lines and in bytes. From the first lost line on, all
// are lost until the page reads, so that no line arrives after one that is missing.
func TestWaitingLines(t *testing.T) {
	race.SkipLong(t)
	tests := map[string]struct {
		value string
		want  int
	}{
		"lines": {"x", maxLines},
		"bytes": {strings.Repeat("x", 1<<20), maxLineBytes>>20 - 1}, // each is a little larger
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHub(newStore(1, 1))
			p := h.open()
			for range tt.want {
				h.publish("log", tt.value)
			}
			if _, lost := h.take(p); lost {
				t.Fatal("lines are lost within the limit")
			}
			for range tt.want + 1 {
				h.publish("log", tt.value)
			}
			h.publish("log", "")
			if lines, lost := h.take(p); len(lines) != tt.want || !lost {
				t.Errorf("%d lines, lost: %t; want %d, true", len(lines), lost, tt.want)
			}
			h.publish("log", "")
			if lines, lost := h.take(p); len(lines) != 1 || lost {
				t.Errorf("afterwards: %d lines, lost: %t; want 1, false", len(lines), lost)
			}
		})
	}
}

// A notice is one line of the stream, whatever a server writes between the parts of its params, and the same as the
// encoder writes.
func TestNoticeIsOneLine(t *testing.T) {
	for _, params := range []string{"null", "{\n  \"data\": \"a\\nb\",\r\n\"level\":\"info\"}", `{"data":"<b>"}`} {
		n := &notice{Call: 7, Source: 2, Seq: 9, Params: json.RawMessage(params)}
		got := namedJSON("log", n)
		if bytes.ContainsAny(got, "\r\n") {
			t.Errorf("%q has more than one line", got)
		}
		var read, want map[string]any
		if err := json.Unmarshal(got, &read); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		if err := json.Unmarshal(mustJSON(map[string]any{"log": n}), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(read, want) {
			t.Errorf("%s, want %v", got, want)
		}
	}
}

// In a flood, each message is a frame and a line. Writing a line copies the frame before it, not all that are kept.
func TestFloodCopiesEachFrameOnce(t *testing.T) {
	const frames = 2000
	kept := newStore(0, 0)
	for range frames {
		kept.add(new(Frame))
	}
	w := bufio.NewWriter(io.Discard)
	s := &streamWriter{
		w:       w,
		rc:      http.NewResponseController(httptest.NewRecorder()),
		in:      &Inspector{store: kept},
		encoder: json.NewEncoder(w),
		next:    1,
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for last := range uint64(frames) {
		s.frames(last + 1)
	}
	runtime.ReadMemStats(&after)
	if s.next != frames+1 || s.err != nil {
		t.Fatalf("the next frame is %d, error %v", s.next, s.err)
	}
	if each := (after.TotalAlloc - before.TotalAlloc) / frames; each > 10_000 {
		t.Errorf("%d bytes are allocated for each line, want at most 10,000", each)
	}
}

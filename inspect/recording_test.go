package inspect_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/inspect"
)

// The oldest frames make room, and the stream says so.
func TestGap(t *testing.T) {
	d := newDesk(t, &inspect.Options{MaxFrames: 50})
	d.ready("")
	s := d.stream(-1)
	d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"flood","arguments":{"n":200}}}`)
	s.until("the end", ended)
	gap := d.stream(0).until("a gap", func(e *event) bool { return e.Gap != nil }).Gap
	if gap.From != 1 || gap.To < 150 {
		t.Errorf("gap: %+v", gap)
	}
	if status, _ := d.do("GET", "/api/frames/1", ""); status != 404 {
		t.Errorf("frame 1: %d", status)
	}
	_, recording := d.do("GET", "/api/record", "")
	if lines := strings.Split(string(recording), "\n"); !strings.Contains(lines[1], `"kind":"gap"`) ||
		!strings.Contains(lines[1], "earlier messages are no longer stored") {
		t.Errorf("the recording begins with %s", lines[1])
	}
}

// Both sides of a recorded server, and its clients, use the same ids: each response is that of its own request.
func TestRecordedSides(t *testing.T) {
	d := newDesk(t, nil)
	d.ready("")
	s := d.stream(-1)
	log := `{"mcplog":1,"sources":[{"id":1,"name":"a"},{"id":2,"name":"b"}]}` + "\n"
	add := func(source, stream int, direction, kind, message string) {
		log += fmt.Sprintf(`{"src":%d,"stream":%d,"d":%q,"kind":%q,"ch":"post","id":3,"method":"x","body":%q}`+"\n",
			source, stream, direction, kind, `{"jsonrpc":"2.0","id":3,`+message+`}`)
	}
	const request, response = `"method":"x"`, `"result":{}`
	add(0, 1, "in", "request", request)
	add(0, 2, "in", "request", request)
	add(2, 1, "out", "request", request)
	add(1, 1, "out", "request", request)
	add(1, 1, "in", "response", response)
	add(2, 5, "in", "response", response) // as with HTTP+SSE
	add(0, 1, "out", "response", response)
	add(0, 2, "out", "response", response)
	log += `{"src":0,` // cut off
	d.post("/api/open", log)
	s.until("the recording", func(e *event) bool {
		return e.State != nil && e.State.ID == 2 && e.State.Phase == "recording"
	})
	var found struct{ Frames []inspect.Frame }
	d.get("/api/search?q=kind:response+-@office", &found)
	var offsets []uint64
	for _, f := range found.Frames {
		offsets = append(offsets, f.Seq-f.Pair)
	}
	if want := []uint64{1, 3, 6, 6}; !slices.Equal(offsets, want) {
		t.Errorf("responses have their requests %d frames before, want %d", offsets, want)
	}
	d.get("/api/search?q=kind:gap", &found)
	if len(found.Frames) != 1 || !strings.Contains(found.Frames[0].Error, "incomplete") {
		t.Errorf("a cut recording has gaps %+v", found.Frames)
	}
}

// A recording is shown without its server, and answers as recorded.
func TestRecording(t *testing.T) {
	d := newDesk(t, nil)
	d.ready("")
	s := d.stream(-1)
	d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"count","arguments":{"n":3}}}`)
	s.until("the end", ended)
	_, recording := d.do("GET", "/api/record", "")
	var opened struct{ Source int }
	if err := json.Unmarshal(d.post("/api/open", string(recording)), &opened); err != nil || opened.Source != 2 {
		t.Fatal(opened, err)
	}
	s.until("the recording", func(e *event) bool {
		return e.State != nil && e.State.ID == 2 && e.State.Phase == "recording" &&
			e.State.Counts.Tools == len(newOffice().catalog.Tools)
	})
	d.post("/api/call", `{"source":2,"method":"tools/call","params":{"name":"count","arguments":{"n":3}}}`)
	if call := s.until("the answer", ended).Call; call.State != "done" || call.Answer == 0 {
		t.Errorf("the call is %+v", call)
	}
	var found struct{ Total int }
	d.get("/api/search?q=method:tools/call+dir:out+@*recording*", &found)
	if found.Total != 2 {
		t.Errorf("%d requests of the recording, want the recorded one and the repeated one", found.Total)
	}
	if status, text := d.do("POST", "/api/open", "no recording"); status != 400 {
		t.Errorf("%d %s", status, text)
	}
}

package fix_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/bench/fix"
)

func TestText(t *testing.T) {
	text := fix.Text()
	if len(text) != 10_240 {
		t.Errorf("len(Text()) = %d, want 10240", len(text))
	}
	encoded, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	escapes := len(encoded) - 2 - len(text)
	if share := float64(escapes) / float64(len(text)); share < 0.014 || share > 0.016 {
		t.Errorf("%.4f of Text() is escaped, want 0.015", share)
	}
}

func TestAnswerPassesCheck(t *testing.T) {
	for _, w := range fix.Workloads() {
		t.Run(w.Name, func(t *testing.T) {
			stream := ""
			for n := range w.Events {
				stream += string(fix.Event(w.Notification(n + 1)))
			}
			if err := w.Check(w.Answer(), fix.FirstID); (err == nil) != (w.Events == 0) {
				t.Errorf("as a message: %v", err)
			}
			stream += "event: message\nid: 1\ndata: " + string(w.Answer()) + "\n\n"
			if err := w.Check([]byte(stream), fix.FirstID); err != nil {
				t.Errorf("as an event stream: %v", err)
			}
		})
	}
	if err := fix.CheckInit(fix.InitAnswer()); err != nil {
		t.Error(err)
	}
}

func TestCheckRefuses(t *testing.T) {
	tests := []struct{ name, workload, old, new, want string }{
		{"other text", "http-echo-2025", fix.Message, "hello, World", "content"},
		{"tool error", "http-echo-2025", `"result":{`, `"result":{"isError":true,`, "reports an error"},
		{"protocol error", "http-echo-2025", `"result":{`, `"error":{"code":-32603},"result":{`, "is an error"},
		{"other id", "http-echo-2025", "1000000001", "1000000002", "id"},
		{"no result type", "http-echo-2026", `"resultType":"complete"`, `"resultType":"later"`, "resultType"},
		{"short text", "http-text-10k", "lazy", "", "content"},
		{"other resource", "http-read-10k", "lazy", "", "10 KB"},
		{"a tool renamed", "http-list-50", "filler_0017", "filler_0018", "filler_0017"},
		{
			"a property lost",
			"http-list-50",
			`"exact":{"type":"boolean","description":"match whole words"}`,
			`"limit":{}`,
			"2 properties",
		},
		{"not JSON", "http-echo-2025", "}}", "}", "answer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, err := fix.Find(tt.workload)
			if err != nil {
				t.Fatal(err)
			}
			body := bytes.Replace(w.Answer(), []byte(tt.old), []byte(tt.new), 1)
			if err := w.Check(body, fix.FirstID); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Check(%.60s) = %v, want an error with %q", body, err, tt.want)
			}
		})
	}
	w, _ := fix.Find("http-list-50")
	few := w
	few.Tools = 49
	if err := w.Check(few.Answer(), fix.FirstID); err == nil {
		t.Error("49 tools pass as 50")
	}
}

func TestBodyIDs(t *testing.T) {
	for _, w := range fix.Workloads() {
		body := w.Body(fix.FirstID)
		if !json.Valid(body) {
			t.Errorf("%s: Body is not JSON: %s", w.Name, body)
		}
		if got := string(body[fix.IDOffset : fix.IDOffset+fix.IDDigits]); got != "1000000001" {
			t.Errorf("%s: digits at IDOffset = %q", w.Name, got)
		}
	}
}

func TestListWeight(t *testing.T) {
	w, err := fix.Find("http-list-1000")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(w.Answer()); n < 320_000 || n > 380_000 {
		t.Errorf("list of 1,000 tools weighs %d bytes, want about 350,000", n)
	}
}

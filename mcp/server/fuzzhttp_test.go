package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/mcp/server"
)

var wholeSeeds = []string{
	pingRequest, initializedNote, modernRequest, initRequest,
	"[" + pingRequest + "," + initializedNote + "]", "[]", "{", "",
	modern("tools/call", `"name":"progress"`), modern("tools/call", `"name":"panic"`),
	modern("resources/read", `"uri":"test://item/1"`),
	modern("prompts/get", `"name":"ask","arguments":{"topic":"x"}`), modern("server/discover", ""),
	modern("completion/complete",
		`"ref":{"type":"ref/resource","uri":"test://item/{id}"},"argument":{"name":"id","value":""}`),
	modern("subscriptions/listen", `"notifications":{"toolsListChanged":true}`),
	`{"jsonrpc":"2.0","id":"\u00fc","method":"logging/setLevel","params":{"level":"debug"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"AQAE-e53PA"}}`,
	"{\"jsonrpc\":\"2.0\",\"id\":1,\n\"method\":\"tools/call\",\"params\":{\"name\":\"link\"}}",
}

// impatient is a demo in which no call waits.
func impatient() *demo {
	d := newDemo()
	close(d.release)
	return d
}

// For any body, the handler neither crashes nor writes an invalid message.
func FuzzHTTP(f *testing.F) {
	for _, seed := range wholeSeeds {
		f.Add([]byte(seed), "")
		f.Add([]byte(seed), "2025-03-26")
		f.Add([]byte(seed), "2026-07-28")
	}
	h := server.New(impatient(), nil).HTTPHandler(nil)
	fuzzbound.Fuzz(f, func(t *testing.T, body []byte, version string) {
		if bytes.Contains(body, []byte("listen")) {
			return // it would last until the client disconnects
		}
		ctx, leave := context.WithTimeout(t.Context(), time.Second) // "listen" may be escaped
		defer leave()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/mcp", bytes.NewReader(body))
		r.Header = clientHeader(string(body))
		if version != "" {
			r.Header.Set("MCP-Protocol-Version", version)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 || w.Code == http.StatusOK && w.Body.Len() == 0 {
			t.Errorf("status %d with %d bytes", w.Code, w.Body.Len())
		}
		for line := range strings.Lines(messagesOf(t, w)) {
			if !json.Valid([]byte(line)) || !utf8.ValidString(line) {
				t.Errorf("not JSON: %q", line)
			}
		}
	})
}

// For any lines, the server continues, and only writes lines of JSON.
func FuzzStdio(f *testing.F) {
	for _, seed := range wholeSeeds {
		f.Add([]byte(seed + "\n" + seed))
		f.Add([]byte(strings.Replace(initRequest, "2025-06-18", "2025-03-26", 1) + "\r\n" + seed + "\n\n"))
	}
	fuzzbound.Fuzz(f, func(t *testing.T, in []byte) {
		synctest.Test(t, func(t *testing.T) {
			var out lockedBuffer
			input := append(append([]byte(nil), in...), "\n"+call(`"last"`, "stored")+"\n"...)
			if err := server.New(impatient(), nil).ServeStdio(t.Context(), bytes.NewReader(input), &out, nil); err != nil {
				t.Fatal(err)
			}
			text := out.take()
			for line := range strings.Lines(text) {
				if !json.Valid([]byte(line)) || !utf8.ValidString(line) {
					t.Errorf("not a line of JSON: %q", line)
				}
			}
			if !strings.Contains(text, `"id":"last","result"`) {
				t.Errorf("the last request is not answered: %q", text)
			}
		})
	})
}

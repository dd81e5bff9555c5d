package mcplog_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// A text that was JSON stays JSON: where a secret is not in a string, nothing of it is kept.
func TestCleanKeepsJSON(t *testing.T) {
	r, err := mcplog.NewRedactor([]string{"DB_PASSWORD=8675309123"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"n":"8675309123"}`:            `{"n":"[redacted]"}`,
		`{"n":8675309123}`:              `[redacted]`,
		`no JSON, and 8675309123 in it`: `no JSON, and [redacted] in it`,
		`{"n":1}`:                       `{"n":1}`,
	} {
		if got := r.Clean(text); got != want {
			t.Errorf("Clean(%s) = %s, want %s", text, got, want)
		}
	}
}

// The address of a server that was called is recorded, that of a client is not.
func TestRemoteOfServersOnly(t *testing.T) {
	r, err := mcplog.NewRedactor(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		sent   bool
		status int
		want   string
	}{
		"response of a server": {status: 200, want: "192.0.2.1:80"},
		"request of a client":  {},
		"response to a client": {sent: true, status: 200},
	} {
		e := r.Event(&tap.Event{Kind: tap.Head, Sent: test.sent, HTTP: &tap.HTTP{
			Status: test.status,
			Remote: "192.0.2.1:80",
			Reused: true,
		}}, 1)
		if e.Remote != test.want || e.Reused != (test.want != "") {
			t.Errorf("%s: address %q, reused %t, want %q", name, e.Remote, e.Reused, test.want)
		}
	}
}

// No text of an event keeps a secret: neither what is known about a message, nor headers, nor bytes
// that are not UTF-8, nor a message of a batch.
func TestEveryTextIsRedacted(t *testing.T) {
	const (
		env = "correct-horse-battery"
		pin = "PIN9876"
	)
	github := "ghp_" + strings.Repeat("aB3", 12)
	r, err := mcplog.NewRedactor([]string{"MAIL_PASSWORD=" + env}, []string{"$.params.arguments.pin", "$.params.uri"})
	if err != nil {
		t.Fatal(err)
	}
	encoded := "=?base64?" + base64.StdEncoding.EncodeToString([]byte(github)) + "?="
	message := func(text string) *tap.Event { return &tap.Event{Kind: tap.Message, Body: []byte(text)} }
	for name, event := range map[string]*tap.Event{
		"name":     message(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"` + github + env + `"}}`),
		"escaped":  message(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"\u0067` + github[1:] + `"}}`),
		"uri":      message(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + pin + `"}}`),
		"id":       message(`{"jsonrpc":"2.0","id":"` + github + `","method":"x"}`),
		"method":   message(`{"jsonrpc":"2.0","id":1,"method":"` + github + `"}`),
		"argument": message(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":{"p\u0069n":"` + pin + `"}}}`),
		"batch":    message(` [{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":{"pin":"` + pin + `"}}}]`),
		"malformed": {Kind: tap.Body,
			Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":{"pin":"` + pin + `"}`)},
		"bytes":  {Kind: tap.Junk, Body: []byte("\xff API " + github + " " + env)},
		"stderr": {Kind: tap.Stderr, Body: []byte("{" + env)},
		"step":   {Kind: tap.Step, Detail: github, Err: errors.New(env)},
		"head": {Kind: tap.Head, HTTP: &tap.HTTP{
			Method: github,
			URL:    "/" + env,
			Header: http.Header{
				"Mcp-Name":      {pin},
				"Mcp-Param-Pin": {pin},
				"User-Agent":    {"a", env, encoded},
			},
		}},
	} {
		e := r.Event(event, 1)
		text, err := json.Marshal(e)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		shown := string(text) + string(e.Binary)
		for _, secret := range []string{github, github[4:], env, pin, encoded} {
			if strings.Contains(shown, secret) {
				t.Errorf("%s: %q is in %s", name, secret, shown)
			}
		}
		if !strings.Contains(shown, "[redacted]") {
			t.Errorf("%s: nothing was redacted in %s", name, shown)
		}
	}
	e := r.Event(message(`[{"jsonrpc":"2.0","id":1,"method":"x"}]`), 1)
	if e.Kind != mcplog.Batch || e.Body == "" {
		t.Errorf("a batch is of kind %q, with the body %q", e.Kind, e.Body)
	}
}

// An encoder may escape any character of a secret. All other texts stay byte for byte.
func TestEscapedSecrets(t *testing.T) {
	r, err := mcplog.NewRedactor([]string{"DB_PASSWORD=ab/cd+ef=gh'ij"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"a":"ab\/cd+ef=gh'ij"}`:                       `{"a":"[redacted]"}`,
		`{"a":"ab/cd\u002bef=gh\u0027ij","b":"\u00e9"}`: `{"a":"[redacted]","b":"\u00e9"}`,
		`{"a":"{\"b\":\"ab/cd\\u002Bef=gh'ij\\\"\"}"}`:  `{"a":"{\"b\":\"[redacted]\\\"\"}"}`,
		`{"p":"^https?:\\/\\/x\\u002ey\/\u002B","a":"ab\/cd+ef=gh'ij","b":"\/ab/cd\u002bef=gh'ij\u002e"}`: `{"p":"^` +
			`https?:\\/\\/x\\u002ey\/\u002B","a":"[redacted]","b":"\/[redacted]\u002e"}`,
		`{"a":"\/\u002B\u0022\u005C"}`:               `{"a":"\/\u002B\u0022\u005C"}`,
		`{"ab/cd+ef=gh'ij":"\u0022\u005C\u000a\u00"`: `{"[redacted]":"\u0022\u005C\u000a\u00"`,
	} {
		if got := r.Clean(text); got != want {
			t.Errorf("Clean(%s) = %s, want %s", text, got, want)
		}
	}
}

// A secret that only its context in the body reveals is not kept as the name of the request either.
func TestContextOfSecrets(t *testing.T) {
	r, err := mcplog.NewRedactor(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := r.Event(&tap.Event{
		Kind: tap.Message,
		Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"hV7kq2Lm9x","api_key":"hV7kq2Lm9x"}}`),
	}, 1)
	if !strings.Contains(e.Body, "[redacted]") || strings.Contains(e.Body+e.Name, "hV7kq2Lm9x") {
		t.Errorf("name %q, body %s", e.Name, e.Body)
	}
}

func BenchmarkEvent(b *testing.B) {
	r, err := mcplog.NewRedactor([]string{"MAIL_PASSWORD=correct-horse-battery"}, nil)
	if err != nil {
		b.Fatal(err)
	}
	for name, e := range map[string]*tap.Event{
		"message": {
			Kind: tap.Message,
			Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","arguments":{"word":"whale"}}}`),
		},
		"head": {Kind: tap.Head, HTTP: &tap.HTTP{
			Method: "POST",
			URL:    "http://localhost:8080/mcp",
			Header: http.Header{
				"Accept":               {"application/json, text/event-stream"},
				"Content-Type":         {"application/json"},
				"User-Agent":           {"slipway/1.0"},
				"Mcp-Session-Id":       {"0a1b2c3d4e5f60718293a4b5c6d7e8f9"},
				"Mcp-Protocol-Version": {"2025-11-25"},
				"Content-Length":       {"120"},
				"Date":                 {time.Unix(0, 0).UTC().Format(http.TimeFormat)},
			},
		}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r.Event(e, 1)
			}
		})
	}
}

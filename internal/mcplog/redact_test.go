package mcplog_test

import (
	"testing"

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

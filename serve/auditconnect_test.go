package serve_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

// connectionLine is a line of the audit log about the login of a caller.
type connectionLine struct {
	Event, What, Principal, Server, Address, Issuer, Reason string
}

func readLog(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// connectionLines returns the lines about logins once there are that many.
func connectionLines(t *testing.T, path string, want int) (all []connectionLine) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		all = nil
		for line := range strings.Lines(readLog(t, path)) {
			var c connectionLine
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				t.Fatalf("line %s: %v", line, err)
			}
			if c.Event == "connection" {
				all = append(all, c)
			}
		}
		if len(all) >= want || time.Now().After(end) {
			return all
		}
	}
}

// TestAuditOfConnections records how a login of a caller begins and ends.
func TestAuditOfConnections(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	audit, err := serve.OpenAudit(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = audit.Close() })
	w := startVault(t, func(o *serve.Options) { o.Audit = audit })
	handler := w.gateway.Config.Handler.(*serve.Handler)
	t.Cleanup(serve.FollowConnections(handler))

	alice := w.caller("alice", mcp.Version20260728, nil)
	connect := func(tool string) {
		t.Helper()
		text, _ := callText(t, alice, tool)
		w.connect(w.browser("alice"), addressIn.FindString(text))
		toolsWith(t, alice, "whoami")
		if text, failed := callText(t, alice, "whoami"); failed {
			t.Fatal(text)
		}
	}
	var want []string
	lines := func(more ...string) []connectionLine {
		t.Helper()
		want = append(want, more...)
		all := connectionLines(t, path, len(want))
		var got []string
		for _, c := range all {
			got = append(got, c.What)
			address, _ := url.Parse(w.upstreamURL)
			if c.Principal != w.company.Issuer+"#alice" || c.Server != "notes" || c.Address != address.String() {
				t.Errorf("line %+v, want principal, server and address", c)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("events %v, want %v", got, want)
		}
		return all
	}

	// Another user opens the page. Then alice logs in, and an operator ends that.
	text, _ := callText(t, alice, "connect_notes")
	if status, _ := page(t, w.browser("bob"), addressIn.FindString(text), "prove"); status != http.StatusForbidden {
		t.Fatalf("bob proves to be bob: %d, want 403", status)
	}
	all := lines("asked", "refused")
	if reason := all[1].Reason; !strings.Contains(reason, "another user") || !strings.Contains(reason, "#bob") {
		t.Errorf("reason %q, want who opened the page", reason)
	}
	connect("connect_notes")
	all = lines("begun", "finished")
	if done := all[3]; done.Issuer != w.upstream.Issuer {
		t.Errorf("line %+v, want the issuer", done)
	}
	admin := httptest.NewServer(serve.AdminHandler(handler))
	t.Cleanup(admin.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete,
		admin.URL+"/connections?principal="+url.QueryEscape(w.company.Issuer+"#alice"), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if all = lines("ended"); all[4].Reason != "ended by an operator" {
		t.Errorf("line %+v, want the operator", all[4])
	}

	// The issuer no longer accepts the login.
	const life = 200 * time.Millisecond
	w.upstream.SetLife(life)
	w.upstream.SetLeeway(time.Hour)
	connect("connect_notes")
	lines("asked", "begun", "finished")
	w.upstream.Revoke("up-alice")
	time.Sleep(life) // a token that has just been obtained is not replaced
	if text, failed := callText(t, alice, "whoami"); !failed {
		t.Fatalf("whoami = %q, want an error", text)
	}
	if all = lines("ended", "asked"); !strings.Contains(all[8].Reason, "no longer accepts it") {
		t.Errorf("line %+v, want that the issuer no longer accepts the login", all[8])
	}

	// Another process logs out.
	w.upstream.SetLife(time.Hour)
	connect("whoami")
	lines("begun", "finished")
	store := identity.OpenStore(filepath.Dir(w.store.Path()), &identity.StoreOptions{NoKeychain: true})
	ended, err := identity.New(&identity.Options{Store: store}).Disconnect(t.Context(), w.company.Issuer+"#alice", "")
	if ended != 1 || err != nil {
		t.Fatalf("Disconnect = %d, %v, want one", ended, err)
	}
	if all = lines("ended"); all[12].Reason != "logged out by another process" {
		t.Errorf("line %+v, want another process", all[12])
	}

	log := readLog(t, path)
	for _, secret := range append(w.upstream.Secrets(), w.company.Secrets()...) {
		if strings.Contains(log, secret) {
			t.Error("the audit log contains a token")
		}
	}
	set, err := policy.Parse("policy.cedar", []byte(`permit (principal, action, resource);`))
	if err != nil {
		t.Fatal(err)
	}
	if replay, err := set.Replay(strings.NewReader(log)); err != nil || len(replay.Changed) != 0 {
		t.Errorf("Replay = %+v, %v, want no difference", replay, err)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/test/authtest"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/router"
)

// freeAddress returns an unused address of this machine.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// browserOf is a browser whose user logs in by the forms of the pages. A jar does not
// distinguish ports, so that one user has the same name at both providers.
type browserOf struct {
	t      *testing.T
	client *http.Client
	user   string
}

var (
	formIn = regexp.MustCompile(`(?s)<form method="post"(?: action="([^"]*)")?>(.*?)</form>`)
	hidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)
)

// follow opens an address, and sends the form of each page until one has none.
func (b *browserOf) follow(address string) (pages []string) {
	b.t.Helper()
	resp, err := b.client.Get(address)
	for range 8 {
		if err != nil {
			b.t.Fatal(err)
		}
		body, readErr := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if readErr != nil {
			b.t.Fatal(readErr)
		}
		pages = append(pages, string(body))
		form := formIn.FindStringSubmatch(string(body))
		if form == nil {
			return pages
		}
		values := url.Values{}
		for _, field := range hidden.FindAllStringSubmatch(form[2], -1) {
			values.Set(field[1], strings.ReplaceAll(field[2], "&amp;", "&"))
		}
		if strings.Contains(form[2], `name="user"`) {
			values.Set("user", b.user)
		}
		to, parseErr := resp.Request.URL.Parse(form[1])
		if parseErr != nil {
			b.t.Fatal(parseErr)
		}
		resp, err = b.client.PostForm(to.String(), values)
	}
	b.t.Fatalf("the pages do not end: %v", pages)
	return nil
}

// text returns what the endpoint has logged.
func (s *endpoint) text() string {
	text, _ := s.server.log.read()
	return text
}

// run runs another command with the state of the endpoint, and returns what it prints.
func (s *endpoint) run(args ...string) (text string, err error) {
	var out bytes.Buffer
	cmd := slipwayCommand(s.t, args...)
	cmd.Env = append(cmd.Env, "SLIPWAY_STATE_DIR="+s.stateDir)
	cmd.Stdout = &out
	cmd.Stderr = &out
	err = cmd.Run()
	return out.String(), err
}

// TestServeForEachUser serves a server of definitions with the login of each caller: from the
// first call to slipway ps and slipway logout.
func TestServeForEachUser(t *testing.T) {
	company := authtest.StartProvider()
	t.Cleanup(company.Close)
	id := authtest.StartProvider()
	t.Cleanup(id.Close)
	r, err := router.New("crm", "1", router.Tool("whoami", "", func(ctx context.Context, _ struct{}) (string, error) {
		return mcp.RequestFrom(ctx).Header().Get("X-User"), nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewUnstartedServer(nil)
	base := "http://" + upstream.Listener.Addr().String()
	upstream.Config.Handler = id.Protect(func() string { return base }, mcpserver.New(r, nil).HTTPHandler(nil))
	upstream.Start()
	t.Cleanup(upstream.Close)
	dir := t.TempDir()
	file := filepath.Join(dir, "servers.json")
	definitions := fmt.Sprintf(
		`{"servers":{"crm":{"url":%q,"transport":"http","auth":{"kind":"oauth","by":"user"}}}}`, base+"/mcp")
	if err := os.WriteFile(file, []byte(definitions), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLIPWAY_STORE_KEY", "file:"+filepath.Join(dir, "key"))
	addr := freeAddress(t)
	gateway := "http://" + addr
	s := startEndpoint(t, file, "--addr", addr, "--public-url", gateway, "--auth-issuer", company.Issuer)

	call := func(token, tool string) string {
		t.Helper()
		c, err := client.Open(t.Context(), &client.Endpoint{
			URL:    gateway + "/mcp",
			Header: http.Header{"Authorization": {"Bearer " + token}},
		}, &client.Options{Questions: client.Questions{Capabilities: json.RawMessage(`{}`)}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
		if err != nil {
			return err.Error()
		}
		return string(result.Raw.Bytes())
	}
	address := regexp.MustCompile(regexp.QuoteMeta(gateway) + `/connect/[A-Z2-7]{26}`)
	for _, user := range []string{"alice", "bob"} {
		token := company.Token(user, gateway+"/mcp")
		page := address.FindString(call(token, "connect_crm"))
		if page == "" {
			t.Fatalf("connect_crm of %s names no address; log:\n%s", user, s.text())
		}
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		browser := &browserOf{
			t:      t,
			client: &http.Client{Jar: jar},
			user:   user,
		}
		pages := browser.follow(page)
		if last := pages[len(pages)-1]; !strings.Contains(last, "You are logged in") {
			t.Fatalf("the last page of %s is %s; log:\n%s", user, last, s.text())
		}
		if got := call(token, "whoami"); !strings.Contains(got, `"`+user+`"`) {
			t.Errorf("whoami of %s = %s", user, got)
		}
	}
	text, err := s.run("ps")
	if err != nil || !strings.Contains(text, company.Issuer+"#alice  crm") ||
		!strings.Contains(text, "refreshed") {
		t.Errorf("slipway ps = %s, %v, want the connection of alice", text, err)
	}
	for _, token := range id.Secrets() {
		if strings.Contains(text+s.text(), token) {
			t.Error("a token is printed or logged")
		}
	}
	text, err = s.run("logout", "--caller", company.Issuer+"#alice")
	if err != nil || !strings.Contains(text, "ended 1 login of ") {
		t.Errorf("slipway logout = %s, %v", text, err)
	}
	got := call(company.Token("alice", gateway+"/mcp"), "whoami")
	if !address.MatchString(got) {
		t.Errorf("whoami of alice after the logout = %s, want an address", got)
	}
	if got = call(company.Token("bob", gateway+"/mcp"), "whoami"); !strings.Contains(got, `"bob"`) {
		t.Errorf("whoami of bob = %s", got)
	}

	// Without an issuer of its callers, the gateway does not serve it.
	text, err = s.run("serve", file, "--addr", "127.0.0.1:0")
	if err == nil || !strings.Contains(text, "does not know who its callers are") ||
		!strings.Contains(text, "--auth-issuer") {
		t.Errorf("serve without an issuer = %s, %v, want an error with the hint", text, err)
	}
}

// TestServeForwardsTokens forwards the token of a caller to a server that is its audience, with
// headers that describe the caller. A refusal of the server is not one of the gateway.
func TestServeForwardsTokens(t *testing.T) {
	company := authtest.StartProvider()
	t.Cleanup(company.Close)
	r, err := router.New("crm", "1", router.Tool("whoami", "", func(ctx context.Context, _ struct{}) (string, error) {
		h := mcp.RequestFrom(ctx).Header()
		return h.Get("X-User") + " is " + h.Get("X-Subject") + " of " + h.Get("X-Issuer"), nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewUnstartedServer(nil)
	base := "http://" + upstream.Listener.Addr().String()
	upstream.Config.Handler = company.Protect(func() string { return base }, mcpserver.New(r, nil).HTTPHandler(nil))
	upstream.Start()
	t.Cleanup(upstream.Close)
	file := filepath.Join(t.TempDir(), "servers.json")
	definitions := fmt.Sprintf(`{"servers":{"crm":{"url":%q,"transport":"http","auth":{"kind":"forward","audience":%q},`+
		`"callerHeaders":{"X-Subject":"subject","X-Issuer":"issuer"}}}}`, base+"/mcp", base+"/mcp")
	if err := os.WriteFile(file, []byte(definitions), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := freeAddress(t)
	gateway := "http://" + addr
	s := startEndpoint(t, file, "--addr", addr, "--public-url", gateway, "--auth-issuer", company.Issuer,
		"--auth-audience", gateway+"/mcp", "--auth-audience", base+"/mcp")
	call := func(token string) (answer string, refused bool) {
		t.Helper()
		c, err := client.Open(t.Context(), &client.Endpoint{
			URL:    gateway + "/mcp",
			Header: http.Header{"Authorization": {"Bearer " + token}},
		}, nil)
		if err != nil {
			return err.Error(), true
		}
		defer c.Close()
		result, err := c.CallTool(t.Context(), &mcp.CallToolParams{
			Name:      "whoami",
			Arguments: []byte("{}"),
		})
		var status *client.StatusError
		if err != nil {
			return err.Error(), errors.As(err, &status)
		}
		return string(result.Raw.Bytes()), false
	}
	for _, user := range []string{"alice", "bob"} {
		if got, _ := call(company.Token(user, base+"/mcp")); !strings.Contains(got,
			user+" is "+user+" of "+company.Issuer) {
			t.Errorf("whoami of %s = %s; log:\n%s", user, got, s.text())
		}
	}
	if got, _ := call(company.Token("alice", gateway+"/mcp")); strings.Contains(got, "alice is") {
		t.Errorf("a token for the gateway alone was used at the server: %s", got)
	}
	bob := company.Token("bob", base+"/mcp")
	if got, _ := call(bob); !strings.Contains(got, "bob is bob") {
		t.Errorf("whoami of bob = %s", got)
	}
	company.Revoke("bob") // only the server asks the provider whether a token is revoked
	if got, refused := call(bob); refused || strings.Contains(got, "bob is") {
		t.Errorf("a token that the server refuses: %s, %v, want an error that is not a 401 of the gateway", got, refused)
	}
	for _, token := range company.Secrets() {
		if strings.Contains(s.text(), token) {
			t.Error("a token is logged")
		}
	}
}

package apps_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
)

// hosted has tools of two joined servers, one of which has a user interface.
type hosted struct {
	mcp.Unimplemented
	ui   apps.ResourceUI
	mime string
}

func (h *hosted) Catalog(context.Context) (*mcp.Catalog, error) {
	from := func(source, name, own string, ui *apps.ToolUI) mcp.Tool {
		t := mcp.Tool{
			Name: name,
			Origins: []mcp.Origin{{
				Source: source,
				Name:   own,
			}},
		}
		if ui != nil {
			t.Meta = apps.ToolMeta(*ui)
		}
		return t
	}
	of := func(source, name string) []mcp.Origin { return []mcp.Origin{{Source: source, Name: name}} }
	return &mcp.Catalog{
		Sources: []mcp.JoinedSource{{Name: "a"}, {Name: "b"}},
		Resources: []mcp.Resource{
			{URI: "a+file:///data", Origins: of("a", "file:///data")},
			{URI: "file:///secret", Origins: of("b", "file:///secret")},
		},
		Templates: []mcp.ResourceTemplate{
			{URITemplate: "a:///{name}", Origins: of("a", "a:///{name}")},
			{URITemplate: "b:///{name}", Origins: of("b", "b:///{name}")},
		},
		Prompts: []mcp.Prompt{{Name: "ask_a", Origins: of("a", "ask")}, {Name: "ask_b", Origins: of("b", "ask")}},
		Tools: []mcp.Tool{
			from("a", "a_show", "show", &apps.ToolUI{ResourceURI: "ui://a/page"}),
			from("a", "a_poll", "poll", &apps.ToolUI{Visibility: []apps.Visibility{apps.VisibleToApp}}),
			from("a", "a_think", "think", &apps.ToolUI{Visibility: []apps.Visibility{apps.VisibleToModel}}),
			from("b", "b_poll", "b_poll", nil),
			{
				Name: "broken",
				Meta: json.RawMessage(`{"ui":7}`),
			},
		},
	}, nil
}

func (h *hosted) CallTool(_ context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("called " + params.Name)}}, nil
}

func (h *hosted) ReadResource(context.Context, *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	app := apps.App{URI: "ui://a/page", HTML: "<!doctype html>page</script>", UI: h.ui}
	contents := app.Contents()
	if h.mime != "" {
		contents.MIMEType = h.mime
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}, nil
}

func openView(t *testing.T, host *apps.Host, src mcp.Source, params apps.OpenParams) *apps.View {
	t.Helper()
	if params.Tool == "" {
		params.Tool = "a_show"
	}
	if params.Page == "" {
		params.Page = "http://127.0.0.1:8080"
	}
	v, err := host.Open(t.Context(), src, &params)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestGrantDropsInvalidOrigins(t *testing.T) {
	for _, source := range []string{
		"https://api.example.com", "https://*.example.com", "wss://example.com:8443", "api.example.com",
		"*.example.com", "http://localhost:3000", "https://example.com/path/",
	} {
		g := apps.NewGrant(&apps.ResourceUI{CSP: &apps.CSP{ConnectDomains: []string{source}}}, apps.Strict)
		if len(g.Dropped) > 0 || !strings.Contains(g.Policy(), "connect-src "+source+";") {
			t.Errorf("%s: policy %q, dropped %+v", source, g.Policy(), g.Dropped)
		}
	}
	for _, source := range []string{
		"", "*", "https://*", "https:", "data:", "blob:", "javascript://x", "file:///etc", "https://",
		"https://a.example; script-src *", "https://a.example 'unsafe-eval'", "'unsafe-eval'", "'self'", "a,b",
		"https://a.example\r\nSet-Cookie: x=1",
		"https://*.*.example", "https://ex*mple.com", "https://a\"b",
		"*:*", "https://*:443", "http://*:*", "*.", "https://*.com", "*.com:8443",
	} {
		g := apps.NewGrant(&apps.ResourceUI{CSP: &apps.CSP{ConnectDomains: []string{source}}}, apps.Compatible)
		if len(g.Dropped) != 1 || g.Dropped[0].Reason == "" || len(g.CSP.ConnectDomains) != 0 {
			t.Errorf("%q was accepted: %q", source, g.Policy())
		}
	}
}

// TestManyInvalidOrigins checks that a declaration cannot fill memory, nor the list of what a
// browser refused.
func TestManyInvalidOrigins(t *testing.T) {
	ui := &apps.ResourceUI{CSP: &apps.CSP{ConnectDomains: make([]string, 200_000)}}
	g := apps.NewGrant(ui, apps.Strict)
	if n := len(g.Dropped); n != 201 || g.Dropped[200].Blocked != " and 199799 more" {
		t.Errorf("%d dropped, the last one %+v", n, g.Dropped[n-1])
	}
	v := openView(t, apps.NewHost(nil), &hosted{ui: *ui}, apps.OpenParams{})
	if got := v.Violations(); len(got) != 0 {
		t.Errorf("a browser has reported nothing, but there are %d violations", len(got))
	}
}

// TestRemoteServer checks that the document of a server elsewhere cannot reach this machine and
// its network, unless the policy is the compatible one.
func TestRemoteServer(t *testing.T) {
	local := []string{"http://127.0.0.1:*", "ws://localhost:*", "http://192.168.1.1", "http://*.dev.localhost:*",
		"http://[::1]:9", "http://169.254.1.1", "http://0.0.0.0:80", "https://router", "http://nas.local", "localhost:3000",
		"http://[::ffff:10.0.0.1]", "https://db.internal/path", "https://LOCALHOST.", "http://printer.home.arpa"}
	public := []string{"https://api.example.com", "*.example.com", "https://93.184.215.14", "https://local.example"}
	src := &hosted{ui: apps.ResourceUI{CSP: &apps.CSP{ConnectDomains: slices.Concat(local, public)}}}
	for _, test := range []struct {
		remote bool
		mode   apps.Mode
		want   []string
	}{
		{true, apps.Strict, public},
		{true, apps.Compatible, slices.Concat(local, public)},
		{false, apps.Strict, slices.Concat(local, public)},
	} {
		v := openView(t, apps.NewHost(nil), src, apps.OpenParams{Mode: test.mode, Remote: test.remote})
		if got := v.Grant.CSP.ConnectDomains; !slices.Equal(got, test.want) {
			t.Errorf("remote %t, %s: granted %q, want %q", test.remote, test.mode, got, test.want)
		}
		if want := len(local) + len(public) - len(test.want); len(v.Grant.Dropped) != want {
			t.Errorf("remote %t, %s: %d dropped, want %d", test.remote, test.mode, len(v.Grant.Dropped), want)
		}
	}
}

// joinable is a server with a user interface. The one that is named mail has a template that matches every URI.
type joinable struct {
	mcp.Unimplemented
	name string
}

func (s *joinable) Catalog(context.Context) (*mcp.Catalog, error) {
	page := "ui://" + s.name + "/page"
	templates := []mcp.ResourceTemplate{{URITemplate: s.name + ":///{id}"}}
	if s.name == "mail" {
		templates = append(templates, mcp.ResourceTemplate{URITemplate: "{+x}"})
	}
	return &mcp.Catalog{
		Server:    mcp.Implementation{Name: s.name, Version: "1"},
		Resources: []mcp.Resource{{URI: page, Name: "page", MIMEType: apps.MIMEType}},
		Templates: templates,
		Tools:     []mcp.Tool{{Name: "show_" + s.name, Meta: apps.ToolMeta(apps.ToolUI{ResourceURI: page})}},
	}, nil
}

func (s *joinable) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if p.URI == "ui://"+s.name+"/page" {
		a := apps.App{URI: p.URI, HTML: "<!doctype html><title>" + s.name + "</title>"}
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{a.Contents()}}, nil
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: "answered by " + s.name}}}, nil
}

// TestJoinedServersAreSeparate checks that a document reads from its own server alone, whatever URI it
// asks for, through layers of joined servers.
func TestJoinedServersAreSeparate(t *testing.T) {
	join := func(named ...compose.Named) mcp.Source {
		src, err := compose.Union(t.Context(), named, nil)
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
	mail := compose.Named{Name: "mail", Source: &joinable{name: "mail"}}
	notes := compose.Named{Name: "notes", Source: &joinable{name: "notes"}}
	for layers, src := range map[string]mcp.Source{
		"two": join(mail, notes),
		"nested": join(compose.Named{Name: "team", Source: join(mail, notes)},
			compose.Named{Name: "files", Source: &joinable{name: "files"}}),
		"labelled": compose.Label("host", join(mail, notes)),
	} {
		t.Run(layers, func(t *testing.T) {
			catalog, err := src.Catalog(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(catalog.Tools, func(t mcp.Tool) bool { return strings.HasSuffix(t.Name, "show_mail") })
			v := openView(t, apps.NewHost(nil), src, apps.OpenParams{Tool: catalog.Tools[at].Name})
			uris := []string{"notes:///secret", "notes+notes:///secret", "team+notes:///secret", "files+files:///secret",
				"files:///x"}
			for i := range catalog.Resources {
				if !strings.HasSuffix(catalog.Resources[i].URI, "mail/page") {
					uris = append(uris, catalog.Resources[i].URI)
				}
			}
			for _, uri := range uris {
				params, _ := json.Marshal(map[string]string{"uri": uri})
				result, err := v.Call(t.Context(), "resources/read", params)
				if err == nil && !strings.Contains(string(result), "answered by mail") {
					t.Errorf("%s: %s", uri, result)
				}
			}
		})
	}
}

func TestPolicy(t *testing.T) {
	none := "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
		"img-src 'self' data:; font-src 'self'; media-src 'self' data:; connect-src 'none'; worker-src 'none'; " +
		"frame-src 'none'; base-uri 'self'; object-src 'none'; form-action 'none'"
	if got := apps.NewGrant(nil, "").Policy(); got != none {
		t.Errorf("without declarations:\n%s\nwant\n%s", got, none)
	}
	ui := &apps.ResourceUI{
		CSP: &apps.CSP{
			ConnectDomains:  []string{"https://c.example"},
			ResourceDomains: []string{"https://r.example"},
			FrameDomains:    []string{"https://f.example"},
			BaseURIDomains:  []string{"https://b.example"},
		},
		Permissions: &apps.Permissions{Microphone: true, ClipboardWrite: true},
	}
	want := "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' blob: data: " +
		"https://r.example; style-src 'self' 'unsafe-inline' blob: data: https://r.example; img-src 'self' data: blob: " +
		"https://r.example; font-src 'self' data: https://r.example; media-src 'self' data: blob: https://r.example; " +
		"connect-src blob: data: https://c.example; worker-src blob:; frame-src https://f.example; base-uri " +
		"https://b.example; object-src 'none'; form-action 'none'"
	g := apps.NewGrant(ui, apps.Compatible)
	if got := g.Policy(); got != want {
		t.Errorf("with everything:\n%s\nwant\n%s", got, want)
	}
	if got := g.Permissions.Allow(); got != "clipboard-write; microphone" {
		t.Errorf("Allow() = %q", got)
	}
	permissions := "camera=(), clipboard-write=(self), geolocation=(), microphone=(self), "
	if got := g.Permissions.Header(); !strings.HasPrefix(got, permissions) {
		t.Errorf("Header() = %q", got)
	}
}

func TestHostOpenErrors(t *testing.T) {
	host := apps.NewHost(&apps.HostOptions{MaxHTML: 40})
	for _, try := range []struct {
		name, tool, page, mime string
		want                   error
	}{
		{"unknown tool", "nope", "http://127.0.0.1:1", "", apps.ErrNoTool},
		{"no user interface", "b_poll", "http://127.0.0.1:1", "", apps.ErrNoApp},
		{"other type", "a_show", "http://127.0.0.1:1", "text/html", apps.ErrDocument},
		{"not an origin", "a_show", "http://127.0.0.1:1/path", "", nil},
	} {
		_, err := host.Open(t.Context(), &hosted{mime: try.mime}, &apps.OpenParams{
			Page: try.page,
			Tool: try.tool,
		})
		if err == nil || try.want != nil && !errors.Is(err, try.want) {
			t.Errorf("%s: %v, want %v", try.name, err, try.want)
		}
	}
	small := apps.NewHost(&apps.HostOptions{MaxHTML: 10})
	if _, err := small.Open(t.Context(), &hosted{}, &apps.OpenParams{
		Page: "http://127.0.0.1:1",
		Tool: "a_show",
	}); !errors.Is(err, apps.ErrDocument) {
		t.Errorf("a large document: %v", err)
	}
}

func TestHostServesByHost(t *testing.T) {
	var reported []apps.Violation
	host := apps.NewHost(&apps.HostOptions{
		OnViolation: func(_ *apps.View, v apps.Violation) { reported = append(reported, v) },
	})
	v := openView(t, host, &hosted{}, apps.OpenParams{})
	do := func(method, address, contentType, body string) *http.Response {
		r := httptest.NewRequest(method, address, strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		if !host.Owns(r) {
			t.Errorf("%s is not the host's", address)
		}
		w := httptest.NewRecorder()
		host.ServeHTTP(w, r)
		return w.Result()
	}
	proxy := do("GET", v.ProxyURL, "", "")
	// The script appends to the body, perhaps before the page is parsed to its end.
	if page, _ := io.ReadAll(proxy.Body); !strings.Contains(string(page), `<body><script type="application/json"`) {
		t.Errorf("the body of the proxy page does not begin before its scripts: %s", page)
	}
	policy := proxy.Header.Get("Content-Security-Policy")
	app := strings.Replace(v.ProxyURL, "//proxy-", "//app-", 1)
	origin := strings.TrimSuffix(app, "/"+v.ID)
	if proxy.StatusCode != 200 || !strings.Contains(policy, "frame-src "+origin+";") ||
		!strings.Contains(policy, "frame-ancestors http://127.0.0.1:8080;") {
		t.Errorf("proxy: %d, policy %q", proxy.StatusCode, policy)
	}
	document := do("GET", app, "", "")
	text, _ := io.ReadAll(document.Body)
	policy = document.Header.Get("Content-Security-Policy")
	if string(text) != "<!doctype html>page</script>" ||
		!strings.HasPrefix(policy, v.Policy+"; frame-ancestors http://proxy-") {
		t.Errorf("document %q, policy %q", text, policy)
	}
	fallback, _ := io.ReadAll(do("GET", v.FallbackURL, "", "").Body)
	if strings.Contains(string(fallback), "page</script>") ||
		!strings.Contains(string(fallback), `page\u003c/script\u003e`) {
		t.Errorf("the document ends its element in the fallback: %s", fallback)
	}
	report := `{"csp-report":{"effective-directive":"img-src","blocked-uri":"https://x.example"}}`
	if got := do("POST", app+"/report", "application/csp-report", report); got.StatusCode != http.StatusNoContent {
		t.Errorf("report: %d", got.StatusCode)
	}
	if len(reported) != 1 || reported[0].Directive != "img-src" || len(v.Violations()) != 1 {
		t.Errorf("reported %+v", reported)
	}
	for _, try := range []struct {
		method, address string
		want            int
	}{
		{"GET", strings.Replace(app, "//app-", "//app-x", 1), http.StatusMisdirectedRequest},
		{"GET", strings.Replace(v.FallbackURL, "localhost", "127.0.0.1", 1), http.StatusMisdirectedRequest},
		{"GET", strings.Replace(v.FallbackURL, "localhost", "rebound.example", 1), http.StatusMisdirectedRequest},
		{"GET", app + "x", http.StatusNotFound},
		{"GET", app + "/other", http.StatusNotFound},
		{"POST", app, http.StatusMethodNotAllowed},
		{"POST", app + "/report", http.StatusBadRequest},
	} {
		if got := do(try.method, try.address, "text/plain", "{}").StatusCode; got != try.want {
			t.Errorf("%s %s: %d, want %d", try.method, try.address, got, try.want)
		}
	}
	host.Close(v.ID)
	if got := do("GET", app, "", "").StatusCode; got != http.StatusNotFound {
		t.Errorf("closed: %d, want 404", got)
	}
	if host.Owns(httptest.NewRequest("GET", "http://127.0.0.1:8080/", nil)) {
		t.Error("the page is taken for a document")
	}
}

func TestViewCallsOnlyToolsOfItsServerForApps(t *testing.T) {
	host := apps.NewHost(nil)
	v := openView(t, host, &hosted{}, apps.OpenParams{})
	post := func(body string) string {
		w := httptest.NewRecorder()
		v.ServeHTTP(w, httptest.NewRequest("POST", "/", strings.NewReader(body)))
		return w.Body.String()
	}
	for body, want := range map[string]string{
		`{"method":"tools/call","params":{"name":"a_poll"}}`:               `called a_poll`,
		`{"method":"tools/call","params":{"name":"poll"}}`:                 `called a_poll`,
		`{"method":"tools/call","params":{"name":"a_think"}}`:              `cannot call tool \"a_think\"`,
		`{"method":"tools/call","params":{"name":"think"}}`:                `cannot call tool \"think\"`,
		`{"method":"tools/call","params":{"name":"b_poll"}}`:               `cannot call tool \"b_poll\"`,
		`{"method":"tools/call","params":{"name":"broken"}}`:               `cannot call tool \"broken\"`,
		`{"method":"tools/call","params":{"name":"poll","arguments":[1]}}`: `not an object`,
		`{"method":"tools/call"}`:                                          `needs a name`,
		`{"method":"resources/read","params":{}}`:                          `needs a uri`,
		`{"method":"ui/open-link","params":{}}`:                            `-32601`,
		`{"method":"ping"}`:                                                `{"result":{}}`,
	} {
		if got := post(body); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	list := post(`{"method":"tools/list"}`)
	if !strings.Contains(list, "a_show") || !strings.Contains(list, "a_poll") ||
		strings.Contains(list, "a_think") || strings.Contains(list, "b_poll") || strings.Contains(list, "broken") {
		t.Errorf("tools/list: %s", list)
	}
}

// A document of server a gets nothing of server b, which is joined with it.
func TestViewReadsOnlyFromItsServer(t *testing.T) {
	v := openView(t, apps.NewHost(nil), &hosted{}, apps.OpenParams{})
	for uri, allowed := range map[string]bool{
		"ui://a/page":    true, // the document itself, which need not be listed
		"a+file:///data": true,
		"file:///data":   true, // as its server calls it
		"a:///x":         true,
		"file:///secret": false,
		"b:///x":         false,
		"other://x":      false,
	} {
		params, err := json.Marshal(mcp.ReadResourceParams{URI: uri})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Call(t.Context(), "resources/read", params); (err == nil) != allowed {
			t.Errorf("%s: %v, want allowed = %t", uri, err, allowed)
		}
	}
	for method, want := range map[string]string{
		"resources/list":           `{"resources":[{"name":"","uri":"a+file:///data"}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"name":"","uriTemplate":"a:///{name}"}]}`,
		"prompts/list":             `{"prompts":[{"name":"ask_a","description":"","arguments":[]}]}`,
	} {
		got, err := v.Call(t.Context(), method, nil)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", method, got, err, want)
		}
	}
}

func TestDeclaredDomainIsStablePerServer(t *testing.T) {
	host := apps.NewHost(&apps.HostOptions{MaxViews: 3})
	src := &hosted{ui: apps.ResourceUI{Domain: "shop"}}
	document := func(server string) string {
		v := openView(t, host, src, apps.OpenParams{Server: server})
		w := httptest.NewRecorder()
		host.ServeHTTP(w, httptest.NewRequest("GET", v.ProxyURL, nil))
		_, rest, _ := strings.Cut(w.Header().Get("Content-Security-Policy"), "frame-src ")
		origin, _, _ := strings.Cut(rest, ";")
		return origin
	}
	first, again, other, none := document("a"), document("a"), document("b"), document("")
	if first != again || first == other || first == none {
		t.Errorf("origins %s, %s; of another server %s; without a name %s", first, again, other, none)
	}
}

func TestHostControls(t *testing.T) {
	var controls struct {
		Devices   []struct{ Name string }
		Variables map[string]any
	}
	if err := json.Unmarshal(apps.HostControls(), &controls); err != nil {
		t.Fatal(err)
	}
	if len(controls.Variables) != 76 || len(controls.Devices) < 4 {
		t.Errorf("%d variables, %d devices", len(controls.Variables), len(controls.Devices))
	}
}

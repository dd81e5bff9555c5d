package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/ws"
)

// company is a Source joined from servers, with one tool, prompt, resource and template of
// each. Tools are shown with the server as a prefix, so that a rule about the shown name
// would differ from one about the original name.
type company struct {
	mcp.Unimplemented
	servers []string
}

func (c company) Catalog(context.Context) (*mcp.Catalog, error) {
	return companyCatalog(strings.Join(c.servers, " ")), nil
}

// companyCatalog returns the catalog of a company. It is the same for the same servers, as it must
// be for lists to be encoded once.
func companyCatalog(servers string) *mcp.Catalog {
	if known, ok := companies.Load(servers); ok {
		return known.(*mcp.Catalog)
	}
	cat := &mcp.Catalog{
		Server:       mcp.Implementation{Name: "company", Version: "1"},
		Instructions: "all servers",
		Completions:  true,
		Subscribe:    true,
		Cache:        mcp.CacheHint{Public: true},
	}
	for _, s := range strings.Fields(servers) {
		from := func(name string) []mcp.Origin { return []mcp.Origin{{Source: s, Name: name}} }
		cat.Sources = append(cat.Sources, mcp.JoinedSource{Name: s})
		cat.Tools = append(cat.Tools, mcp.Tool{Name: s + "_run", Description: "x", Origins: from("run")})
		cat.Prompts = append(cat.Prompts, mcp.Prompt{Name: s + "_ask", Origins: from("ask"),
			Arguments: []mcp.PromptArgument{{Name: "topic"}}})
		cat.Resources = append(cat.Resources, mcp.Resource{Name: s, URI: s + "://one", Origins: from(s + "://one")})
		cat.Templates = append(cat.Templates, mcp.ResourceTemplate{Name: s, URITemplate: s + "://item/{id}",
			Origins: from(s + "://item/{id}")})
	}
	known, _ := companies.LoadOrStore(servers, cat)
	return known.(*mcp.Catalog)
}

var companies sync.Map

func (company) CallTool(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("ran " + p.Name)}}, nil
}

func (company) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: "read " + p.URI}}}, nil
}

func (company) GetPrompt(context.Context, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: "user", Content: mcp.Text("asked")}}}, nil
}

func (company) Complete(context.Context, *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	return &mcp.CompleteResult{}, nil
}

func (company) Watch(func(mcp.Change)) (stop func()) { return func() {} }

// ann may use a and read, but not run, of b; bob may use c.
const companyRules = `
@id("ann-a") permit (principal == User::"ann", action, resource in Server::"a");
@id("ann-b") permit (principal == User::"ann", action in [Action::"read", Action::"get"], resource in Server::"b");
@id("bob-c") permit (principal in Scope::"c", action, resource in Server::"c");
@id("not-9") forbid (principal, action == Action::"read", resource == Resource::"a/a://item/9");
@id("no-danger") forbid (principal, action == Action::"call", resource == Tool::"a/run")
when { context.arguments has mode && context.arguments.mode == "danger" };
`

func policyOf(t testing.TB, text string, opts *serve.PolicyOptions) *serve.Policy {
	t.Helper()
	set, err := policy.Parse("p.cedar", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return serve.NewPolicy(set, opts)
}

func companyTokens(t testing.TB) *serve.Auth {
	t.Helper()
	v, err := serve.NewTokens(
		serve.Token{Name: "ann", Token: "token-of-ann-0000"},
		serve.Token{Name: "bob", Token: "token-of-bob-0000", Scopes: []string{"c"}},
		serve.Token{Name: "eve", Token: "token-of-eve-0000"},
	)
	if err != nil {
		t.Fatal(err)
	}
	return &serve.Auth{Verifiers: []serve.Verifier{v}}
}

// itemUse is a request that uses an item.
type itemUse struct{ method, name, params string }

// asks are requests of every method that uses an item of a server.
func asks(server string) map[string]itemUse {
	return map[string]itemUse{
		"call": {"tools/call", server + "_run", fmt.Sprintf(`"name":"%s_run","arguments":{}`, server)},
		"get":  {"prompts/get", server + "_ask", fmt.Sprintf(`"name":"%s_ask","arguments":{}`, server)},
		"read": {"resources/read", server + "://one", fmt.Sprintf(`"uri":"%s://one"`, server)},
		"read item": {
			"resources/read", server + "://item/7", fmt.Sprintf(`"uri":"%s://item/7"`, server),
		},
		"complete": {"completion/complete", "", fmt.Sprintf(
			`"ref":{"type":"ref/prompt","name":"%s_ask"},"argument":{"name":"topic","value":""}`, server)},
		"complete uri": {"completion/complete", "", fmt.Sprintf(
			`"ref":{"type":"ref/resource","uri":"%s://item/{id}"},"argument":{"name":"id","value":""}`, server)},
	}
}

// post sends a request of 2026-07-28 as a caller, and returns the body of the answer.
func (a itemUse) post(h http.Handler, who string) string {
	params := a.params
	if params != "" {
		params += ","
	}
	text := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"%s","params":{%s"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		a.method, params)
	r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(text))
	r.Host = "localhost"
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": a.method, "Mcp-Name": a.name,
		"Authorization": "Bearer token-of-" + who + "-0000",
	} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Body.String()
}

// TestPolicyScopesOfServerAndItem: rules about a server and about its tool ask for their scopes
// in one challenge.
func TestPolicyScopesOfServerAndItem(t *testing.T) {
	o := &serve.Options{}
	o.Policy = policyOf(t, `permit (principal, action in Action::"use", resource);
@scopes("in") forbid (principal, action == Action::"connect", resource == Server::"c")
unless { principal in Scope::"in" };
@scopes("run") forbid (principal, action == Action::"call", resource == Tool::"c/run")
unless { principal in Scope::"run" };`, nil)
	w := exchange(companyHandler(t, o), http.MethodPost, "/mcp", toolCall("c_run"),
		"Authorization", "Bearer token-of-bob-0000")
	got := w.Header().Get("WWW-Authenticate")
	if w.Code != http.StatusForbidden || !strings.Contains(got, `scope="in run"`) {
		t.Errorf("status %d, %s; want 403 with both scopes", w.Code, got)
	}
}

func companyHandler(t testing.TB, opts *serve.Options) *serve.Handler {
	t.Helper()
	if opts.Auth == nil {
		opts.Auth = companyTokens(t)
	}
	if opts.Policy == nil {
		opts.Policy = policyOf(t, companyRules, nil)
	}
	return serve.NewHandler(company{servers: []string{"a", "b", "c"}}, opts)
}

// TestPolicyListen: the policy decides about the URIs that the server reads from the request, whatever the
// spelling of the member, and after the limit of their number.
func TestPolicyListen(t *testing.T) {
	h := companyHandler(t, &serve.Options{})
	for _, tt := range []struct{ name, filter, want string }{
		{"denied", `{"resourceSubscriptions":["a://one","b://one"]}`, "denied"},
		{"in capitals", `{"RESOURCESUBSCRIPTIONS":["b://one"],"taskIds":["t"]}`, "denied"}, // it is refused otherwise, too
		{"too many", `{"resourceSubscriptions":["b://one"` + strings.Repeat(`,"b://one"`, 10_000) + `]}`,
			"want at most 10000"},
	} {
		got := itemUse{"subscriptions/listen", "", `"notifications":` + tt.filter}.post(h, "ann")
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: %.300s, want %q", tt.name, got, tt.want)
		}
	}
}

// TestPolicyFreesLimits: a request that a rule denies does not stay in flight.
func TestPolicyFreesLimits(t *testing.T) {
	h := companyHandler(t, &serve.Options{Limits: serve.Limits{ClientInFlight: 1}})
	a, b := asks("a")["call"], asks("b")["call"]
	for i, tt := range []struct {
		use  itemUse
		want string
	}{{b, "no rule permits"}, {b, "no rule permits"}, {a, "ran a_run"}, {b, "no rule permits"}} {
		if got := tt.use.post(h, "ann"); !strings.Contains(got, tt.want) {
			t.Errorf("request %d: %s, want %q", i+1, got, tt.want)
		}
	}
}

// TestPolicyEveryMethod: what no rule permits is refused by every method with the rule, and
// what a rule permits is served.
func TestPolicyEveryMethod(t *testing.T) {
	h := companyHandler(t, &serve.Options{})
	for name, tt := range map[string]struct {
		who, server string
		allowed     []string
	}{
		"all of a":     {"ann", "a", []string{"call", "get", "read", "read item", "complete", "complete uri"}},
		"some of b":    {"ann", "b", []string{"get", "read", "read item"}},
		"none of c":    {"ann", "c", nil},
		"by scope":     {"bob", "c", []string{"call", "get", "read", "read item", "complete", "complete uri"}},
		"bob, a":       {"bob", "a", nil},
		"eve, nothing": {"eve", "a", nil},
	} {
		for what, q := range asks(tt.server) {
			body := q.post(h, tt.who)
			allowed := strings.Contains(body, `"result"`)
			if want := slices.Contains(tt.allowed, what); allowed != want {
				t.Errorf("%s: %s: allowed %t, want %t: %s", name, what, allowed, want, body)
			} else if !want && !strings.Contains(body, "denied by policy: no rule permits it") {
				t.Errorf("%s: %s: the reason is missing: %s", name, what, body)
			}
		}
	}
	for name, tt := range map[string]struct {
		q    itemUse
		want string
	}{
		"a rule about an argument": {
			itemUse{"tools/call", "a_run", `"name":"a_run","arguments":{"mode":"danger"}`}, "rule no-danger",
		},
		"a rule about a URI": {itemUse{"resources/read", "a://item/9", `"uri":"a://item/9"`}, "rule not-9"},
		"an encoded URI":     {itemUse{"resources/read", "a://item/%39", `"uri":"a://item/%39"`}, "rule not-9"},
		"an unlisted URI":    {itemUse{"resources/read", "z://x", `"uri":"z://x"`}, "no rule permits it"},
		"an unknown tool":    {itemUse{"tools/call", "c_rum", `"name":"c_rum"`}, `unknown tool \"c_rum\""`},
		"an unknown method":  {itemUse{"company/secret", "", ""}, "-32601"},
	} {
		if body := tt.q.post(h, "ann"); !strings.Contains(body, tt.want) {
			t.Errorf("%s: %s, want %q", name, body, tt.want)
		}
	}
}

// listed returns the names in the list that a method returns to a caller.
func listed(h http.Handler, who, method string) string {
	var answer struct {
		Result struct {
			Tools, Prompts, Resources []struct{ Name string }
			ResourceTemplates         []struct{ Name string }
			CacheScope                string
		}
	}
	_ = json.Unmarshal([]byte(itemUse{method, "", ""}.post(h, who)), &answer)
	r := answer.Result
	var names []string
	for _, list := range [][]struct{ Name string }{r.Tools, r.Prompts, r.Resources, r.ResourceTemplates} {
		for _, item := range list {
			names = append(names, item.Name)
		}
	}
	return strings.Join(names, " ") + " " + r.CacheScope
}

func TestPolicyLists(t *testing.T) {
	h := companyHandler(t, &serve.Options{})
	for range 2 { // the second time they are encoded already
		for _, tt := range []struct{ who, method, want string }{
			{"ann", "tools/list", "a_run private"},
			{"ann", "prompts/list", "a_ask b_ask private"},
			{"ann", "resources/list", "a b private"},
			{"ann", "resources/templates/list", "a b private"},
			{"bob", "tools/list", "c_run private"},
			{"eve", "tools/list", " private"},
		} {
			if got := listed(h, tt.who, tt.method); got != tt.want {
				t.Errorf("%s of %s = %q, want %q", tt.method, tt.who, got, tt.want)
			}
		}
	}
	for who, want := range map[string]string{"ann": `"result"`, "eve": "denied by policy"} {
		if body := (itemUse{"server/discover", "", ""}).post(h, who); !strings.Contains(body, want) ||
			strings.Contains(body, "all servers") {
			t.Errorf("server/discover of %s: %s", who, body)
		}
	}
}

// TestPolicyNeverAnothersItems: random rules, callers and requests, at once. No caller ever
// gets an item that its own rules do not permit, also while the rules are replaced by equal
// ones.
func TestPolicyNeverAnothersItems(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f"}
	random := rand.New(rand.NewPCG(1, 2))
	may := make(map[string]map[string]bool)
	var text strings.Builder
	var tokens []serve.Token
	for i := range 12 {
		who := fmt.Sprintf("u%02d", i)
		may[who] = make(map[string]bool)
		tokens = append(tokens, serve.Token{Name: who, Token: "token-of-" + who + "-0000"})
		for _, s := range names {
			if random.IntN(2) == 0 {
				may[who][s] = true
				fmt.Fprintf(&text, "permit (principal == User::%q, action, resource in Server::%q);\n", who, s)
			}
		}
	}
	v, err := serve.NewTokens(tokens...)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "p.cedar")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := serve.OpenPolicy(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := &serve.Options{Auth: &serve.Auth{Verifiers: []serve.Verifier{v}}}
	o.Policy = p
	h := serve.NewHandler(company{servers: names}, o)
	var all sync.WaitGroup
	for who, own := range may {
		all.Go(func() {
			for range 30 {
				for _, method := range []string{"tools/list", "prompts/list", "resources/list"} {
					for _, name := range strings.Fields(listed(h, who, method)) {
						if s, _, _ := strings.Cut(name, "_"); name != "private" && !own[s] {
							t.Errorf("%s sees %s in %s", who, name, method)
						}
					}
				}
				for _, s := range names {
					body := asks(s)["call"].post(h, who)
					if got := strings.Contains(body, `"result"`); got != own[s] {
						t.Errorf("%s calls %s: %t, want %t: %s", who, s, got, own[s], body)
					}
				}
			}
		})
	}
	all.Wait()
}

func TestPolicyReload(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	path := filepath.Join(t.TempDir(), "p.cedar")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(companyRules)
	var log bytes.Buffer
	p, err := serve.OpenPolicy(path, &serve.PolicyOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	o := &serve.Options{}
	o.Policy = p
	h := companyHandler(t, o)
	// The file is inspected at most once a second.
	wait := func(want string) string {
		got := ""
		for range 60 {
			if got = listed(h, "ann", "tools/list"); got == want {
				return got
			}
			time.Sleep(50 * time.Millisecond)
		}
		return got
	}
	write("permit (principal, action, resource) when { resource.typo };")
	for range 60 {
		listed(h, "ann", "tools/list")
		if strings.Contains(log.String(), "keeping the previous rules") {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if got := wait("a_run private"); got != "a_run private" || !strings.Contains(log.String(), "keeping the previous") {
		t.Errorf("after invalid rules: %q, log %s", got, &log)
	}
	write(`permit (principal, action, resource in Server::"b");`)
	if got := wait("b_run private"); got != "b_run private" {
		t.Errorf("after new rules: %q", got)
	}
}

// TestPolicyEverySurface: the same rules on stdio and WebSocket.
func TestPolicyEverySurface(t *testing.T) {
	start := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	requests := []string{start, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a_run"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"c_run"}}`,
		`{"jsonrpc":"2.0","id":5,"method":"resources/subscribe","params":{"uri":"c://one"}}`,
	}
	check := func(surface string, answers map[string]string) {
		t.Helper()
		for id, want := range map[string]string{
			"2": "a_run", "3": "ran a_run", "4": "no rule permits it", "5": "no rule permits it",
		} {
			if !strings.Contains(answers[id], want) || id == "2" && strings.Contains(answers[id], "c_run") {
				t.Errorf("%s: request %s: %s, want %q", surface, id, answers[id], want)
			}
		}
	}
	answers := make(map[string]string)
	note := func(line []byte) {
		var m struct{ ID json.RawMessage }
		if json.Unmarshal(line, &m) == nil && m.ID != nil {
			answers[string(m.ID)] = string(line)
		}
	}
	var out bytes.Buffer
	o := &serve.Options{}
	o.Policy = policyOf(t, companyRules, nil)
	ctx := mcp.WithPrincipal(t.Context(), &mcp.Principal{Name: "ann"})
	in := io.Reader(strings.NewReader(strings.Join(requests, "\n") + "\n"))
	if err := serve.Stdio(ctx, company{servers: []string{"a", "c"}}, in, &out, o); err != nil {
		t.Fatal(err)
	}
	for scan := bufio.NewScanner(&out); scan.Scan(); {
		note(scan.Bytes())
	}
	check("stdio", answers)

	clear(answers)
	s := httptest.NewServer(companyHandler(t, &serve.Options{}))
	defer s.Close()
	c, err := ws.Dial(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/ws",
		&ws.DialOptions{Token: "token-of-ann-0000"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, text := range requests {
		if err := c.WriteMessage([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, `"id"`) {
			continue
		}
		answer, err := c.ReadMessage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		note(answer)
	}
	check("WebSocket", answers)
}

// TestPolicyReplay: the log has what rules about callers read, so that the same rules decide the
// requests in it as they did.
func TestPolicyReplay(t *testing.T) {
	var out bytes.Buffer
	audit, err := serve.NewAudit(&out, nil)
	if err != nil {
		t.Fatal(err)
	}
	const rules = `permit (principal in Client::"app", action, resource in Server::"a");
permit (principal, action, resource in Server::"b") when { principal.tenant == "t1" };
permit (principal, action, resource in Server::"c")
when { principal.hasTag("department") && principal.getTag("department").contains("finance") };`
	key := ecKey(t, "key")
	o := &serve.Options{Auth: &serve.Auth{Verifiers: []serve.Verifier{
		newIssuer(key).verifier(t, func(o *serve.JWTOptions) {
			o.Claims.Tenant = "tid"
			o.Claims.Other = map[string][]string{"department": {"dept"}}
		}),
	}}}
	o.Audit = audit
	o.Policy = policyOf(t, rules, nil)
	h := serve.NewHandler(company{servers: []string{"a", "b", "c"}}, o)
	for _, claims := range []claimSet{
		{"client_id": "app"}, {"client_id": "x", "tid": "t1", "mail": "ann@example.com"},
		{"client_id": "x", "dept": []string{"sales", "finance"}},
	} {
		token := signed(t, jose.ES256, key, goodClaims(claims))
		for _, tool := range []string{"a_run", "b_run", "c_run"} {
			exchange(h, "POST", "/mcp", toolCall(tool), "Authorization", "Bearer "+token)
		}
	}
	if err := audit.Close(); err != nil {
		t.Fatal(err)
	}
	set, err := policy.Parse("p.cedar", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, `"claims":{"department":["sales","finance"]}`) ||
		strings.Contains(text, "mail") || strings.Contains(text, "ann@example.com") || strings.Contains(text, "incomplete") {
		t.Errorf("the log has other claims than the mapped ones:\n%s", text)
	}
	found, err := set.Replay(&out)
	if err != nil || found.Lines != 9 || len(found.Changed) > 0 || found.Open > 0 {
		t.Errorf("Replay = %+v, %v, want 9 lines and no difference", found, err)
	}
}

// TestPolicyAuditClaims: claims are bounded in number and bytes, and a line that lacks some says
// so, which a replay counts.
func TestPolicyAuditClaims(t *testing.T) {
	const rules = `permit (principal, action, resource);`
	long := strings.Repeat("x", 2000)
	many := map[string][]string{}
	for i := range 20 {
		many[fmt.Sprintf("c%02d", i)] = []string{"v"}
	}
	large := map[string][]string{"a": slices.Repeat([]string{long}, 32), "b": slices.Repeat([]string{long}, 32)}
	for name, tt := range map[string]struct {
		claims     map[string][]string
		has, lacks string
		cut        bool
	}{
		"some": {map[string][]string{"b": {"2", "\n"}, "a": {}}, `"claims":{"a":[],"b":["2","\n"]}`,
			"incomplete", false},
		"many":       {many, `"c15":["v"]}`, "c16", true},
		"long value": {map[string][]string{"a": {long}}, `"a":["` + long[:128] + `"]}`, long[:129], true},
		"too large":  {large, `"claims":{}`, long[:129], true},
		"values": {map[string][]string{"a": slices.Repeat([]string{"v"}, 40)}, strings.Repeat(`"v",`, 31) + `"v"]`,
			strings.Repeat(`"v",`, 32), true},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			audit, err := serve.NewAudit(&out, nil)
			if err != nil {
				t.Fatal(err)
			}
			ann := oneCaller{&mcp.Principal{Name: "ann", Claims: tt.claims}}
			o := &serve.Options{Auth: &serve.Auth{Verifiers: []serve.Verifier{ann}}}
			o.Audit = audit
			o.Policy = policyOf(t, rules, nil)
			h := serve.NewHandler(company{servers: []string{"a"}}, o)
			exchange(h, "POST", "/mcp", toolCall("a_run"), "Authorization", "Bearer t")
			if err := audit.Close(); err != nil {
				t.Fatal(err)
			}
			text := out.String()
			if !strings.Contains(text, tt.has) || strings.Contains(text, tt.lacks) ||
				strings.Contains(text, `"incomplete":true`) != tt.cut || len(text) > 6000 {
				t.Errorf("log of %d bytes, want %s, not %s, incomplete %v:\n%s", len(text), tt.has, tt.lacks, tt.cut, text)
			}
			set, err := policy.Parse("p", []byte(rules))
			if err != nil {
				t.Fatal(err)
			}
			found, err := set.Replay(&out)
			if err != nil || found.Lines != 1 || found.Open > 0 != tt.cut {
				t.Errorf("Replay = %+v, %v, want one line, open %v", found, err, tt.cut)
			}
		})
	}
}

// TestPolicyAuditOfLongItem: a line that lacks the end of the item says so without a token, too.
func TestPolicyAuditOfLongItem(t *testing.T) {
	var out bytes.Buffer
	audit, err := serve.NewAudit(&out, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := strings.Repeat("s", 600)
	o := &serve.Options{}
	o.Policy = policyOf(t, `permit (principal, action, resource);`, nil)
	o.Audit = audit
	exchange(serve.NewHandler(company{servers: []string{server}}, o), "POST", "/mcp", toolCall(server+"_run"))
	if err := audit.Close(); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, `"item":"sss`) || !strings.Contains(text, `"incomplete":true`) {
		t.Errorf("the log is %s, want an incomplete line", text)
	}
}

// oneCaller is a [serve.Verifier] for which every token is one caller's.
type oneCaller struct{ p *mcp.Principal }

func (c oneCaller) Verify(context.Context, string) (*mcp.Principal, error) { return c.p, nil }

// TestPolicyAudit: each line has the rule that decided and what it decided about.
func TestPolicyAudit(t *testing.T) {
	var out bytes.Buffer
	audit, err := serve.NewAudit(&out, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := &serve.Options{}
	o.Audit = audit
	h := companyHandler(t, o)
	asks("a")["call"].post(h, "ann")
	asks("c")["call"].post(h, "ann")
	itemUse{"tools/call", "a_run", `"name":"a_run","arguments":{"mode":"danger"}`}.post(h, "ann")
	if err := audit.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"item":"a/run","principal":"ann"`, `"outcome":"ok","rule":"ann-a"`,
		`"item":"c/run"`, `"rule":"default"`, `"rule":"no-danger"`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the audit log lacks %s:\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "danger\":") || strings.Contains(out.String(), `"mode"`) {
		t.Errorf("the audit log has arguments:\n%s", &out)
	}
}

// TestPolicyFiles: files of a Source would pass the rules by, so they are not served.
func TestPolicyFiles(t *testing.T) {
	o := &serve.Options{Auth: companyTokens(t)}
	o.Policy = policyOf(t, companyRules, nil)
	h := serve.NewHandler(tools{}, o)
	w := exchange(h, http.MethodGet, "/look.json", "", "Authorization", "Bearer token-of-ann-0000")
	if w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "file") {
		t.Errorf("a file: %d %s", w.Code, w.Body)
	}
}

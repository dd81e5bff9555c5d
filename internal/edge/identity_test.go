package edge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/search"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// The tests in this file compare the endpoint with the Go server, byte for byte, in real
// runtimes. scripts/edge sets the variables that name them; without, the tests are skipped.
const (
	nodeVariable    = "SLIPWAY_EDGE_NODE"
	denoVariable    = "SLIPWAY_EDGE_DENO"
	workerdVariable = "SLIPWAY_EDGE_WORKERD"
	// sitesVariable lists additional inputs, such as folders of documents.
	sitesVariable = "SLIPWAY_EDGE_SITES"
)

// builtSite is a site to compare, below a published folder.
type builtSite struct {
	name, project, language string
	languages               []string
	site                    *staticmcp.Site
	server                  http.Handler
}

// inputs are the sites of the repository: documents, tables with an API, prompts, templates and
// resources, documents with versions and languages, and documents with synonyms of their owner.
var inputs = []string{
	"../../docs", "../../examples/atlas", "../../examples/http-reference-source", "testdata/editions",
	"testdata/synonyms",
}

// buildSites builds every input.
func buildSites(t *testing.T) []*builtSite {
	t.Helper()
	all := slices.Clone(inputs)
	if more := os.Getenv(sitesVariable); more != "" {
		all = append(all, filepath.SplitList(more)...)
	}
	all = append(all, inputs[0]) // also in the standard's layout
	var list []*builtSite
	for i, input := range all {
		b := &builtSite{
			name:    fmt.Sprintf("%d-%s", i, filepath.Base(input)),
			project: t.TempDir(),
		}
		layout := sitebuild.Packed
		if i == len(all)-1 {
			layout = sitebuild.OneFile
		}
		in, err := sitebuild.Open(input, nil)
		if err != nil {
			t.Fatal(err)
		}
		site, err := in.Site(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(b.project, "public", "mcp")
		if _, err := sitebuild.Write(t.Context(), site, sitebuild.Dir(dir), &sitebuild.Options{Layout: layout}); err != nil {
			t.Fatal(err)
		}
		// Over HTTP, the Go implementation has the same facts: it cannot list files.
		web := httptest.NewServer(http.FileServer(http.Dir(dir)))
		t.Cleanup(web.Close)
		client := staticmcp.WebOptions{HTTPClient: web.Client()}
		b.site, err = staticmcp.OpenURL(t.Context(), web.URL, &staticmcp.Options{WebOptions: client})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.site.Close() })
		read := func(path string) ([]byte, error) { return b.site.ReadFile(t.Context(), path) }
		if b.language, err = Language(read); err != nil {
			t.Fatal(err)
		}
		if b.languages, err = OtherLanguages(read); err != nil {
			t.Fatal(err)
		}
		// Without its watcher: a deployment does not change.
		b.server = server.New(struct{ mcp.Source }{b.site}, nil).HTTPHandler(&server.HTTPOptions{NoSessions: true})
		list = append(list, b)
	}
	return list
}

// probe is one request of the comparison.
type probe struct {
	headers map[string]string
	body    string
}

const acceptBoth = "application/json, text/event-stream"

// legacy returns a request of 2025-06-18.
func legacy(body string) probe {
	return probe{map[string]string{"Mcp-Protocol-Version": "2025-06-18"}, body}
}

// modern returns a request of 2026-07-28.
func modern(method, name string, params map[string]any) probe {
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "compare", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}
	headers := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
	if name != "" {
		headers["Mcp-Name"] = "=?base64?" + encodeBase64(name) + "?="
	}
	return probe{headers, call(method, params)}
}

func encodeBase64(text string) string {
	raw, _ := json.Marshal([]byte(text))
	return strings.Trim(string(raw), `"`)
}

func call(method string, params map[string]any) string {
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// probes returns the requests for a site: every stored answer, each also with a value that
// has none, the lists, searches, and messages with mistakes.
func (b *builtSite) probes(t *testing.T) []probe {
	t.Helper()
	questions, err := b.site.Questions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list []probe
	for i, q := range questions {
		method, name := "tools/call", q.Tool
		params := map[string]any{"name": name}
		switch {
		case q.URI != "":
			method, name = "resources/read", q.URI
			params = map[string]any{"uri": q.URI}
		case q.Prompt != "":
			method, name = "prompts/get", q.Prompt
			params = map[string]any{"name": name}
		}
		if q.Arguments != nil {
			params["arguments"] = q.Arguments
		}
		list = append(list, legacy(call(method, params)))
		if i%5 == 0 {
			list = append(list, modern(method, name, params))
			list = append(list, missing(method, name, q.Arguments))
		}
	}
	list = append(list, b.searches(t)...)
	for _, method := range []string{"tools/list", "resources/list", "resources/templates/list", "prompts/list"} {
		list = append(list, legacy(call(method, map[string]any{})), modern(method, "", map[string]any{}),
			legacy(call(method, map[string]any{"cursor": "AQHoB5nF"})))
	}
	list = append(list, modern("server/discover", "", map[string]any{}))
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1999-01-01"} {
		list = append(list, legacy(call("initialize", map[string]any{
			"protocolVersion": version, "capabilities": map[string]any{},
			"clientInfo": map[string]any{"name": "compare", "version": "1"},
		})))
	}
	return append(list, mistakes()...)
}

// missing returns a call with a value that has no answer.
func missing(method, name string, arguments json.RawMessage) probe {
	changed := map[string]any{}
	var given map[string]any
	_ = json.Unmarshal(arguments, &given)
	for key, value := range given {
		changed[key] = value
		if text, ok := value.(string); ok {
			changed[key] = text + "x"
		}
	}
	if method == "resources/read" {
		return legacy(call(method, map[string]any{"uri": name + "x"}))
	}
	return legacy(call(method, map[string]any{"name": name, "arguments": changed}))
}

// searches returns calls of the tools that search, with phrases from the site.
func (b *builtSite) searches(t *testing.T) []probe {
	t.Helper()
	cat, err := b.site.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	phrases := []string{"how do I install it", "WHAT is the Limit of a File's size?", "zzzqqq", "", "the", "a of",
		"instal servr confg", "C++ C# F#", "über straße naïve ÉCOLE", "日本語の検索",
		"maxSize no-unused-vars HTTPServer URLs",
		"mcp-server.mjs foo/bar_baz.qux@v1", "don't user's l'eau", strings.Repeat("very long query ", 100),
		"\u0130stanbul ΣΑΣ 𐐀𐐁",
		// words that no page has, with synonyms; words that count less; one of them that is corrected
		"make another photo of the portrait thumbnail", "how do I purge everything again",
		"invoice mutex verifiable", "elsewher nothin", "img photo anothr valve",
		// synonyms of several words, added for a word and found in the query
		"sso valve", "saml single sign", "sluice and water gate", "watergate valve"}
	for i := range cat.Resources {
		if i%3 == 0 {
			phrases = append(phrases, cat.Resources[i].Name+" "+cat.Resources[i].Description)
		}
	}
	var list []probe
	for i := range cat.Tools {
		tool := &cat.Tools[i]
		if !bytes.Contains(tool.Meta, []byte(staticmcp.MetaSearch)) {
			continue
		}
		layout := staticmcp.NewToolLayout(tool.Name, tool.InputSchema)
		for _, phrase := range phrases {
			list = append(list, legacy(call("tools/call", map[string]any{
				"name": tool.Name, "arguments": map[string]string{layout.Arguments()[0].Name: phrase},
			})))
		}
		if len(layout.Arguments()) == 1 {
			continue
		}
		for _, options := range []map[string]any{
			{"queries": []string{"limit of a file", "maximum size", "how large"}}, {"limit": 2}, {"limit": 3, "offset": 4},
			{"limit": 0}, {"offset": 500}, {"section": "reference"}, {"section": "/reference/"}, {"section": "refrence"},
			{"section": "zzz"}, {"queries": []any{7}}, {"limit": 2.0}, {"limit": "2"}, {"queries": []string{}},
			{"version": "v1"}, {"version": "v2"}, {"version": "v3"}, {"language": "de", "q": "haus"}, {"language": "en"},
			{"version": "v1", "language": "en", "limit": 1}, {"version": "v1", "language": "de"},
			{"version": "v2", "language": "de", "q": "Abhängigkeit"}, {"language": nil, "version": "v1", "q": "machines"},
		} {
			phrase, ok := options["q"]
			if !ok {
				phrase = "file size limit installation"
			}
			delete(options, "q")
			options[layout.Arguments()[0].Name] = phrase
			list = append(list, legacy(call("tools/call", map[string]any{"name": tool.Name, "arguments": options})))
		}
	}
	return list
}

// mistakes returns messages that break a rule.
func mistakes() []probe {
	var list []probe
	for _, body := range []string{
		``, ` `, `{`, `[]`, `[1]`, `null`, `"x"`, `{}`, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"Method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":7}`, `{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`,
		`{"jsonrpc":"2.0","result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/x"}`,
		`{"jsonrpc":"2.0","id":18446744073709551617,"method":"ping"}`, `{"jsonrpc":"2.0","id":"\u00e9\n","method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"nope"}`, `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"serch"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"search"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","name":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":[]}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":7}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":null}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"quer":"x"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"x","query":"y"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_pages","arguments":{"page":99}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_pages","arguments":{"page":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_pages","arguments":{"page":1.0}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_pages","arguments":{"page":"1"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_page","arguments":{"path":"/README.md"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_page","arguments":{"path":"docs://search#x"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_page","arguments":{"path":""}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":""}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"docs://serch"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x","arguments":{"a":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/x"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"y"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":7}}`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"x\":\"\xff\"}",
		"\xef\xbb\xbf{}", `{"jsonrpc":"2.0","id":1,"method":"a\q"}`, `{"a":01}`, `{"a":tru}`, `{"a":"` + "\x01" + `"}`,
		strings.Repeat("[", 600), `{"jsonrpc":"2.0","id":1,"method":"ping"} x`,
		`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel"}`,
	} {
		list = append(list, legacy(body), probe{map[string]string{"Mcp-Protocol-Version": "2025-11-25"}, body},
			probe{map[string]string{"Mcp-Protocol-Version": "2025-03-26"}, body},
			probe{nil, body}, probe{map[string]string{"Mcp-Protocol-Version": "2026-07-28"}, body})
	}
	list = append(list,
		probe{map[string]string{"Content-Type": "text/plain"}, `{}`}, probe{map[string]string{"Accept": "image/png"}, `{}`},
		probe{map[string]string{"Mcp-Protocol-Version": "2030-01-01"}, `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		probe{map[string]string{"Mcp-Protocol-Version": "x"}, `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		probe{nil, `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"x":1},` +
			`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}]`},
		probe{nil, `[{"jsonrpc":"2.0","method":"notifications/x"}]`},
		probe{map[string]string{"Accept": "text/event-stream"}, `{"jsonrpc":"2.0","id":1,"method":"ping"}`})
	wrong := modern("tools/call", "other", map[string]any{"name": "search", "arguments": map[string]any{"query": "x"}})
	list = append(list, wrong)
	for _, header := range []string{"Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version"} {
		without := modern("resources/read", "docs://x", map[string]any{"uri": "docs://x"})
		delete(without.headers, header)
		list = append(list, without)
	}
	listen := modern("subscriptions/listen", "", map[string]any{"notifications": 7})
	return append(list, listen)
}

// reply is a response as far as it is compared.
type reply struct {
	status int
	kind   string
	body   string
}

func (p probe) request(url string) *http.Request {
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(p.body))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", acceptBoth)
	for key, value := range p.headers {
		r.Header.Set(key, value)
	}
	return r
}

// ask sends a probe to the Go server.
func (b *builtSite) ask(p probe) reply {
	w := httptest.NewRecorder()
	r := p.request("http://127.0.0.1/mcp")
	r.RequestURI = "/mcp"
	b.server.ServeHTTP(w, r)
	return reply{w.Code, w.Header().Get("Content-Type"), w.Body.String()}
}

// askEndpoint sends a probe to an endpoint.
func askEndpoint(url string, p probe) (reply, error) {
	response, err := http.DefaultClient.Do(p.request(url))
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, response.Header.Get("Content-Type"), string(body)}, err
}

// runtimes start an endpoint of a project on a port.
var runtimes = []struct {
	name, variable, host string
	command              func(binary, project string, port int) *exec.Cmd
}{
	{"node", nodeVariable, "node", func(binary, project string, port int) *exec.Cmd {
		return exec.Command(binary, filepath.Join(project, "mcp-server.mjs"), fmt.Sprint(port))
	}},
	{"deno", denoVariable, "deno", func(binary, project string, port int) *exec.Cmd {
		return exec.Command(binary, "run", "--no-remote", "--allow-net=127.0.0.1,0.0.0.0", "--allow-read="+project,
			filepath.Join(project, "mcp.js"), fmt.Sprint(port))
	}},
	{"workerd", workerdVariable, "cloudflare", func(binary, project string, port int) *exec.Cmd {
		config := fmt.Sprintf(workerdConfig, filepath.Join(project, "public"), port)
		name := filepath.Join(project, "workerd.capnp")
		if err := os.WriteFile(name, []byte(config), 0o600); err != nil {
			panic(err)
		}
		return exec.Command(binary, "serve", name)
	}},
}

const workerdConfig = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "mcp.js", esModule = embed "mcp.js")],
      compatibilityDate = "2026-07-01",
      bindings = [(name = "ASSETS", service = "assets")],
    )),
    (name = "assets", disk = (path = %q, allowDotfiles = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:%d", http = (), service = "main")],
);
`

// TestIdentity compares every answer of every site in every runtime.
func TestIdentity(t *testing.T) {
	started := false
	for _, r := range runtimes {
		binary := os.Getenv(r.variable)
		if binary == "" {
			continue
		}
		started = true
		t.Run(r.name, func(t *testing.T) {
			for _, b := range buildSites(t) {
				if _, err := Write(&Options{
					Host:      r.host,
					Published: filepath.Join(b.project, "public"),
					Site:      "mcp",
					Name:      b.name,
					Language:  b.language,
					Languages: b.languages,
				}); err != nil {
					t.Fatal(err)
				}
				port := freePort(t)
				start(t, r.command(binary, b.project, port), port)
				url := fmt.Sprintf("http://127.0.0.1:%d/mcp", port)
				b.compare(t, url)
				b.browse(t, url)
			}
		})
	}
	if !started {
		t.Skip("scripts/edge names the runtimes")
	}
}

// TestServedTypes checks the types of files that the programs for servers send themselves.
func TestServedTypes(t *testing.T) {
	for _, r := range runtimes {
		binary := os.Getenv(r.variable)
		if binary == "" || r.host != "node" && r.host != "deno" {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			project := t.TempDir()
			types := map[string]string{
				"mcp/mcp.json":    "application/json; charset=utf-8",
				"mcp/server-card": "application/mcp-server-card+json",
				"mcp/index.html":  "text/html; charset=utf-8",
				"mcp/data":        "application/octet-stream",
			}
			for name := range types {
				file := filepath.Join(project, "public", name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("{}"), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Write(&Options{Host: r.host, Published: filepath.Join(project, "public"), Site: "mcp"}); err != nil {
				t.Fatal(err)
			}
			port := freePort(t)
			start(t, r.command(binary, project, port), port)
			for name, want := range types {
				response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/%s", port, name))
				if err != nil {
					t.Fatal(err)
				}
				response.Body.Close()
				if got := response.Header.Get("Content-Type"); got != want {
					t.Errorf("%s: Content-Type = %q, want %q", name, got, want)
				}
			}
		})
	}
}

// browse opens the endpoint as a browser does, and as a client that expects a stream.
func (b *builtSite) browse(t *testing.T, url string) {
	t.Helper()
	for accept, want := range map[string]string{
		"text/html,application/xhtml+xml": "200 <!doctype html>", "text/event-stream": `405 {"jsonrpc":"2.0","error"`,
	} {
		r, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		got := fmt.Sprintf("%d %s", response.StatusCode, body)
		if err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: GET with Accept %s: %.100s, %v, want %s", b.name, accept, got, err, want)
		}
		if accept == "text/event-stream" {
			continue
		}
		// The page is the one that is also a file.
		cat, err := b.site.Catalog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		address, err := neturl.Parse(url + "/")
		if err != nil {
			t.Fatal(err)
		}
		file := (&WebOptions{Endpoint: "/mcp", Server: cat.Server}).page(address)
		if want := strings.TrimPrefix(string(file), HTMLMarker+"\n"); string(body) != want {
			t.Errorf("%s: the page is %s, want %s", b.name, body, want)
		}
	}
}

// lasting matches how long a client may cache a result, which decreases with time.
var lasting = regexp.MustCompile(`"ttlMs":\d+`)

// compare sends all probes of a site to the Go server and to the endpoint.
func (b *builtSite) compare(t *testing.T, url string) {
	t.Helper()
	different := 0
	list := b.probes(t)
	for _, p := range list {
		want := b.ask(p)
		got, err := askEndpoint(url, p)
		if err != nil {
			t.Fatal(err)
		}
		got.body = lasting.ReplaceAllString(got.body, `"ttlMs":0`)
		want.body = lasting.ReplaceAllString(want.body, `"ttlMs":0`)
		if got == want {
			continue
		}
		if different++; different <= 12 {
			t.Errorf("%s: %v %.300q\n got %d %s %s\nwant %d %s %s", b.name, p.headers, p.body,
				got.status, got.kind, excerpt(got.body, want.body), want.status, want.kind, excerpt(want.body, got.body))
		}
	}
	t.Logf("%s: %d of %d answers differ", b.name, different, len(list))
}

// excerpt returns the part of a text around the first difference from another.
func excerpt(text, other string) string {
	i := 0
	for i < min(len(text), len(other)) && text[i] == other[i] {
		i++
	}
	return fmt.Sprintf("%q at byte %d", text[max(0, i-60):min(len(text), i+120)], i)
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// start starts a runtime, waits until it answers, and stops it at the end of the test.
func start(t *testing.T, cmd *exec.Cmd, port int) {
	t.Helper()
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %.2000s", cmd.Path, log.String())
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			connection.Close()
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%s does not answer: %s", cmd.Path, log.String())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestNamesAndWords compares all vectors of the file name encoder, and the terms of texts in
// every language.
func TestNamesAndWords(t *testing.T) {
	node := os.Getenv(nodeVariable)
	if node == "" {
		t.Skip("scripts/edge names the runtimes")
	}
	vectors := nameVectors(t)
	for _, language := range append(languages(t), "") {
		questions := wordQuestions(t, language)
		if language == "en" {
			questions = append(questions, vectors...)
		}
		answers := askModule(t, node, language, questions)
		different := 0
		for i, q := range questions {
			if answers[i] != q.want {
				if different++; different <= 5 {
					t.Errorf("%s: %.200q: got %.300s, want %.300s", language, q.text, answers[i], q.want)
				}
			}
		}
		t.Logf("%q: %d of %d differ", language, different, len(questions))
	}
}

type question struct {
	// kind is "name" or "terms".
	kind, text, want string
}

// nameVectors returns every code point, and the vectors of long and mixed names.
func nameVectors(t *testing.T) []question {
	t.Helper()
	var list []question
	ask := func(text string) {
		list = append(list, question{"name", text, string(quoted(staticmcp.EncodeName(text)))})
	}
	for r := rune(1); r <= 0x10ffff; r++ {
		if r < 0xd800 || r > 0xdfff {
			ask(string(r))
		}
	}
	file, err := os.Open("../../internal/site/testdata/encode-names.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v struct {
			In    string `json:"in"`
			Times *int   `json:"times"`
		}
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if v.Times != nil {
			v.In = strings.Repeat(v.In, *v.Times)
		}
		ask(v.In)
	}
	return list
}

// languages returns the codes of the languages that have a stemmer.
func languages(t *testing.T) []string {
	t.Helper()
	entries, err := scripts.ReadDir("js/stems")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, strings.TrimSuffix(e.Name(), ".js"))
	}
	return list
}

// wordQuestions returns texts with the words of a language, and words with every suffix of its
// stemmer.
func wordQuestions(t *testing.T, language string) []question {
	t.Helper()
	texts := []string{"HTTPServer URLs maxSize don't l'eau C++ F# user's",
		"Straße école ÉCOLE naïve Ελλάδα русский",
		"日本語 한국어 ไทย ab日本", "foo-bar_baz.qux/x@v1 a.b.c.d.e.f", strings.Repeat("x", 70), "",
		"ΣΑΣ İstanbul ǅ ﬁ 𐐀𐐁 e\u0301"}
	if text, err := scripts.ReadFile("js/stems/" + baseLanguage(language) + ".js"); err == nil {
		fields := strings.FieldsFunc(string(text), func(r rune) bool { return strings.ContainsRune("\"[]{}(),;:= \n", r) })
		stems := []string{"", "nation", "work", "ab", "organ", "beauty", "herz", "chant", "книг", "ev"}
		for _, field := range fields {
			for _, stem := range stems {
				texts = append(texts, stem+field)
			}
		}
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.Split(string(text), "\n")...)
	}
	var list []question
	for _, text := range texts {
		text = strings.ToValidUTF8(text, "")
		want, err := json.Marshal(search.Terms(language, text))
		if err != nil {
			t.Fatal(err)
		}
		if string(want) == "null" {
			want = []byte("[]")
		}
		var compact bytes.Buffer
		enc := json.NewEncoder(&compact)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(json.RawMessage(want))
		list = append(list, question{"terms", text, strings.TrimSpace(unescaped(want))})
	}
	return list
}

// unescaped returns JSON text without the escapes that only Go's encoder writes.
func unescaped(raw []byte) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(raw))
}

// askModule runs the module of a language with a list of questions.
func askModule(t *testing.T, node, language string, questions []question) []string {
	t.Helper()
	text, err := module(language, nil, &config{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "probe.mjs")
	text = append(text, `
import { readFileSync, writeSync } from 'node:fs';
const analyzer = newAnalyzer(LANGUAGE);
const shown = ({ term, word, stop, compound }) =>
  ({ term, word, ...(stop && { stop }), ...(compound && { compound }) });
const ask = ([kind, text]) => (kind === 'name' ? encodeName(text) : tokens(analyzer, text).map(shown));
const questions = JSON.parse(readFileSync(process.argv[2], 'utf8'));
writeSync(1, JSON.stringify(questions.map((q) => JSON.stringify(ask(q)))));
`...)
	pairs := make([][2]string, len(questions))
	for i, q := range questions {
		pairs[i] = [2]string{q.kind, q.text}
	}
	raw, err := json.Marshal(pairs)
	if err == nil {
		err = os.WriteFile(name, text, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "questions.json"), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, name, filepath.Join(dir, "questions.json"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var answers []string
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != len(questions) {
		t.Fatalf("%d answers to %d questions: %v", len(answers), len(questions), err)
	}
	return answers
}

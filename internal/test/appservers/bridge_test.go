package appservers_test

import (
	"cmp"
	_ "embed" // for the pages
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/internal/chromium"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
)

var (
	//go:embed bridge/host.html
	bridgePage string
	//go:embed bridge/proxy.html
	bridgeProxy string
)

// shown is an app in a browser, in our host or in the official one.
type shown interface {
	Text() string
	WaitText(want string)
	Click(selector string)
	Eval(expression string, result any)
	EvalHost(expression string, result any)
	Messages() []mcptest.AppMessage
	WaitMessage(method string) mcptest.AppMessage
}

// bridged is an app in a host that consists of the official AppBridge and client. Its server runs
// as a process that serves HTTP, so nothing of ours is between them.
type bridged struct {
	t     *testing.T
	page  *chromium.Page
	proxy string // the origin of the frame around the app
}

// renderBridged shows an app in the official host.
func renderBridged(t *testing.T, o *official) *bridged {
	t.Helper()
	script := bundle(t)
	address := serveOfficial(t, o.name)
	proxy := httptest.NewServer(http.HandlerFunc(serveProxy))
	t.Cleanup(proxy.Close)
	b := &bridged{
		t:     t,
		proxy: strings.Replace(proxy.URL, "127.0.0.1", "localhost", 1),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", text("text/html; charset=utf-8", bridgePage))
	mux.HandleFunc("GET /host.js", text("text/javascript", script))
	mux.HandleFunc("GET /settings", func(w http.ResponseWriter, _ *http.Request) {
		arguments := o.args
		if arguments == nil {
			arguments = map[string]any{}
		}
		json.NewEncoder(w).Encode(map[string]any{
			"server":    address,
			"proxy":     b.proxy,
			"tool":      o.tool,
			"arguments": arguments,
			"context":   hostContext(),
		})
	})
	host := httptest.NewServer(mux)
	t.Cleanup(host.Close)
	var err error
	if b.page, err = chromium.Open("", 30*time.Second); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { b.page.Close() })
	if err := b.page.Navigate(host.URL); err != nil {
		t.Fatal(err)
	}
	b.await(o)
	return b
}

// hostContext is what both hosts say of themselves.
func hostContext() map[string]any {
	return map[string]any{
		"theme":                 "light",
		"locale":                "en-US",
		"platform":              "web",
		"availableDisplayModes": []string{"inline", "fullscreen"},
	}
}

// await waits until the app has the result, or for its document only.
func (b *bridged) await(o *official) {
	b.t.Helper()
	want := "sent"
	if o.unconnected {
		want = "proxy"
	}
	var state string
	err := b.page.Poll(func() error {
		err := b.page.Eval(chromium.Frame{}, `globalThis.failure ?? globalThis.phase ?? "loading"`, &state)
		if err == nil && state != want {
			err = errors.New(state)
		}
		if err == nil {
			_, err = b.document()
		}
		return err
	})
	if err != nil {
		b.t.Fatalf("the official host: %v\nconsole: %s", err, strings.Join(b.page.Console(), "\n"))
	}
}

// document returns the frame of the app's document, which has the proxy's origin and was made
// after it.
func (b *bridged) document() (chromium.Frame, error) {
	var found []chromium.Frame
	for _, f := range b.page.Frames() {
		if f.Origin == b.proxy {
			found = append(found, f)
		}
	}
	if len(found) < 2 {
		return chromium.Frame{}, errors.New("the document has not loaded")
	}
	return found[1], nil
}

func (b *bridged) Eval(expression string, result any) {
	b.t.Helper()
	document, err := b.document()
	if err == nil {
		err = b.page.Eval(document, expression, result)
	}
	if err != nil {
		b.t.Fatalf("evaluate %s: %v", expression, err)
	}
}

func (b *bridged) EvalHost(expression string, result any) {
	b.t.Helper()
	if err := b.page.Eval(chromium.Frame{}, expression, result); err != nil {
		b.t.Fatalf("evaluate %s in the page: %v", expression, err)
	}
}

func (b *bridged) Text() string {
	b.t.Helper()
	document, err := b.document()
	var text string
	if err == nil {
		text, err = b.page.Text(document)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return text
}

func (b *bridged) WaitText(want string) {
	b.t.Helper()
	err := b.page.Poll(func() error {
		if got := b.Text(); !strings.Contains(got, want) {
			return fmt.Errorf("the official host shows %q, want %q", got, want)
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bridged) Click(selector string) {
	b.t.Helper()
	err := b.page.Poll(func() error {
		document, err := b.document()
		if err == nil {
			err = b.page.Click(document, selector)
		}
		return err
	})
	if err != nil {
		b.t.Fatalf("click %s: %v", selector, err)
	}
}

func (b *bridged) Messages() []mcptest.AppMessage {
	b.t.Helper()
	var kept []struct {
		Direction string          `json:"direction"`
		Message   json.RawMessage `json:"message"`
	}
	b.EvalHost("globalThis.messages", &kept)
	all := make([]mcptest.AppMessage, len(kept))
	for i, k := range kept {
		var named struct {
			Method string `json:"method"`
		}
		json.Unmarshal(k.Message, &named)
		all[i] = mcptest.AppMessage{
			FromApp: k.Direction == "in",
			Method:  named.Method,
			Message: k.Message,
		}
	}
	return all
}

func (b *bridged) WaitMessage(method string) mcptest.AppMessage {
	b.t.Helper()
	var found mcptest.AppMessage
	err := b.page.Poll(func() error {
		all := b.Messages()
		at := slices.IndexFunc(all, func(m mcptest.AppMessage) bool { return m.FromApp && m.Method == method })
		if at < 0 {
			return errors.New("no such message")
		}
		found = all[at]
		return nil
	})
	if err != nil {
		b.t.Fatalf("the app did not send %s to the official host", method)
	}
	return found
}

// bundle returns the script of the official host.
func bundle(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(serversVariable)
	if dir == "" {
		t.Skip("needs npm packages: run scripts/apps, which installs them")
	}
	modules := filepath.Join(dir, "node_modules")
	build := exec.Command(filepath.Join(modules, ".bin/esbuild"), "bridge/host.mjs", "--bundle", "--format=esm",
		"--log-level=warning")
	build.Env = append(os.Environ(), "NODE_PATH="+modules)
	build.Stderr = os.Stderr
	script, err := build.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// serveOfficial starts an official server over HTTP, and returns its address.
func serveOfficial(t *testing.T, name string) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	server := exec.Command(node, program(name))
	server.Env = append(os.Environ(), "PORT="+strconv.Itoa(port))
	log := &strings.Builder{}
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
		if t.Failed() {
			t.Logf("server-%s: %s", name, log)
		}
	})
	address := "http://localhost:" + strconv.Itoa(port) + "/mcp"
	for range 600 {
		if resp, err := http.Get(address); err == nil {
			resp.Body.Close()
			return address
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("server-%s does not serve %s", name, address)
	return ""
}

// serveProxy serves the frame around the app with the policy that the official basic-host makes
// of the origins that the app declares.
func serveProxy(w http.ResponseWriter, r *http.Request) {
	var declared struct {
		Connect  []string `json:"connectDomains"`
		Resource []string `json:"resourceDomains"`
		Frame    []string `json:"frameDomains"`
		Base     []string `json:"baseUriDomains"`
	}
	json.Unmarshal([]byte(r.URL.Query().Get("csp")), &declared)
	join := func(origins []string) string { return strings.Join(origins, " ") }
	resources := join(declared.Resource)
	w.Header().Set("Content-Security-Policy", strings.Join([]string{
		"default-src 'self' 'unsafe-inline'",
		"script-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data: " + resources,
		"style-src 'self' 'unsafe-inline' blob: data: " + resources,
		"img-src 'self' data: blob: " + resources,
		"font-src 'self' data: blob: " + resources,
		"media-src 'self' data: blob: " + resources,
		"connect-src 'self' " + join(declared.Connect),
		"worker-src 'self' blob: " + resources,
		"frame-src " + cmp.Or(join(declared.Frame), "'none'"),
		"object-src 'none'",
		"base-uri " + cmp.Or(join(declared.Base), "'none'"),
	}, "; "))
	text("text/html; charset=utf-8", bridgeProxy)(w, r)
}

func text(contentType, content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Write([]byte(content))
	}
}

// varying are the parts of an app's text that differ between two calls: numbers, times, and names
// of this machine's load.
var varying = lazyregexp.New(`[0-9][0-9.,:]*`)

// TestOfficialHost guards that the official servers' apps behave in our host as they do in one
// that consists of the official AppBridge: the same text, the same requests and notifications, and
// the same response to an interaction.
func TestOfficialHost(t *testing.T) {
	for _, o := range servers() {
		t.Run(o.name, func(t *testing.T) {
			renderer := mcptest.AppRenderer{
				Mode:        apps.Compatible, // as lax as the official host
				Context:     hostContext(),
				Unconnected: o.unconnected,
			}
			ours := renderer.Render(t, open(t, o.name), o.tool, o.args)
			theirs := renderBridged(t, &o)
			if o.unconnected {
				requireExplanation(t, theirs)
			}
			compare(t, ours, theirs, "shows", appText)
			compare(t, ours, theirs, "received and sent at first", exchanged)
			if o.unconnected {
				return
			}
			o.use(t, theirs)
			o.use(t, ours)
			compare(t, ours, theirs, "sent in the end", kinds)
		})
	}
}

// compare waits until observe sees the same in both hosts and that has not changed for 0.6 s.
func compare(t *testing.T, ours, theirs shown, what string, observe func(shown) string) {
	t.Helper()
	var a, b, last string
	for same, tries := 0, 0; same < 3 || a != b; tries++ {
		if tries == 100 {
			t.Errorf("%s:\nin our host %s\nin the official one %s", what, a, b)
			return
		}
		time.Sleep(200 * time.Millisecond)
		a, b = observe(ours), observe(theirs)
		if same++; a+b != last {
			same, last = 0, a+b
		}
	}
	t.Logf("%s: %.200q", what, b)
}

// appText is the visible text without what varies.
func appText(app shown) string { return varying().ReplaceAllString(app.Text(), "#") }

// exchanged lists the methods of the messages between host and app in order, without those that
// say how large the app is, which depends on when it is drawn, and those that apps repeat.
func exchanged(app shown) string {
	var list []string
	for _, m := range app.Messages() {
		if m.Method == "" || strings.HasPrefix(m.Method, "ui/notifications/sandbox-") ||
			m.Method == "ui/notifications/size-changed" || m.Method == "tools/call" {
			continue
		}
		list = append(list, m.Method)
	}
	return strings.Join(list, " ")
}

// kinds lists the methods that the app has used.
func kinds(app shown) string {
	var list []string
	for _, m := range app.Messages() {
		if m.FromApp && m.Method != "" && !strings.HasPrefix(m.Method, "ui/notifications/sandbox-") {
			list = append(list, m.Method)
		}
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " ")
}

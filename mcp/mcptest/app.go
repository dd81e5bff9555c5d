package mcptest

import (
	"context"
	"crypto/rand"
	_ "embed" // for the page
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/internal/axe"
	"github.com/slipway-mcp/slipway/internal/chromium"
	"github.com/slipway-mcp/slipway/mcp"
)

//go:embed app.html
var appPage string

// AppRenderer has the settings of [RenderApp]. The zero value has its defaults.
type AppRenderer struct {
	// Mode is the content security policy; empty means [apps.Strict].
	Mode apps.Mode
	// Context is the host context: theme, locale, displayMode, and so on. Nil means inline
	// in a light theme.
	Context map[string]any
	// Result replaces the call of the tool, if not nil.
	Result *mcp.CallToolResult
	// Timeout limits each step. 0 means 30 seconds.
	Timeout time.Duration
	// Unconnected makes Render return as soon as the document is loading, for an app that does
	// not connect, such as one that cannot load a script.
	Unconnected bool
	// Fallback uses the address for browsers that do not resolve *.localhost.
	Fallback bool
}

// AppMessage is a message between the host and an app.
type AppMessage struct {
	// FromApp means that the app sent it.
	FromApp bool
	// Method is empty for answers.
	Method string
	// Message is the whole JSON-RPC message.
	Message json.RawMessage
}

// RenderedApp is an app that is shown in a browser. Its methods fail the test if the
// browser does. It is closed when the test ends.
type RenderedApp struct {
	// tb receives failures, and timeout limits each wait.
	tb      testing.TB
	timeout time.Duration
	// page is that of host, which shows the app.
	page    *chromium.Page
	host    *apps.Host
	address string // of the page
	tool    string
	open    func() // opens another view

	unconnected bool

	mu   sync.Mutex // guards view
	view *apps.View
}

// RenderApp shows the user interface of a tool in a headless Chromium, calls the tool with
// args, and returns the app once it is connected and has the result. args is anything that
// encodes to a JSON object, or nil.
//
//	app := mcptest.RenderApp(t, source, "get_weather", map[string]any{"city": "Lyon"})
//	app.WaitText("21°")
//	app.Click("#again")
//	if v := app.Violations(); len(v) > 0 {
//		t.Errorf("blocked: %+v", v)
//	}
//
// It skips the test if no Chromium is installed; SLIPWAY_CHROMIUM names another browser.
// The app is isolated as by every [apps.Host]. Use [AppRenderer] for other settings.
func RenderApp(tb testing.TB, source mcp.Source, tool string, args any) *RenderedApp {
	tb.Helper()
	var r AppRenderer
	return r.Render(tb, source, tool, args)
}

// Render is [RenderApp] with the settings of r.
func (r *AppRenderer) Render(tb testing.TB, source mcp.Source, tool string, args any) *RenderedApp {
	tb.Helper()
	path, err := chromium.Find()
	if err != nil {
		tb.Skip("RenderApp: " + err.Error())
	}
	a := &RenderedApp{
		tb:      tb,
		timeout: r.Timeout,
		host:    apps.NewHost(&apps.HostOptions{Axe: axe.Script()}),
		tool:    tool,
	}
	if a.timeout == 0 {
		a.timeout = 30 * time.Second
	}
	arguments, err := mcp.Marshal(args)
	if err != nil {
		tb.Fatalf("RenderApp: arguments of %s: %v", tool, err)
	}
	if string(arguments) == "null" { // also a nil map
		arguments = json.RawMessage(`{}`)
	}
	if arguments[0] != '{' {
		tb.Fatalf("RenderApp: arguments of %s are not an object: %.100s", tool, arguments)
	}
	a.address = a.serve(r, source, tool, arguments)
	if a.page, err = chromium.Open(path, a.timeout); err != nil {
		tb.Fatalf("RenderApp: %v", err)
	}
	tb.Cleanup(func() { a.page.Close() })
	a.unconnected = r.Unconnected
	a.show()
	return a
}

// Reload opens the app again, in the same browser and at another origin, and calls the tool
// again.
func (a *RenderedApp) Reload() {
	a.tb.Helper()
	a.open()
	a.show()
}

// show opens the page, and waits until the app has received the result.
func (a *RenderedApp) show() {
	a.tb.Helper()
	if err := a.page.Navigate(a.address); err != nil {
		a.tb.Fatalf("RenderApp: open the page: %v", err)
	}
	a.awaitResult()
}

func (a *RenderedApp) currentView() *apps.View {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.view
}

func (a *RenderedApp) setView(view *apps.View) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.view = view
	if a.page != nil {
		a.page.ForgetFrames()
	}
}

// awaitResult waits until the app is connected and has been sent the result, or for its
// document only if it need not connect.
func (a *RenderedApp) awaitResult() {
	a.tb.Helper()
	if a.unconnected {
		if err := a.page.Poll(func() error { _, err := a.document(); return err }); err != nil {
			a.tb.Fatalf("RenderApp: %v", err)
		}
		return
	}
	const sent = `globalThis.failure ?? (globalThis.messages?.some(({ direction, message }) => direction === "out" &&
		/tool-(result|cancelled)$/.test(message.method)) ? "sent" : globalThis.phase ?? "loading")`
	var state string
	ok := a.page.Poll(func() error {
		if err := a.page.Eval(chromium.Frame{}, sent, &state); err != nil {
			return err
		}
		if state != "sent" {
			return errors.New(state)
		}
		return nil
	})
	if ok == nil {
		return
	}
	a.tb.Fatalf("RenderApp: the user interface of %s did not connect: %v\nconsole: %s\nviolations: %+v",
		a.tool, ok, strings.Join(a.Console(), "\n"), a.Violations())
}

// serve serves the page that shows the app, and returns its address. The path is secret.
func (a *RenderedApp) serve(r *AppRenderer, source mcp.Source, tool string, arguments json.RawMessage) string {
	a.tb.Helper()
	base := "/" + rand.Text() + "/"
	mux := http.NewServeMux()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if a.host.Owns(req) {
			a.host.ServeHTTP(w, req)
			return
		}
		mux.ServeHTTP(w, req)
	}))
	a.tb.Cleanup(server.Close)

	a.open = func() {
		a.tb.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), a.timeout)
		defer cancel()
		view, err := a.host.Open(ctx, source, &apps.OpenParams{
			Page: server.URL,
			Tool: tool,
			Mode: r.Mode,
		})
		if err != nil {
			a.tb.Fatalf("RenderApp: %v", err)
		}
		a.setView(view)
	}
	a.open()
	mux.HandleFunc("GET "+base, serveText("text/html; charset=utf-8", appPage))
	mux.HandleFunc("GET "+base+"host.js", serveText("text/javascript", apps.HostJS()))
	mux.HandleFunc("GET "+base+"settings", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, r.settings(a.currentView(), arguments))
	})
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST "+base+"request", func(w http.ResponseWriter, req *http.Request) {
		a.currentView().ServeHTTP(w, req)
	})
	mux.HandleFunc("POST "+base+"call", func(w http.ResponseWriter, req *http.Request) {
		result := r.Result
		var err error
		if result == nil {
			result, err = source.CallTool(req.Context(), &mcp.CallToolParams{
				Name:      tool,
				Arguments: arguments,
				Origins:   a.currentView().Tool.Origins,
			})
		}
		writeAnswer(w, result, err)
	})
	return server.URL + base
}

func serveText(contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Write([]byte(text))
	}
}

func writeAnswer(w http.ResponseWriter, result *mcp.CallToolResult, err error) {
	answer := map[string]any{"result": result}
	if err != nil {
		answer = map[string]any{"error": map[string]any{"message": err.Error()}}
	}
	writeJSON(w, answer)
}

func writeJSON(w http.ResponseWriter, value any) {
	text, err := mcp.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(text)
}

// settings returns what the page needs to know.
func (r *AppRenderer) settings(view *apps.View, arguments json.RawMessage) any {
	shown := struct {
		*apps.View
		ProxyURL string `json:"proxyURL"`
	}{view, view.ProxyURL}
	if r.Fallback {
		shown.ProxyURL = view.FallbackURL
	}
	return map[string]any{
		"view":      shown,
		"arguments": arguments,
		"context":   r.hostContext(),
	}
}

// hostContext returns the description of the host that the app receives.
func (r *AppRenderer) hostContext() map[string]any {
	if r.Context != nil {
		return r.Context
	}
	return map[string]any{
		"theme":                 "light",
		"locale":                "en-US",
		"platform":              "web",
		"availableDisplayModes": []string{"inline", "fullscreen"},
	}
}

// document returns the frame of the app's document.
func (a *RenderedApp) document() (chromium.Frame, error) {
	// Frames inside the document come after it. An opaque origin has no name.
	for _, f := range a.page.Frames() {
		if strings.Contains(f.Origin, "://app-") || f.Process && f.Origin == "://" {
			return f, nil
		}
	}
	return chromium.Frame{}, errors.New("the document has not loaded")
}

// Eval evaluates a JavaScript expression in the app, awaits it if it is a promise, and
// decodes its value, which must encode as JSON, into result. result may be nil.
func (a *RenderedApp) Eval(expression string, result any) {
	a.tb.Helper()
	document, err := a.document()
	if err == nil {
		err = a.page.Eval(document, expression, result)
	}
	if err != nil {
		a.tb.Fatalf("evaluate %s in the app: %v", expression, err)
	}
}

// EvalHost is [RenderedApp.Eval] in the page around the app, where host is the AppHost of
// [apps.HostJS]: host.setContext({theme: "dark"}), host.teardown(), host.callTool("name").
func (a *RenderedApp) EvalHost(expression string, result any) {
	a.tb.Helper()
	if err := a.page.Eval(chromium.Frame{}, expression, result); err != nil {
		a.tb.Fatalf("evaluate %s in the page: %v", expression, err)
	}
}

// Text returns the visible text of the app.
func (a *RenderedApp) Text() string {
	a.tb.Helper()
	document, err := a.document()
	var text string
	if err == nil {
		text, err = a.page.Text(document)
	}
	if err != nil {
		a.tb.Fatalf("read the text of the app: %v", err)
	}
	return text
}

// WaitText waits until the visible text of the app contains want, and fails the test if it
// does not in time.
func (a *RenderedApp) WaitText(want string) {
	a.tb.Helper()
	var got string
	err := a.page.Poll(func() error {
		document, err := a.document()
		if err == nil {
			got, err = a.page.Text(document)
		}
		if err == nil && !strings.Contains(got, want) {
			err = errors.New("other text")
		}
		return err
	})
	if err != nil {
		a.tb.Fatalf("the app does not show %q: %v\ntext: %q\nviolations: %+v\nconsole: %s",
			want, err, got, a.Violations(), strings.Join(a.Console(), "\n"))
	}
}

// Click clicks the middle of the first element that matches a CSS selector, once it is
// visible and enabled.
func (a *RenderedApp) Click(selector string) {
	a.tb.Helper()
	err := a.page.Poll(func() error {
		document, err := a.document()
		if err == nil {
			err = a.page.Click(document, selector) // the frames fill the page
		}
		return err
	})
	if err != nil {
		a.tb.Fatalf("click %s: %v", selector, err)
	}
}

// Type clicks an element and types text into it.
func (a *RenderedApp) Type(selector, text string) {
	a.tb.Helper()
	a.Click(selector)
	if err := a.page.Insert(text); err != nil {
		a.tb.Fatalf("type into %s: %v", selector, err)
	}
}

// Screenshot returns a picture of the app in PNG.
func (a *RenderedApp) Screenshot() []byte {
	a.tb.Helper()
	picture, err := a.page.Screenshot()
	if err != nil {
		a.tb.Fatal(err)
	}
	return picture
}

// Violations returns what the app was refused: declared origins that are invalid, and loads
// that the browser blocked. A report arrives a moment after the load.
func (a *RenderedApp) Violations() []apps.Violation { return a.currentView().Violations() }

// Accessibility checks the app with axe-core as it is now, and returns what violates its
// rules. Rules about whole pages, such as landmarks, are left out. It is not available with
// [AppRenderer.Fallback].
func (a *RenderedApp) Accessibility() []apps.AccessibilityFinding {
	a.tb.Helper()
	var found []apps.AccessibilityFinding
	a.EvalHost("host.checkAccessibility()", &found)
	return found
}

// Console returns the lines that the app and the page around it have logged, each with its
// level: "error: ...".
func (a *RenderedApp) Console() []string { return a.page.Console() }

// Messages returns the messages between the host and the app so far.
func (a *RenderedApp) Messages() []AppMessage {
	a.tb.Helper()
	var logged []struct {
		Direction string          `json:"direction"`
		Message   json.RawMessage `json:"message"`
	}
	a.EvalHost("globalThis.messages", &logged)
	messages := make([]AppMessage, len(logged))
	for i, l := range logged {
		var named struct {
			Method string `json:"method"`
		}
		json.Unmarshal(l.Message, &named)
		messages[i] = AppMessage{
			FromApp: l.Direction == "in",
			Method:  named.Method,
			Message: l.Message,
		}
	}
	return messages
}

// WaitMessage waits until the app has sent a request or notification with the method, and
// returns the first one. It fails the test if the app does not in time. What an app sends
// arrives some time after the click that causes it, so this is the way to verify a click.
func (a *RenderedApp) WaitMessage(method string) AppMessage {
	a.tb.Helper()
	var found AppMessage
	err := a.page.Poll(func() error {
		messages := a.Messages()
		at := slices.IndexFunc(messages, func(m AppMessage) bool { return m.FromApp && m.Method == method })
		if at < 0 {
			return errors.New("no such message")
		}
		found = messages[at]
		return nil
	})
	if err != nil {
		a.tb.Fatalf("the app did not send %s\ntext: %q\nviolations: %+v\nconsole: %s",
			method, a.Text(), a.Violations(), strings.Join(a.Console(), "\n"))
	}
	return found
}

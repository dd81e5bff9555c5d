package mcptest

import (
	"context"
	"crypto/rand"
	_ "embed" // for the page
	"encoding/json"
	"errors"
	"fmt"
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
	// browser shows the page of host, which shows the app.
	browser *chromium.Browser
	host    *apps.Host
	session string // of the page
	address string // of the page
	tool    string
	open    func() // opens another view

	unconnected bool

	mu       sync.Mutex // guards the fields below
	view     *apps.View
	parents  map[string]string // of sessions
	contexts []scriptContext
	console  []string
}

// scriptContext is where scripts of one document run.
type scriptContext struct {
	// session and origin identify a frame, and id the context of its scripts.
	session, origin string
	id              int
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
		parents: map[string]string{},
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
	if a.browser, err = chromium.Start(path, a.onEvent); err != nil {
		tb.Fatalf("RenderApp: %v", err)
	}
	tb.Cleanup(func() { a.browser.Close() })
	ctx, cancel := a.context()
	defer cancel()
	if a.session, err = a.browser.OpenPage(ctx); err != nil {
		tb.Fatalf("RenderApp: open a page: %v", err)
	}
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
	ctx, cancel := a.context()
	defer cancel()
	if err := a.browser.Call(ctx, a.session, "Page.navigate", map[string]any{"url": a.address}, nil); err != nil {
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
	a.contexts = nil
}

// awaitResult waits until the app is connected and has been sent the result, or for its
// document only if it need not connect.
func (a *RenderedApp) awaitResult() {
	a.tb.Helper()
	if a.unconnected {
		if err := a.poll(func() error { _, err := a.document(); return err }); err != nil {
			a.tb.Fatalf("RenderApp: %v", err)
		}
		return
	}
	const sent = `globalThis.failure ?? (globalThis.messages?.some(({ direction, message }) => direction === "out" &&
		/tool-(result|cancelled)$/.test(message.method)) ? "sent" : globalThis.phase ?? "loading")`
	var state string
	ok := a.poll(func() error {
		if err := a.evaluate(a.page(), sent, &state); err != nil {
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
		ctx, cancel := a.context()
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

// onEvent follows the documents of the page, and collects what they log.
func (a *RenderedApp) onEvent(e chromium.Event) {
	switch e.Method {
	case "Target.attachedToTarget":
		var attached struct {
			Session string `json:"sessionId"`
		}
		if json.Unmarshal(e.Params, &attached) == nil && e.Session != "" {
			a.mu.Lock()
			a.parents[attached.Session] = e.Session
			a.mu.Unlock()
			a.browser.Prepare(attached.Session)
		}
	case "Runtime.executionContextCreated":
		var created struct {
			Context struct {
				ID     int    `json:"id"`
				Origin string `json:"origin"`
			} `json:"context"`
		}
		if json.Unmarshal(e.Params, &created) != nil {
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.contexts = append(a.contexts, scriptContext{e.Session, created.Context.Origin, created.Context.ID})
	case "Runtime.executionContextDestroyed":
		var destroyed struct {
			ID int `json:"executionContextId"`
		}
		json.Unmarshal(e.Params, &destroyed)
		a.forget(func(c scriptContext) bool { return c.session == e.Session && c.id == destroyed.ID })
	case "Runtime.executionContextsCleared":
		a.forget(func(c scriptContext) bool { return c.session == e.Session })
	case "Target.detachedFromTarget":
		var detached struct {
			Session string `json:"sessionId"`
		}
		json.Unmarshal(e.Params, &detached)
		a.forget(func(c scriptContext) bool { return a.isBelow(c.session, detached.Session) })
	default:
		if line := consoleLine(e); line != "" {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.console = append(a.console, line)
		}
	}
}

// forget drops the contexts of documents that are gone.
func (a *RenderedApp) forget(isGone func(scriptContext) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.contexts = slices.DeleteFunc(a.contexts, isGone)
}

// isBelow reports whether session is ancestor or a frame in it: only the outermost frame
// that is gone is reported. The caller holds mu.
func (a *RenderedApp) isBelow(session, ancestor string) bool {
	for session != "" {
		if session == ancestor {
			return true
		}
		session = a.parents[session]
	}
	return false
}

// consoleLine returns the line that an event adds to the console, or "".
func consoleLine(e chromium.Event) string {
	switch e.Method {
	case "Runtime.consoleAPICalled":
		var called struct {
			Type string `json:"type"`
			Args []struct {
				Value       json.RawMessage `json:"value"`
				Description string          `json:"description"`
			} `json:"args"`
		}
		json.Unmarshal(e.Params, &called)
		words := []string{called.Type + ":"}
		for _, arg := range called.Args {
			var text string
			switch {
			case json.Unmarshal(arg.Value, &text) == nil:
			case arg.Value != nil:
				text = string(arg.Value)
			default:
				text = arg.Description
			}
			words = append(words, text)
		}
		return strings.Join(words, " ")
	case "Runtime.exceptionThrown":
		var thrown struct {
			Details struct {
				Text      string `json:"text"`
				Exception struct {
					Description string `json:"description"`
				} `json:"exception"`
			} `json:"exceptionDetails"`
		}
		json.Unmarshal(e.Params, &thrown)
		return "error: " + thrown.Details.Text + " " + thrown.Details.Exception.Description
	case "Log.entryAdded":
		var added struct {
			Entry struct {
				Level string `json:"level"`
				Text  string `json:"text"`
			} `json:"entry"`
		}
		json.Unmarshal(e.Params, &added)
		return added.Entry.Level + ": " + added.Entry.Text
	}
	return ""
}

func (a *RenderedApp) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), a.timeout)
}

// poll repeats step until it returns nil, and returns its last error after the timeout.
func (a *RenderedApp) poll(step func() error) error {
	deadline := time.Now().Add(a.timeout)
	for {
		err := step()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// page returns the context of the page itself.
func (a *RenderedApp) page() scriptContext { return scriptContext{session: a.session} }

// document returns the context of the app's document.
func (a *RenderedApp) document() (scriptContext, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	// Frames inside the document come after it. An opaque origin has no name.
	for _, c := range a.contexts {
		if strings.Contains(c.origin, "://app-") || c.session != a.session && c.origin == "://" {
			return c, nil
		}
	}
	return scriptContext{}, errors.New("the document has not loaded")
}

// evaluate runs JavaScript in a frame, and decodes its value.
func (a *RenderedApp) evaluate(in scriptContext, expression string, result any) error {
	ctx, cancel := a.context()
	defer cancel()
	params := map[string]any{
		"expression":    expression,
		"awaitPromise":  true,
		"returnByValue": true,
	}
	if in.id != 0 {
		params["contextId"] = in.id
	}
	var outcome struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	if err := a.browser.Call(ctx, in.session, "Runtime.evaluate", params, &outcome); err != nil {
		return err
	}
	if e := outcome.Exception; e != nil {
		return fmt.Errorf("%s %s", e.Text, e.Exception.Description)
	}
	if result == nil || outcome.Result.Value == nil {
		return nil
	}
	return json.Unmarshal(outcome.Result.Value, result)
}

// Eval evaluates a JavaScript expression in the app, awaits it if it is a promise, and
// decodes its value, which must encode as JSON, into result. result may be nil.
func (a *RenderedApp) Eval(expression string, result any) {
	a.tb.Helper()
	document, err := a.document()
	if err == nil {
		err = a.evaluate(document, expression, result)
	}
	if err != nil {
		a.tb.Fatalf("evaluate %s in the app: %v", expression, err)
	}
}

// EvalHost is [RenderedApp.Eval] in the page around the app, where host is the AppHost of
// [apps.HostJS]: host.setContext({theme: "dark"}), host.teardown(), host.callTool("name").
func (a *RenderedApp) EvalHost(expression string, result any) {
	a.tb.Helper()
	if err := a.evaluate(a.page(), expression, result); err != nil {
		a.tb.Fatalf("evaluate %s in the page: %v", expression, err)
	}
}

// visibleText is the text that is drawn. For a body that is not, innerText would include
// scripts.
const visibleText = `document.body?.getClientRects().length ? document.body.innerText : ""`

// Text returns the visible text of the app.
func (a *RenderedApp) Text() string {
	a.tb.Helper()
	var text string
	a.Eval(visibleText, &text)
	return text
}

// WaitText waits until the visible text of the app contains want, and fails the test if it
// does not in time.
func (a *RenderedApp) WaitText(want string) {
	a.tb.Helper()
	var got string
	err := a.poll(func() error {
		document, err := a.document()
		if err == nil {
			err = a.evaluate(document, visibleText, &got)
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

// clickScript returns the middle of an element once it can be clicked, or null, and notes
// when a click reaches the document.
const clickScript = `((selector) => {
	const element = document.querySelector(selector);
	if (!element || element.disabled) return null;
	element.scrollIntoView({ block: "center", behavior: "instant" });
	const { x, y, width, height } = element.getBoundingClientRect();
	globalThis.slipwayClicked = false;
	addEventListener("mousedown", () => (globalThis.slipwayClicked = true), { capture: true, once: true });
	return width && height ? { x: x + width / 2, y: y + height / 2 } : null;
})`

// Click clicks the middle of the first element that matches a CSS selector, once it is
// visible and enabled.
func (a *RenderedApp) Click(selector string) {
	a.tb.Helper()
	quoted, _ := json.Marshal(selector)
	err := a.poll(func() error { return a.tryClick(clickScript + "(" + string(quoted) + ")") })
	if err != nil {
		a.tb.Fatalf("click %s: %v", selector, err)
	}
}

// tryClick clicks once. For a moment after a frame is drawn, the browser does not yet know
// that it is there, and the click misses it.
func (a *RenderedApp) tryClick(script string) error {
	document, err := a.document()
	if err != nil {
		return err
	}
	var at *struct{ X, Y float64 }
	if err := a.evaluate(document, script, &at); err != nil {
		return err
	}
	if at == nil {
		return errors.New("no visible, enabled element")
	}
	// The frames fill the page, so positions in the app are those in the page.
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		err := a.input("Input.dispatchMouseEvent", map[string]any{
			"type":       kind,
			"x":          at.X,
			"y":          at.Y,
			"button":     "left",
			"clickCount": 1,
		})
		if err != nil {
			return err
		}
	}
	var clicked bool
	if err := a.evaluate(document, "globalThis.slipwayClicked", &clicked); err != nil || !clicked {
		return errors.Join(errors.New("the click did not reach the app"), err)
	}
	return nil
}

// Type clicks an element and types text into it.
func (a *RenderedApp) Type(selector, text string) {
	a.tb.Helper()
	a.Click(selector)
	if err := a.input("Input.insertText", map[string]any{"text": text}); err != nil {
		a.tb.Fatalf("type into %s: %v", selector, err)
	}
}

func (a *RenderedApp) input(method string, params map[string]any) error {
	ctx, cancel := a.context()
	defer cancel()
	return a.browser.Call(ctx, a.session, method, params, nil)
}

// Screenshot returns a picture of the app in PNG.
func (a *RenderedApp) Screenshot() []byte {
	a.tb.Helper()
	ctx, cancel := a.context()
	defer cancel()
	var shot struct {
		Data []byte `json:"data"`
	}
	if err := a.browser.Call(ctx, a.session, "Page.captureScreenshot", nil, &shot); err != nil {
		a.tb.Fatal(err)
	}
	return shot.Data
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
func (a *RenderedApp) Console() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.console)
}

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
	err := a.poll(func() error {
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

package mcptest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
)

// appSource offers one tool with a user interface, one for models only, and one for apps
// only.
type appSource struct {
	mcp.Unimplemented
	html string
	ui   apps.ResourceUI
}

func (s *appSource) Catalog(context.Context) (*mcp.Catalog, error) {
	tool := func(name string, ui apps.ToolUI) mcp.Tool {
		return mcp.Tool{
			Name: name,
			Meta: apps.ToolMeta(ui),
		}
	}
	return &mcp.Catalog{
		Server: mcp.Implementation{
			Name:    "fixture",
			Version: "1",
		},
		Tools: []mcp.Tool{
			tool("show", apps.ToolUI{ResourceURI: "ui://fixture/page"}),
			tool("for_models", apps.ToolUI{Visibility: []apps.Visibility{apps.VisibleToModel}}),
			tool("for_apps", apps.ToolUI{Visibility: []apps.Visibility{apps.VisibleToApp}}),
			{Name: "plain"},
		},
	}, nil
}

func (s *appSource) CallTool(_ context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(params.Name + " " + string(params.Arguments))}}, nil
}

func (s *appSource) ReadResource(context.Context, *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	app := apps.App{URI: "ui://fixture/page", HTML: s.html, UI: s.ui}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{app.Contents()}}, nil
}

// fixturePage is a document with app as the connection and log as its text.
func fixturePage(script string) string {
	return `<!doctype html><title>fixture</title>` + string(apps.Script()) + `<body><pre id="log"></pre>
<button id="press">Press</button><input id="field">
<script>
const log = (...words) => document.getElementById("log").textContent +=
	words.map((w) => typeof w === "string" ? w : JSON.stringify(w)).join(" ") + "\n";
const app = new McpApp({ appInfo: { name: "fixture", version: "1" } });
app.ontoolinput = (args) => log("input", args);
app.ontoolresult = (result) => log("result", result.content[0].text);
` + script + `
app.connect({ availableDisplayModes: ["inline", "fullscreen"] }).then(() => log("connected", app.hostContext.theme));
</script>`
}

// TestRenderAppShowsText is what an author of an app does first.
func TestRenderAppShowsTextAndTakesInput(t *testing.T) {
	app := mcptest.RenderApp(t, &appSource{html: fixturePage(`
		document.getElementById("press").onclick = async () => {
			const field = document.getElementById("field").value;
			log("called", (await app.callServerTool("for_apps", { field })).content[0].text);
		};
	`)}, "show", map[string]any{"city": "Lyon"})
	app.WaitText(`input {"city":"Lyon"}`)
	app.WaitText(`result show {"city":"Lyon"}`)
	app.Type("#field", "typed")
	app.Click("#press")
	app.WaitText(`called for_apps {"field":"typed"}`)
	if v := app.Violations(); len(v) > 0 {
		t.Errorf("violations: %+v", v)
	}
	for _, line := range app.Console() {
		if strings.HasPrefix(line, "error") || strings.HasPrefix(line, "warning") {
			t.Errorf("console: %s", line)
		}
	}
	if png := app.Screenshot(); !strings.HasPrefix(string(png), "\x89PNG") {
		t.Errorf("Screenshot is not PNG but %.20q", png)
	}
}

// TestRenderAppMessages exchanges every message of the specification, and checks the order
// of the first ones.
func TestRenderAppMessages(t *testing.T) {
	race.SkipSlow(t)
	app := mcptest.RenderApp(t, &appSource{html: fixturePage(`
		app.registerTool("double", {}, ({ n }) => ({ twice: 2 * n }));
		app.onhostcontextchanged = (changes) => log("context", changes);
		app.onteardown = (reason) => { log("teardown", reason); return {}; };
		app.ontoolinputpartial = (args) => log("partial", args);
	`)}, "show", nil)
	app.WaitText("result show")

	var order []string
	for _, m := range app.Messages() {
		if m.Method != "" && m.Method != "ui/notifications/size-changed" {
			order = append(order, m.Method)
		}
	}
	want := []string{
		"ui/notifications/sandbox-proxy-ready", "ui/notifications/sandbox-resource-ready", "ui/initialize",
		"ui/notifications/initialized", "ui/notifications/tool-input", "ui/notifications/tool-result",
	}
	if !slices.Equal(order, want) {
		t.Errorf("messages = %q, want %q", order, want)
	}

	for _, try := range []struct{ name, expression, want string }{
		{"ping", `app.request("ping")`, `{}`},
		{"tools/list", `app.request("tools/list").then((r) => r.tools.map((t) => t.name))`, `["show","for_apps","plain"]`},
		{"tools/call", `app.callServerTool("plain", {}).then((r) => r.content[0].text)`, `"plain {}"`},
		{"tools/call of a model's tool", `app.callServerTool("for_models", {}).catch((e) => e.message)`,
			`"user interfaces cannot call tool \"for_models\""`},
		{"resources/read", `app.readServerResource("ui://fixture/page").then((r) => r.contents.length)`, `1`},
		{"resources/list", `app.request("resources/list")`, `{"resources":[]}`},
		{"resources/templates/list", `app.request("resources/templates/list")`, `{"resourceTemplates":[]}`},
		{"prompts/list", `app.request("prompts/list")`, `{"prompts":[]}`},
		{"sampling without a model", `app.request("sampling/createMessage").catch((e) => e.code)`, `-32601`},
		{"ui/open-link", `app.openLink("https://example.com/")`, `{}`},
		{"ui/open-link to a script", `app.openLink("javascript:alert(1)")`, `{"isError":true}`},
		{"ui/download-file",
			`app.downloadFile([{type: "resource", resource: {uri: "file:///a.txt", text: "a"}}])`, `{}`},
		{"ui/download-file without files",
			`app.request("ui/download-file", {contents: []}).catch((e) => e.code)`, `-32602`},
		{"ui/message with a list",
			`app.request("ui/message", {role: "user", content: [{type: "text", text: "a"}]})`, `{}`},
		{"ui/message with one block",
			`app.request("ui/message", {role: "user", content: {type: "text", text: "a"}})`, `{}`},
		{"ui/message of the assistant",
			`app.request("ui/message", {role: "assistant", content: [{type: "text", text: "a"}]})`, `{"isError":true}`},
		{"ui/update-model-context", `app.updateModelContext("a", {b: 1})`, `{}`},
		{"ui/request-display-mode", `app.requestDisplayMode("fullscreen")`, `{"mode":"fullscreen"}`},
		{"ui/request-display-mode that is not declared", `app.requestDisplayMode("pip")`, `{"mode":"fullscreen"}`},
		{"an unknown method", `app.request("ui/nothing").catch((e) => e.code)`, `-32601`},
		{"notifications/message", `app.sendLog("info", "hello") ?? 1`, `1`},
		{"ui/notifications/size-changed", `app.reportSizeChanged(1, 2) ?? 1`, `1`},
		{"ui/notifications/request-teardown", `app.requestTeardown() ?? 1`, `1`},
	} {
		var got json.RawMessage
		app.Eval(try.expression, &got)
		if string(got) != try.want {
			t.Errorf("%s: %s, want %s", try.name, got, try.want)
		}
	}

	for _, try := range []struct{ name, expression, want string }{
		{"tools of the app", `host.listTools().then((r) => r.tools.map((t) => t.name))`, `["double"]`},
		{"a tool of the app", `host.callTool("double", {n: 4}).then((r) => r.structuredContent)`, `{"twice":8}`},
		{"ping", `host.ping()`, `{}`},
		{"a second input", `try_(() => host.toolInput({}))`, `"the tool's input was sent before"`},
		{"a second result", `try_(() => host.toolResult({}))`, `"the tool's result was sent before"`},
		{"a late partial input", `try_(() => host.toolInputPartial({}))`,
			`"partial input must come before the tool's input"`},
		{"an undeclared mode", `try_(() => host.setContext({displayMode: "pip"}))`,
			`"the app does not support display mode pip"`},
		{"what the app logged", `messages.some((m) => m.message.method === "notifications/message")`, `true`},
	} {
		var got json.RawMessage
		app.EvalHost(`(globalThis.try_ = (f) => { try { f() } catch (e) { return e.message } }, `+try.expression+`)`, &got)
		if string(got) != try.want {
			t.Errorf("host: %s: %s, want %s", try.name, got, try.want)
		}
	}
	app.EvalHost(`host.setContext({theme: "dark", locale: "de-DE"})`, nil)
	app.WaitText(`context {"theme":"dark","locale":"de-DE"}`)

	var teardown json.RawMessage
	app.EvalHost(`host.teardown("done")`, &teardown)
	if string(teardown) != `{}` {
		t.Errorf("teardown: %s, want {}", teardown)
	}
}

// TestAppOrderOfInput sends the result before the input, and partial inputs before the app
// is there: the app must see partial inputs, input and cancellation.
func TestAppOrderOfInput(t *testing.T) {
	app := mcptest.RenderApp(t, &appSource{html: fixturePage("")}, "show", nil)
	var order []string
	app.EvalHost(`(async () => {
		const { AppHost } = await import("./host.js");
		const settings = await (await fetch("settings")).json();
		host.close();
		const sent = [];
		const second = new AppHost({ frame: document.getElementById("app"), view: settings.view, request: () => ({}) });
		second.ontraffic = ({ direction, message: { method } }) => {
			if (direction === "out" && method) sent.push(method.slice(17));
		};
		second.toolCancelled("user");
		second.toolInputPartial({ a: "x" });
		second.toolInputPartial({ a: "xy" });
		second.toolInput({ a: "xyz" });
		while (second.phase !== "ready") await new Promise((done) => setTimeout(done, 10));
		return sent;
	})()`, &order)
	want := []string{"sandbox-resource-ready", "tool-input-partial", "tool-input-partial", "tool-input", "tool-cancelled"}
	if !slices.Equal(order, want) {
		t.Errorf("notifications = %q, want %q", order, want)
	}
}

// TestAppAccessibility checks a document with two barriers, under the strict policy, then
// one without any. The app must not notice the check.
func TestAppAccessibility(t *testing.T) {
	race.SkipSlow(t)
	barriers := `document.body.insertAdjacentHTML("beforeend",
		'<p style="color:#ccc;background:#fff">pale</p><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">');
		document.documentElement.lang = "en"; document.getElementById("field").ariaLabel = "Field";`
	for name, try := range map[string]struct {
		script string
		want   []string
	}{
		"two barriers": {barriers, []string{"color-contrast", "image-alt"}},
		"none":         {strings.Replace(strings.Replace(barriers, "<img ", "<img alt=x ", 1), "#ccc", "#000", 1), nil},
	} {
		t.Run(name, func(t *testing.T) {
			app := mcptest.RenderApp(t, &appSource{html: fixturePage(try.script)}, "show", nil)
			app.WaitText("result")
			before := len(app.Messages())
			for range 2 {
				var got []string
				for _, f := range app.Accessibility() {
					got = append(got, f.Rule)
					if f.Impact == "" || f.Help == "" || f.Count != 1 || len(f.Nodes) != 1 || f.Nodes[0].Target == "" {
						t.Errorf("finding %+v is incomplete", f)
					}
				}
				slices.Sort(got)
				if !slices.Equal(got, try.want) {
					t.Errorf("findings %q, want %q", got, try.want)
				}
			}
			for _, m := range app.Messages()[before:] {
				if m.Method != "ui/notifications/size-changed" && !strings.HasPrefix(m.Method, "ui/notifications/sandbox-check") {
					t.Errorf("the app sent or received %s", m.Message)
				}
			}
			var left string
			app.Eval(`typeof axe + document.querySelectorAll("script[src]").length`, &left)
			if left != "undefined0" {
				t.Errorf("the check leaves %s behind", left)
			}
			if v := app.Violations(); len(v) > 0 {
				t.Errorf("violations: %+v", v)
			}
		})
	}
}

// hostile tries to leave the sandbox. Each line must report "blocked".
const hostile = `(async () => {
	const foreign = %q, page = %q;
	const outcome = {};
	const attempt = async (name, f) => {
		try { outcome[name] = (await f()) ?? "blocked"; } catch { outcome[name] = "blocked"; }
	};
	await attempt("parent", () => parent.document.body && "open");
	await attempt("top", () => top.document.body && "open");
	await attempt("fetch host", () => fetch(page).then(() => "open"));
	await attempt("fetch foreign", () => fetch(foreign).then(() => "open"));
	await attempt("fetch no-cors", () => fetch(foreign, { mode: "no-cors" }).then(() => "open"));
	await attempt("beacon", () => { navigator.sendBeacon(foreign + "beacon"); });
	await attempt("image", () => new Promise((resolve, reject) => {
		const image = new Image();
		image.onload = () => resolve("open");
		image.onerror = reject;
		image.src = foreign + "image";
	}));
	await attempt("script", () => new Promise((resolve, reject) => {
		const script = document.createElement("script");
		script.onload = () => resolve("open");
		script.onerror = reject;
		script.src = foreign + "script";
		document.head.append(script);
	}));
	await attempt("eval", () => eval('"open"'));
	await attempt("worker", () => new Promise((resolve, reject) => {
		const worker = new Worker(URL.createObjectURL(new Blob(["postMessage(1)"])));
		worker.onmessage = () => resolve("open");
		worker.onerror = reject;
	}));
	await attempt("popup", () => window.open(foreign) && "open");
	await attempt("top navigation", () => { top.location = foreign; });
	await attempt("frame", () => {
		const frame = document.createElement("iframe");
		frame.src = foreign + "frame";
		document.body.append(frame);
	});
	return outcome;
})()`

// TestAppCannotLeave runs an app that tries everything against two servers that record
// requests: a foreign one, and the one of the page.
func TestAppCannotLeave(t *testing.T) {
	race.SkipSlow(t)
	for _, fallback := range []bool{false, true} {
		t.Run(fmt.Sprintf("fallback=%t", fallback), func(t *testing.T) {
			requests := make(chan string, 100)
			foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests <- r.Method + " " + r.URL.Path
				w.Header().Set("Access-Control-Allow-Origin", "*")
			}))
			defer foreign.Close()
			renderer := mcptest.AppRenderer{Fallback: fallback}
			app := renderer.Render(t, &appSource{html: fixturePage("")}, "show", nil)
			app.WaitText("result")
			var page string
			app.EvalHost("location.href", &page)
			var outcome map[string]string
			app.Eval(fmt.Sprintf(hostile, foreign.URL+"/", page), &outcome)
			if len(outcome) != 13 {
				t.Errorf("%d attempts, want 13: %v", len(outcome), outcome)
			}
			for name, result := range outcome {
				if result != "blocked" {
					t.Errorf("%s: %s", name, result)
				}
			}
			waitViolation(t, app, "connect-src")
			waitViolation(t, app, "img-src")
			for _, leave := range []string{
				`location.href = "` + foreign.URL + `/self"`,
				`document.body.innerHTML = '<form action="` + foreign.URL + `/form">', document.forms[0].submit()`,
				`document.body.innerHTML = '<a href="` + foreign.URL + `/link">', document.links[0].click()`,
				`document.head.innerHTML = '<meta http-equiv="refresh" content="0;url=` + foreign.URL + `/refresh">'`,
			} {
				app.Reload()
				app.WaitText("result")
				app.Eval("setTimeout(() => { "+leave+" }, 100)", nil)
				waitViolation(t, app, "frame-src")
			}
			for len(requests) > 0 {
				t.Errorf("a request left the sandbox: %s", <-requests)
			}
		})
	}
}

func waitViolation(t *testing.T, app *mcptest.RenderedApp, directive string) {
	t.Helper()
	for range 500 {
		for _, v := range app.Violations() {
			if v.Directive == directive {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("no violation of %s reported: %+v", directive, app.Violations())
}

// TestAppsAreIsolated opens two documents and verifies that neither sees cookies or
// storage of the other.
func TestAppsAreIsolated(t *testing.T) {
	race.SkipSlow(t)
	app := mcptest.RenderApp(t, &appSource{html: fixturePage(`
		log("cookies at " + location.hostname.slice(0, 4), document.cookie.split("; ").sort());
		document.cookie = "plain=1";
		document.cookie = "secure=1; SameSite=None; Secure";
		const above = location.hostname.split(".").slice(1).join(".");
		for (const domain of ["localhost", "app.localhost", location.hostname, above]) {
			document.cookie = "wide-" + domain + "=1; SameSite=None; Secure; Domain=" + domain;
			document.cookie = "partitioned-" + domain + "=1; SameSite=None; Secure; Partitioned; Domain=" + domain;
		}
		let before = "refused";
		try {
			before = localStorage.getItem("k");
			localStorage.setItem("k", "1");
		} catch {}
		log(document.cookie.includes("partitioned") ? "sets cookies" : "sets no cookies");
		log("storage", String(before));
	`)}, "show", nil)
	app.WaitText("storage")
	first := app.Text()
	if strings.Contains(first, "storage refused") {
		t.Error("the document has no storage of its own")
	}
	app.Reload()
	app.WaitText("storage")
	if second := app.Text(); second != first {
		t.Errorf("the second document shows\n%s\nthe first\n%s", second, first)
	}
}

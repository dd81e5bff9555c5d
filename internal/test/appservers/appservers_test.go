package appservers_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	"github.com/slipway-mcp/slipway/serve"
)

// serversVariable names the folder with the node_modules that scripts/apps installed.
const serversVariable = "SLIPWAY_APP_SERVERS"

// official is an app server and what a correct host shows of it.
type official struct {
	name string // of the npm package, after "server-"
	tool string
	args map[string]any
	mode apps.Mode
	// text is visible in the app once it has the result.
	text string
	// use interacts with the app, and fails the test if that has no effect.
	use func(t *testing.T, app shown)
	// needsInternet means that the app loads something that it declared from elsewhere. Offline,
	// it must say so.
	needsInternet bool
	// unconnected means that it does not connect without it.
	unconnected bool
}

func servers() []official {
	return []official{
		{
			name: "basic-vanillajs",
			tool: "get-time",
			text: "Server Time:",
			use: func(t *testing.T, app shown) {
				before := app.Text()
				app.Click("#get-time-btn")
				waitMessage(t, app, "tools/call", 1)
				waitChange(t, app, before)
			},
		},
		{
			name: "budget-allocator",
			tool: "get-budget-data",
			text: "Marketing",
			use: func(t *testing.T, app shown) {
				var total json.RawMessage
				app.EvalHost(`host.callTool("set-total-budget", {amount: 50000}).then((r) => r.isError ?? false)`, &total)
				if string(total) != "false" {
					t.Errorf("set-total-budget: %s", total)
				}
				app.WaitText("/ $50,000")
			},
		},
		{
			name: "cohort-heatmap",
			tool: "get-cohort-data",
			args: map[string]any{"metric": "retention"},
			text: "Cohort",
			use: func(t *testing.T, app shown) {
				app.Eval(`(() => {
					const select = document.querySelector("select");
					const set = Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, "value").set;
					set.call(select, select.options[1].value);
					select.dispatchEvent(new Event("change", { bubbles: true }));
				})()`, nil)
				waitMessage(t, app, "tools/call", 1)
			},
		},
		{
			name: "system-monitor",
			tool: "get-system-info",
			text: "CPU",
			use: func(t *testing.T, app shown) {
				waitMessage(t, app, "tools/call", 1) // poll-system-stats, which only apps can call
				app.Click("button")
				app.WaitText("Start")
			},
		},
		{
			name: "threejs",
			tool: "show_threejs_scene",
			mode: apps.Compatible,
			use: func(t *testing.T, app shown) {
				waitElement(t, app, "canvas")
				waitTool(t, app, "get-scene-info")
				enlarge(t, app)
			},
		},
		{
			name: "shadertoy",
			tool: "render-shadertoy",
			args: map[string]any{
				"fragmentShader": "void mainImage(out vec4 c, in vec2 p) { c = vec4(p / iResolution.xy, 0.5, 1.0); }",
			},
			use: func(t *testing.T, app shown) {
				waitElement(t, app, "canvas")
				waitTool(t, app, "get-shader-info")
				enlarge(t, app)
			},
		},
		{
			name:          "pdf",
			tool:          "display_pdf",
			needsInternet: true,
			use: func(t *testing.T, app shown) {
				waitTool(t, app, "interact")
			},
		},
		{
			name:          "map",
			tool:          "show-map",
			needsInternet: true,
			unconnected:   true,
			use:           func(*testing.T, shown) {}, // without its library, it has nothing to use
		},
		{
			name: "transcript",
			tool: "transcribe",
			text: "Your speech will appear here",
			use: func(t *testing.T, app shown) {
				var allow string
				app.EvalHost(`document.querySelector("iframe").allow`, &allow)
				features := strings.Split(allow, "; ")
				slices.Sort(features)
				if !slices.Equal(features, []string{"clipboard-write", "microphone"}) {
					t.Errorf("allow = %q", allow)
				}
				before := app.Text()
				app.Click("button")
				waitChange(t, app, before)
			},
		},
		{
			name: "sheet-music",
			tool: "play-sheet-music",
			args: map[string]any{"abcNotation": "X:1\nT:Scale\nM:4/4\nL:1/4\nK:C\nC D E F | G A B c |"},
			use: func(t *testing.T, app shown) {
				waitElement(t, app, "svg path")
				waitElement(t, app, "button")
				var before, after string
				app.Eval("document.body.innerHTML", &before)
				app.Click("button") // plays: the button shows another picture
				for range 500 {
					if app.Eval("document.body.innerHTML", &after); after != before {
						return
					}
					time.Sleep(20 * time.Millisecond)
				}
				t.Error("the button has no effect")
			},
		},
	}
}

func TestOfficialServers(t *testing.T) {
	for _, o := range servers() {
		t.Run(o.name, func(t *testing.T) {
			renderer := mcptest.AppRenderer{
				Mode:        o.mode,
				Unconnected: o.unconnected,
			}
			app := renderer.Render(t, open(t, o.name), o.tool, o.args)
			if o.text != "" {
				app.WaitText(o.text)
			}
			if o.needsInternet {
				requireExplanation(t, app)
				o.use(t, app)
				return
			}
			o.use(t, app)
			for _, v := range app.Violations() {
				if v.Blocked != "eval" { // zod finds out whether it may use eval
					t.Errorf("blocked: %+v", v)
				}
			}
			keepPicture(t, app, o.name)
		})
	}
}

// TestStrictExplainsBlankApp: the app that needs eval is not drawn under the default
// policy, and a violation says why.
func TestStrictExplainsBlankApp(t *testing.T) {
	app := mcptest.RenderApp(t, open(t, "threejs"), "show_threejs_scene", nil)
	for range 500 {
		for _, v := range app.Violations() {
			if v.Directive == "script-src" && v.Blocked == "eval" {
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("violations %+v, want one of eval", app.Violations())
}

// TestBehindGateway opens an app of one of two servers that are served as one over HTTP.
// Its requests reach its own server, also the tool that only apps can call.
func TestBehindGateway(t *testing.T) {
	joined, err := compose.Union(t.Context(), []compose.Named{
		{Name: "clock", Source: open(t, "basic-vanillajs")},
		{Name: "monitor", Source: open(t, "system-monitor")},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	gateway := httptest.NewServer(serve.NewHandler(joined, nil))
	t.Cleanup(gateway.Close)
	src, err := client.Open(t.Context(), &client.Endpoint{URL: gateway.URL + serve.EndpointPath}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	app := mcptest.RenderApp(t, src, "get-system-info", nil)
	app.WaitText("CPU")
	waitMessage(t, app, "tools/call", 1)
	for _, m := range app.Messages() {
		if strings.Contains(string(m.Message), `"error":`) {
			t.Errorf("%.300s", m.Message)
		}
	}
}

// open starts a server.
func open(t *testing.T, name string) mcp.Source {
	t.Helper()
	dir := os.Getenv(serversVariable)
	if dir == "" {
		t.Skip("needs npm packages: run scripts/apps, which installs them")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	src, err := client.Open(t.Context(), &client.Command{
		Path: node,
		Args: []string{program(name), "--stdio"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// program returns the path of an official server.
func program(name string) string {
	return filepath.Join(os.Getenv(serversVariable), "node_modules/@modelcontextprotocol", "server-"+name, "dist/index.js")
}

// waitMessage waits until the app has sent a request count times and has its answers.
func waitMessage(t *testing.T, app shown, method string, count int) {
	t.Helper()
	for range 500 {
		sent := 0
		for _, m := range app.Messages() {
			if m.FromApp && m.Method == method {
				sent++
			}
		}
		if sent >= count {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("the app did not send %s; it shows %q", method, app.Text())
}

// waitElement waits until an element is drawn.
func waitElement(t *testing.T, app shown, selector string) {
	t.Helper()
	quoted := string(must(json.Marshal(selector)))
	for range 500 {
		var width float64
		app.Eval("document.querySelector("+quoted+")?.getBoundingClientRect().width ?? 0", &width)
		if width > 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("no %s: the app shows %q", selector, app.Text())
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

// waitChange waits until the app shows another text.
func waitChange(t *testing.T, app shown, before string) {
	t.Helper()
	for range 500 {
		if app.Text() != before {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("the app still shows %q", before)
}

// waitTool waits until the app offers a tool.
func waitTool(t *testing.T, app shown, name string) {
	t.Helper()
	var names []string
	for range 500 {
		app.EvalHost(`host.listTools().then((r) => r.tools.map((t) => t.name))`, &names)
		if slices.Contains(names, name) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("the tools of the app are %q, want %s", names, name)
}

// enlarge presses the button for the full screen, which the host grants.
func enlarge(t *testing.T, app shown) {
	t.Helper()
	app.Click(".fullscreen-btn")
	app.WaitMessage("ui/request-display-mode")
	var mode string
	for range 500 {
		app.EvalHost("host.context.displayMode", &mode)
		if mode == "fullscreen" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("the display mode is %s", mode)
}

// requireExplanation verifies that an app that could not load something says so. With
// access to the internet, it shows something else.
func requireExplanation(t *testing.T, app shown) {
	t.Helper()
	for range 500 {
		if text := app.Text(); text != "" {
			t.Logf("shows %.200q", text)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("the app is blank, and nothing says why")
}

// keepPicture writes a picture into the folder that SLIPWAY_APP_PICTURES names.
func keepPicture(t *testing.T, app *mcptest.RenderedApp, name string) {
	t.Helper()
	dir := os.Getenv("SLIPWAY_APP_PICTURES")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), app.Screenshot(), 0o600); err != nil {
		t.Error(err)
	}
}

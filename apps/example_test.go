package apps_test

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/mcp"
)

// A custom Source adds an App to its catalog and returns its contents from ReadResource.
// With the router, router.App does both.
func ExampleApp() {
	board := &apps.App{
		URI:  "ui://weather/board",
		Name: "board",
		HTML: "<!doctype html><title>Weather</title>",
		UI:   apps.ResourceUI{CSP: &apps.CSP{ConnectDomains: []string{"https://api.example.com"}}},
	}
	entry := board.Resource()
	fmt.Println(entry.URI, entry.MIMEType)
	fmt.Println(string(board.Contents().Meta))
	// Output:
	// ui://weather/board text/html;profile=mcp-app
	// {"ui":{"csp":{"connectDomains":["https://api.example.com"]}}}
}

func ExampleToolMeta() {
	fmt.Println(string(apps.ToolMeta(apps.ToolUI{ResourceURI: "ui://weather/board"})))
	fmt.Println(string(apps.ToolMeta(apps.ToolUI{Visibility: []apps.Visibility{apps.VisibleToApp}})))
	// Output:
	// {"ui":{"resourceUri":"ui://weather/board","visibility":["model","app"]}}
	// {"ui":{"visibility":["app"]}}
}

// A tool always answers with text. A client that shows a user interface needs less of it.
func ExampleSupported() {
	forecast := func(ctx context.Context) string {
		if apps.Supported(ctx) {
			return "The board shows the next ten days."
		}
		return "Mon 21°, Tue 22°, Wed 19°, ..."
	}
	fmt.Println(forecast(context.Background())) // no client at all
	// Output: Mon 21°, Tue 22°, Wed 19°, ...
}

func ExampleCheck() {
	catalog := &mcp.Catalog{
		Tools: []mcp.Tool{{Name: "show", Meta: apps.ToolMeta(apps.ToolUI{ResourceURI: "ui://board"})}},
	}
	for _, finding := range apps.Check(catalog) {
		fmt.Println(finding)
	}
	// Output: error: /tools/0/_meta/ui/resourceUri: tool "show" links to ui://board, which does not exist [apps/missing]
}

func ExampleFuncs() {
	text := `<!doctype html><title>Board</title>{{ mcpApp }}<script>new McpApp().connect();</script>`
	page := template.Must(template.New("board").Funcs(apps.Funcs()).Parse(text))
	var html strings.Builder
	if err := page.Execute(&html, nil); err != nil {
		fmt.Println(err)
	}
	fmt.Println(strings.Contains(html.String(), "class McpApp"))
	// Output: true
}

// A page that shows user interfaces passes requests for documents to a Host.
func ExampleHost() {
	page := http.NotFoundHandler()
	host := apps.NewHost(nil)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host.Owns(r) { // proxy-ID.localhost, app-ID.localhost
			host.ServeHTTP(w, r)
			return
		}
		page.ServeHTTP(w, r)
	})

	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "http://app-unknown.localhost:8080/unknown", nil))
	fmt.Println(w.Code)
	// Output: 404
}

package router_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strings"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/router"
)

// show prints a result as clients receive it.
func show[T any](v T, err error) {
	if err != nil {
		fmt.Println("error:", strings.ReplaceAll(err.Error(), "; ", "\n  "))
		return
	}
	encoded, err := mcp.Marshal(v)
	if err != nil {
		log.Fatal(err)
	}
	if len(encoded) > 100 {
		var lines bytes.Buffer
		_ = json.Indent(&lines, encoded, "", "  ")
		encoded = lines.Bytes()
	}
	fmt.Println(string(encoded))
}

func must(r *router.Router, err error) *router.Router {
	if err != nil {
		log.Fatal(err)
	}
	return r
}

func Example() {
	type Where struct {
		City string `json:"city" doc:"city name"`
		Unit string `json:"unit" enum:"celsius,fahrenheit" default:"celsius"`
	}
	r, err := router.New("weather", "1.0.0",
		router.Tool("get_weather", "Current weather in a city",
			func(_ context.Context, in Where) (string, error) {
				return "21 degrees " + in.Unit + " in " + in.City, nil
			}, router.ReadOnly))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	show(r.CallTool(ctx, &mcp.CallToolParams{Name: "get_weather", Arguments: json.RawMessage(`{"city":"Lyon"}`)}))
	show(r.CallTool(ctx, &mcp.CallToolParams{
		Name:      "get_weather",
		Arguments: json.RawMessage(`{"ctiy":"Lyon","unit":"kelvin"}`),
	}))
	// Output:
	// {"content":[{"type":"text","text":"21 degrees celsius in Lyon"}],"isError":false}
	// error: invalid arguments for get_weather: ctiy: unknown argument, did you mean "city"? (accepted: city, unit)
	//   unit: must be one of "celsius", "fahrenheit" (got "kelvin")
	//   city: required
}

// All mistakes are reported at once, each with its place.
func ExampleNew() {
	type In struct {
		A string `json:"a" enum:"x,y" default:"z"`
	}
	_, err := router.New("broken", "1.0.0",
		router.Tool("t", "", func(context.Context, In) (string, error) { return "", nil }),
		router.Resource("r", "no-scheme", func(context.Context) (string, error) { return "", nil }),
	)
	fmt.Println(strings.Count(err.Error(), "\n")+1, "mistakes")
	for line := range strings.Lines(err.Error()) {
		_, rest, _ := strings.Cut(line, ": ") // file and line
		fmt.Print(rest)
	}
	// Output:
	// 2 mistakes
	// tool "t": a: default:"z": must be one of "x", "y" (got "z")
	// resource "r": the URI "no-scheme" has no scheme
}

// A struct becomes structured content with an output schema; models read the result of
// its Text method, if it has one.
func ExampleTool() {
	r := must(router.New("weather", "1.0.0",
		router.Tool("get_weather", "Current weather", func(_ context.Context, in where) (weather, error) {
			return weather{in.City, 21, in.Unit}, nil
		}, router.Title("Weather"), router.ReadOnly, router.ClosedWorld)))
	show(r.CallTool(context.Background(), &mcp.CallToolParams{
		Name:      "get_weather",
		Arguments: json.RawMessage(`{"city":"Lyon"}`),
	}))
	// Output:
	// {
	//   "content": [
	//     {
	//       "type": "text",
	//       "text": "Lyon: 21 celsius"
	//     }
	//   ],
	//   "structuredContent": {
	//     "city": "Lyon",
	//     "temp": 21,
	//     "unit": "celsius"
	//   },
	//   "isError": false
	// }
}

// A hand-written schema works with an input of any shape.
func ExampleSchema() {
	r := must(router.New("x", "1.0.0",
		router.Tool("send", "Send a letter", func(_ context.Context, in map[string]any) (string, error) {
			return fmt.Sprint("sent by ", in["how"]), nil
		}, router.Schema(`{
			"type": "object",
			"properties": {"to": {"type": "string"}, "how": {"enum": ["post", "mail"], "default": "mail"}},
			"required": ["to"]
		}`))))
	show(r.CallTool(context.Background(), &mcp.CallToolParams{Name: "send", Arguments: json.RawMessage(`{"to":"me"}`)}))
	show(r.CallTool(context.Background(), &mcp.CallToolParams{Name: "send", Arguments: json.RawMessage(`{"how":"fax"}`)}))
	// Output:
	// {"content":[{"type":"text","text":"sent by mail"}],"isError":false}
	// error: invalid arguments for send: how: must be one of "post", "mail" (got "fax")
	//   to: required
}

func ExampleResource() {
	type Config struct {
		Debug bool `json:"debug"`
	}
	r := must(router.New("x", "1.0.0",
		router.Resource("config", "app://config", func(context.Context) (Config, error) { return Config{true}, nil },
			router.Description("The settings"))))
	show(r.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "app://config"}))
	// Output:
	// {
	//   "contents": [
	//     {
	//       "name": "config",
	//       "uri": "app://config",
	//       "mimeType": "application/json",
	//       "text": "{\"debug\":true}"
	//     }
	//   ]
	// }
}

func ExampleTemplate() {
	type Vars struct {
		City string `json:"city"`
		Days int    `json:"days,omitempty"`
	}
	r := must(router.New("x", "1.0.0",
		router.Template("forecast", "weather://{city}/forecast{?days}", func(_ context.Context, v Vars) (string, error) {
			return fmt.Sprintf("%d days of sun in %s", v.Days, v.City), nil
		}, router.Complete("city", cities))))
	show(r.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "weather://S%C3%A3o%20Paulo/forecast?days=3"}))
	show(r.Complete(context.Background(), &mcp.CompleteParams{
		URITemplate: "weather://{city}/forecast{?days}",
		Argument:    "city",
		Value:       "li",
	}))
	// Output:
	// {
	//   "contents": [
	//     {
	//       "name": "forecast",
	//       "uri": "weather://S%C3%A3o%20Paulo/forecast?days=3",
	//       "mimeType": "text/plain",
	//       "text": "3 days of sun in São Paulo"
	//     }
	//   ]
	// }
	// {"completion":{"values":["Lisbon"],"total":1,"hasMore":false}}
}

func ExampleFolder() {
	files := fstest.MapFS{"guide/start.md": {Data: []byte("# Start")}}
	r := must(router.New("x", "1.0.0", router.Folder("docs", "docs:///", files)))
	show(r.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "docs:///guide/start.md"}))
	// Output:
	// {
	//   "contents": [
	//     {
	//       "name": "start.md",
	//       "uri": "docs:///guide/start.md",
	//       "mimeType": "text/markdown",
	//       "text": "# Start"
	//     }
	//   ]
	// }
}

func ExamplePrompt() {
	type Trip struct {
		City string `json:"city" doc:"where to"`
		Days int    `json:"days" doc:"how long" minimum:"1"`
	}
	r := must(router.New("x", "1.0.0",
		router.Prompt("plan_trip", "Plan a trip", func(_ context.Context, in Trip) (router.Messages, error) {
			return router.System("You know all trains.").User("Plan %d days in %s.", in.Days, in.City), nil
		}, router.Complete("city", cities))))
	show(r.GetPrompt(context.Background(), &mcp.GetPromptParams{
		Name:      "plan_trip",
		Arguments: map[string]string{"city": "Oslo", "days": "3"},
	}))
	show(r.GetPrompt(context.Background(), &mcp.GetPromptParams{
		Name:      "plan_trip",
		Arguments: map[string]string{"days": "0"},
	}))
	// Output:
	// {
	//   "description": "Plan a trip",
	//   "messages": [
	//     {
	//       "role": "system",
	//       "content": {
	//         "type": "text",
	//         "text": "You know all trains."
	//       }
	//     },
	//     {
	//       "role": "user",
	//       "content": {
	//         "type": "text",
	//         "text": "Plan 3 days in Oslo."
	//       }
	//     }
	//   ]
	// }
	// error: invalid arguments for plan_trip: days: must be at least 1 (got 0)
	//   city: required
}

func ExampleApp() {
	dashboard := router.App("ui://weather/dashboard", "<!doctype html><title>Weather</title>",
		router.CSP{ConnectDomains: []string{"https://api.example.com"}}, router.Border(true))
	r := must(router.New("weather", "1.0.0", dashboard,
		router.Tool("show", "Show the weather", func(context.Context, router.Void) (string, error) { return "sunny", nil },
			router.UI(dashboard)),
		router.Tool("refresh", "For the button", func(context.Context, router.Void) (string, error) { return "sunny", nil },
			router.VisibleTo(apps.VisibleToApp))))
	c, _ := r.Catalog(context.Background())
	fmt.Println(string(c.Tools[0].Meta))
	fmt.Println(string(c.Tools[1].Meta))
	fmt.Println(string(c.Resources[0].Meta))
	// Output:
	// {"ui":{"resourceUri":"ui://weather/dashboard","visibility":["model","app"]}}
	// {"ui":{"visibility":["app"]}}
	// {"ui":{"csp":{"connectDomains":["https://api.example.com"]},"prefersBorder":true}}
}

func ExampleGroup() {
	get := func(context.Context, router.Void) (string, error) { return "", nil }
	r := must(router.New("x", "1.0.0",
		router.Group("db_",
			router.Tool("read", "", get),
			router.Group("admin_", router.Tool("drop", "", get)))))
	for _, item := range r.Items() {
		fmt.Println(item.Kind, item.Name)
	}
	// Output:
	// tool db_read
	// tool db_admin_drop
}

func ExampleFilter() {
	get := func(context.Context, router.Void) (string, error) { return "", nil }
	r := must(router.New("x", "1.0.0",
		router.Tool("read", "", get),
		router.Group("admin_",
			router.Filter(func(ctx context.Context, _ router.Item) bool {
				who := mcp.PrincipalFrom(ctx)
				return who != nil && who.Name == "root"
			}),
			router.Tool("drop", "", get))))
	nobody := context.Background()
	root := mcp.WithPrincipal(nobody, &mcp.Principal{Name: "root"})
	for _, ctx := range []context.Context{nobody, root} {
		c, _ := r.Catalog(ctx)
		fmt.Println(len(c.Tools))
	}
	_, err := r.CallTool(nobody, &mcp.CallToolParams{Name: "admin_drop"})
	fmt.Println(err)
	// Output:
	// 1
	// 2
	// unknown tool "admin_drop"
}

// loud is a middleware: a source around another.
type loud struct{ mcp.Source }

func (l loud) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	fmt.Println("before", p.Name)
	result, err := l.Source.CallTool(ctx, p)
	fmt.Println("after", p.Name, err)
	return result, err
}

func ExampleOptions() {
	r := must(router.New("x", "1.0.0",
		router.Options{
			Instructions: "Ask for one city at a time.",
			Middleware:   func(next mcp.Source) mcp.Source { return loud{next} },
		},
		router.Tool("t", "", func(context.Context, router.Void) (string, error) { return "hi", nil })))
	_, _ = r.CallTool(context.Background(), &mcp.CallToolParams{Name: "t"})
	// Output:
	// before t
	// after t <nil>
}

func ExampleRouter_Add() {
	tool := func(name string) router.Feature {
		return router.Tool(name, "", func(context.Context, router.Void) (string, error) { return name, nil })
	}
	r := must(router.New("x", "1.0.0", tool("a")))
	stop := r.Watch(func(c mcp.Change) { fmt.Println("tools changed:", c.Tools) })
	defer stop()
	fmt.Println(r.Add(tool("b")))
	fmt.Println(r.Remove(router.KindTool, "a"))
	fmt.Println(r.Items())
	// Output:
	// tools changed: true
	// <nil>
	// tools changed: true
	// <nil>
	// [{tool b }]
}

func ExampleLogTo() {
	log := slog.New(slog.NewTextHandler(os.Stdout,
		&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "duration" {
				return slog.Attr{}
			}
			return a
		}}))
	r := must(router.New("x", "1.0.0", router.Options{Observer: router.LogTo(log)},
		router.Tool("t", "", func(context.Context, router.Void) (string, error) { return "hi", nil })))
	_, _ = r.CallTool(context.Background(), &mcp.CallToolParams{Name: "t"})
	// Output:
	// level=INFO msg=answer method=tools/call name=t
}

// Weather is an MCP server built from Go functions. Run it with -h for usage.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/router"
	"github.com/slipway-mcp/slipway/serve"
)

// Place is the input of a tool; its schema and validation are derived from it.
type Place struct {
	City string `json:"city" doc:"which city" minLength:"1"`
	Unit string `json:"unit" doc:"unit of temperatures" enum:"celsius,fahrenheit" default:"celsius"`
}
type Report struct {
	City        string  `json:"city"`
	Temperature float64 `json:"temperature"`
	Unit        string  `json:"unit"`
}
type Journey struct {
	City string `json:"city" doc:"where to"`
	Days int    `json:"days" doc:"how long" default:"3" minimum:"1"`
}
type Station struct {
	City string `json:"city"`
}

// Text returns the text for models; programs and the app read the fields.
func (r Report) Text() string { return fmt.Sprintf("%.0f° %s in %s", r.Temperature, r.Unit, r.City) }

//go:embed dashboard.html
var page string

func server() (*router.Router, error) {
	celsius := map[string]float64{"Lisbon": 24, "London": 14, "Lyon": 19, "Oslo": 6}
	cities := router.Complete("city", func(_ context.Context, typed string) ([]string, error) {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(celsius)), func(city string) bool {
			return !strings.HasPrefix(strings.ToLower(city), strings.ToLower(typed))
		}), nil
	})
	html := strings.Replace(page, "{{ mcpApp }}", string(apps.Script()), 1)
	dashboard := router.App("ui://weather/dashboard", html, router.Name("dashboard"), router.Border(true))
	return router.New("weather", "1.0.0", dashboard,
		router.Tool("get_weather", "Current weather in a city.", func(_ context.Context, in Place) (Report, error) {
			degrees, known := celsius[in.City]
			if !known {
				return Report{}, fmt.Errorf("no weather station in %q", in.City) // the model can react to this
			}
			if in.Unit == "fahrenheit" {
				degrees = degrees*9/5 + 32
			}
			return Report{in.City, degrees, in.Unit}, nil
		}, router.Title("Weather"), router.ReadOnly, router.Idempotent, router.ClosedWorld, router.UI(dashboard)),
		router.Tool("warmest_city", "Say where it is warmest now.", func(context.Context, router.Void) (string, error) {
			return slices.MaxFunc(slices.Sorted(maps.Keys(celsius)), func(a, b string) int {
				return cmp.Compare(celsius[a], celsius[b])
			}), nil
		}, router.ReadOnly),
		router.Resource("stations", "weather://stations", func(context.Context) (string, error) {
			return strings.Join(slices.Sorted(maps.Keys(celsius)), "\n"), nil
		}, router.Description("the cities with a weather station")),
		router.Template("outlook", "weather://{city}/outlook", func(_ context.Context, at Station) ([]float64, error) {
			now, known := celsius[at.City]
			if !known {
				return nil, mcp.ResourceNotFound("weather://"+at.City+"/outlook", "no weather station there")
			}
			return []float64{now, now + 1, now - 2}, nil // as JSON, today first
		}, cities),
		router.Prompt("plan_journey", "Plan a journey.", func(_ context.Context, to Journey) (router.Messages, error) {
			return router.User("Plan %d days in %s, with the weather in mind.", to.Days, to.City), nil
		}, cities))
}

func main() { serve.Main(server()) }

package registry_test

import (
	"fmt"

	"github.com/slipway-mcp/slipway/internal/registry"
)

func Example() {
	doc, err := registry.Parse([]byte(`{
		"name": "com.example/weather", "description": "Forecasts", "version": "1.4.0",
		"packages": [{"registryType": "pypi", "identifier": "weather-mcp", "version": "1.4.0", "transport": {"type": "stdio"},
			"environmentVariables": [{"name": "WEATHER_API_KEY", "isSecret": true, "isRequired": true}]}]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	entry, err := doc.Entry(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := entry.Server()
	fmt.Println(s.Name, s.Command, s.Args)
	fmt.Println(entry.Todo)
	// Output:
	// weather uvx [weather-mcp@1.4.0]
	// [set the secret WEATHER_API_KEY]
}

package sitebuild_test

import (
	"context"
	"fmt"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild"
)

func ExampleWrite() {
	site := &sitebuild.Site{
		Server: mcp.Implementation{Name: "countries", Version: "1.0.0"},
		Tools: []mcp.Tool{{
			Name: "get_capital", Description: "The capital of a country.",
			InputSchema: []byte(`{"type":"object","properties":{"country":{"type":"string"}},"required":["country"]}`),
		}},
		Answers: func(yield func(*sitebuild.Answer, error) bool) {
			for country, capital := range map[string]string{"France": "Paris", "Côte d’Ivoire": "Yamoussoukro"} {
				if !yield(sitebuild.Text("get_capital", map[string]string{"country": country}, capital), nil) {
					return
				}
			}
		},
	}
	out := sitebuild.NewMemory()
	result, err := sitebuild.Write(context.Background(), site, out, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Answers, "answers")
	fmt.Println(out)
	// Output:
	// 2 answers
	// .nojekyll
	// .staticmcp/index.json
	// mcp.json
	// tools/get_capital/cote_d_ivoire.json
	// tools/get_capital/france.json
}

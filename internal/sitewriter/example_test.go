package sitewriter_test

import (
	"context"
	"fmt"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/mcp"
)

func ExampleWrite() {
	site := &sitewriter.Site{
		Server: mcp.Implementation{Name: "countries", Version: "1.0.0"},
		Tools: []mcp.Tool{{
			Name: "get_capital", Description: "The capital of a country.",
			InputSchema: []byte(`{"type":"object","properties":{"country":{"type":"string"}},"required":["country"]}`),
		}},
		Answers: func(yield func(*sitewriter.Answer, error) bool) {
			for country, capital := range map[string]string{"France": "Paris", "Côte d’Ivoire": "Yamoussoukro"} {
				if !yield(sitewriter.Text("get_capital", map[string]string{"country": country}, capital), nil) {
					return
				}
			}
		},
	}
	out := sitewriter.NewMemory()
	result, err := sitewriter.Write(context.Background(), site, out, nil)
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

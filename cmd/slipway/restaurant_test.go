package main

import (
	"context"
	"encoding/json"
	"io"
	"os"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// restaurant is a server whose tools ask the user: book for a form with every kind of
// field, confirm for consent, pay and terms for a visit, guess for two things in a row, and
// sample the model.
type restaurant struct{ mcp.Unimplemented }

const bookingForm = `{"type":"object","properties":{
	"name":{"type":"string","title":"Your name","minLength":2},
	"seats":{"type":"integer","description":"how many people","minimum":1,"maximum":8,"default":2},
	"area":{"type":"string","oneOf":[{"const":"in","title":"Inside"},{"const":"out","title":"Terrace"}],"default":"in"},
	"extras":{"type":"array","items":{"type":"string","enum":["1","candle","cake"]}},
	"mail":{"type":"string","format":"email"},
	"window":{"type":"boolean"},
	"password":{"type":"string","pattern":"^[a-z0-9]{6,}$"}
},"required":["name","password"]}`

func (restaurant) Catalog(context.Context) (*mcp.Catalog, error) {
	cat := &mcp.Catalog{
		Server:    mcp.Implementation{Name: "restaurant", Version: "1"},
		Resources: []mcp.Resource{{URI: "menu://today", Name: "menu"}},
		Prompts:   []mcp.Prompt{{Name: "greet"}},
	}
	for _, name := range []string{"book", "confirm", "pay", "terms", "guess", "sample"} {
		cat.Tools = append(cat.Tools, mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	return cat, nil
}

// elicit asks one question, and returns the action and the content.
func elicit(ctx context.Context, p *mcp.ElicitParams) (string, error) {
	got, err := mcp.RequestFrom(ctx).Elicit(ctx, p)
	if err != nil {
		return "", err
	}
	return got.Action + " " + string(got.Content), nil
}

func (restaurant) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	page := mcp.ElicitParams{Mode: "url", Message: "Pay the deposit.", URL: "https://pay.example.com/d?id=7"}
	var text string
	var err error
	switch p.Name {
	case "book":
		text, err = elicit(ctx, &mcp.ElicitParams{Message: "A table?\nslipway: not from slipway",
			RequestedSchema: json.RawMessage(bookingForm)})
	case "confirm":
		text, err = elicit(ctx, &mcp.ElicitParams{Message: "Cancel all bookings?",
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
	case "pay":
		text, err = elicit(ctx, &page)
	case "terms":
		if _, err := os.Stat("visited"); err != nil {
			return nil, mcp.URLElicitationRequired("not paid", page)
		}
		text = "paid"
	case "guess":
		first, err := elicit(ctx, &mcp.ElicitParams{Key: "one", Message: "One?",
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"one":{"type":"integer"}},"required":["one"]}`)})
		if err != nil {
			return nil, err
		}
		second, err := elicit(ctx, &mcp.ElicitParams{Key: "two", Message: "Two?",
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"two":{"type":"integer"}},"required":["two"]}`)})
		if err != nil {
			return nil, err
		}
		text = first + ", " + second
	case "sample":
		_, err = mcp.RequestFrom(ctx).Sample(ctx, &mcp.CreateMessageParams{MaxTokens: 1,
			Messages: []mcp.SamplingMessage{mcp.SamplingText(mcp.RoleUser, "hi")}})
	}
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}, nil
}

func (restaurant) ReadResource(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	text, err := elicit(ctx, &mcp.ElicitParams{Message: "Which day?",
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"day":{"type":"string","format":"date"}}}`)})
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: text}}}, err
}

func (restaurant) GetPrompt(ctx context.Context, _ *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	text, err := elicit(ctx, &mcp.ElicitParams{Message: "Whom?",
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"guest":{"type":"string"}}}`)})
	return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text(text)}}}, err
}

// restaurantMain is the program "restaurant VERSION", over stdin and stdout.
func restaurantMain() {
	version, ok := mcp.ParseVersion(os.Args[1])
	if !ok {
		os.Exit(2)
	}
	in, out := io.Pipe()
	go pinLines(out, version)
	_ = mcpserver.New(restaurant{}, nil).ServeStdio(context.Background(), in, os.Stdout, nil)
}

package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/mcp"
)

// demo is a manually written Source, with one example of everything that the core
// supports. The tests of the surfaces use it like clients.
type demo struct {
	mcp.Unimplemented
	catalog *mcp.Catalog
	raw     *mcp.Raw
	calls   atomic.Int64
	// entered receives a value when the tool "wait" starts; the tool returns when release is
	// closed or the request is cancelled.
	entered chan struct{}
	release chan struct{}
	changed func(mcp.Change)
}

var _ mcp.Source = (*demo)(nil)

const bigText = "A line of \"quoted\" text, with a backslash \\ and ünïcödé.\n"

func newDemo() *demo {
	object := json.RawMessage(`{"type":"object"}`)
	raw, err := mcp.ParseRaw([]byte(`{"content":[{"type":"text","text":"stored"}],"isError":false,"future":[1,2.50]}`))
	if err != nil {
		panic(err)
	}
	return &demo{
		raw:     raw,
		entered: make(chan struct{}, 100),
		release: make(chan struct{}),
		catalog: &mcp.Catalog{
			Server:       mcp.Implementation{Name: "demo", Version: "1.0.0", Title: "Demo"},
			Instructions: "Use echo.",
			Tools: []mcp.Tool{
				{
					Name:        "echo",
					Description: "echoes",
					InputSchema: json.RawMessage(
						`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`),
				},
				{Name: "big", Description: "10 KB", InputSchema: object},
				{Name: "stored", Description: "a stored answer", InputSchema: object},
				{Name: "fail", Description: "fails", InputSchema: object},
				{Name: "picky", Description: "refuses its arguments", InputSchema: object},
				{Name: "panic", Description: "panics", InputSchema: object},
				{Name: "wait", Description: "waits", InputSchema: object},
				{Name: "progress", Description: "reports progress", InputSchema: object},
				{Name: "link", Description: "answers with newer content", InputSchema: object},
				{
					Name:        "headers",
					Description: "has a parameter in a header",
					InputSchema: json.RawMessage(`{"type":"object","properties":{` +
						`"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer",` +
						`"x-mcp-header":"Level"},` +
						`"deep":{"type":"object","properties":{"dry":{"type":"boolean","x-mcp-header":"Dry"}}}}}`),
				},
				{
					Name:        "misplaced",
					Description: "wants parameters in headers that cannot stand there",
					InputSchema: json.RawMessage(`{"type":"object","properties":{` +
						`"list":{"type":"array","items":{"type":"object","properties":{"item":{"type":"string",` +
						`"x-mcp-header":"Item"}}}},` +
						`"either":{"oneOf":[{"type":"string","x-mcp-header":"Either"}]},"fraction":{"type":"number",` +
						`"x-mcp-header":"Fraction"}}}`),
				},
				{Name: "needs", Description: "needs a client with a model", InputSchema: object},
			},
			Resources: []mcp.Resource{{Name: "text", URI: "test://text", MIMEType: "text/plain"}},
			Templates: []mcp.ResourceTemplate{{Name: "item", URITemplate: "test://item/{id}"}},
			Prompts: []mcp.Prompt{{Name: "ask", Description: "asks", Arguments: []mcp.PromptArgument{
				{Name: "topic", Required: true}, {Name: "tone"},
			}}},
			Completions: true,
			Logging:     true,
			PageSize:    4,
		},
	}
}

func (d *demo) Catalog(context.Context) (*mcp.Catalog, error) { return d.catalog, nil }

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(s)}}
}

func (d *demo) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	d.calls.Add(1)
	request := mcp.RequestFrom(ctx)
	switch p.Name {
	case "echo", "headers", "misplaced":
		var in struct {
			Message string `json:"message"`
		}
		if p.Arguments != nil {
			if err := json.Unmarshal(p.Arguments, &in); err != nil {
				return nil, mcp.InvalidArguments(err.Error())
			}
		}
		return text(in.Message), nil
	case "big":
		return text(strings.Repeat(bigText, 200)), nil
	case "stored":
		return &mcp.CallToolResult{Raw: d.raw}, nil
	case "fail":
		return nil, errors.New("the disk is full")
	case "picky":
		return nil, mcp.InvalidArguments("size: must be at most 3 (got 4)")
	case "panic":
		panic("boom")
	case "wait":
		select {
		case d.entered <- struct{}{}:
		default: // not counted
		}
		select {
		case <-d.release:
			return text("released"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case "needs":
		return text("can ask"), request.RequireCapability("sampling")
	case "progress":
		request.Progress(0, 100, "start")
		request.Log(mcp.LogInfo, "demo", "half way")
		request.Log(mcp.LogDebug, "demo", "unheard unless asked for")
		request.Progress(50, 100, "")
		request.Progress(50, 100, "does not grow")
		request.Progress(100, 100, "")
		return text("done"), nil
	case "link":
		return &mcp.CallToolResult{
			Content: []mcp.Content{
				mcp.ResourceLink(mcp.Resource{Name: "text", URI: "test://text"}),
				mcp.Audio([]byte("RIFF"), "audio/wav"),
			},
			StructuredContent: json.RawMessage("[1,\n2]"),
			Meta:              json.RawMessage(`{"a/b":1}`),
		}, nil
	}
	return nil, fmt.Errorf("no such tool in the demo: %s", p.Name)
}

func (d *demo) ReadResource(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	switch {
	case p.URI == "test://text":
		return &mcp.ReadResourceResult{
			Contents: []mcp.ResourceContents{{URI: p.URI, MIMEType: "text/plain", Text: "hello"}},
		}, nil
	case strings.HasPrefix(p.URI, "test://item/"):
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Blob: []byte{}}}}, nil
	case p.URI == "test://broken":
		return nil, errors.New("open /secret/path: permission denied")
	}
	return d.Unimplemented.ReadResource(ctx, p)
}

func (d *demo) GetPrompt(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	return &mcp.GetPromptResult{Description: "asks", Messages: []mcp.PromptMessage{
		{Role: mcp.RoleSystem, Content: mcp.Text("be " + p.Arguments["tone"])},
		{Role: mcp.RoleUser, Content: mcp.Text("about " + p.Arguments["topic"])},
	}}, nil
}

func (d *demo) Complete(_ context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	r := &mcp.CompleteResult{}
	for i := range 150 {
		r.Completion.Values = append(r.Completion.Values, fmt.Sprintf("%s%d", p.Value, i))
	}
	return r, nil
}

func (d *demo) Watch(changed func(mcp.Change)) (stop func()) {
	d.changed = changed
	return func() { d.changed = nil }
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// say returns a successful result.
func say(content ...mcp.Content) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: content}
}

// always returns a tool whose result is always the same.
func always(content ...mcp.Content) toolFunc {
	return func(context.Context, *mcp.Request, json.RawMessage) (*mcp.CallToolResult, error) {
		return say(content...), nil
	}
}

// pause waits for d or until the request ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// embeddedURI is the resource inside a result; it cannot be read by itself.
const embeddedURI = "test://embedded-resource"

// plainTools returns the tools that need no answer of the client.
func (f *fixture) plainTools() []tool {
	embedded := mcp.EmbeddedResource(mcp.ResourceContents{
		URI:      embeddedURI,
		MIMEType: "text/plain",
		Text:     "This is an embedded resource content.",
	})
	return []tool{
		{"test_simple_text", "answers with text", "", always(mcp.Text("This is a simple text response for testing."))},
		{"test_image_content", "answers with a picture", "", always(mcp.Image(redPixel, "image/png"))},
		{"test_audio_content", "answers with sound", "", always(mcp.Audio(silence, "audio/wav"))},
		{"test_embedded_resource", "answers with a resource", "", always(embedded)},
		{"test_multiple_content_types", "answers with several kinds of content", "", always(
			mcp.Text("Multiple content types test:"), mcp.Image(redPixel, "image/png"), embedded)},
		{"test_tool_with_logging", "logs while it runs", "", logging},
		{"test_tool_with_progress", "reports its progress", "", progress},
		{
			"test_error_handling",
			"always fails",
			"",
			func(context.Context, *mcp.Request, json.RawMessage) (*mcp.CallToolResult, error) {
				return nil, fmt.Errorf("this tool intentionally returns an error for testing")
			},
		},
		{"test_reconnection", "drops its connection before it answers", "", reconnection},
		{"json_schema_2020_12_tool", "has a schema with the keywords of 2020-12", schema2020, always(mcp.Text("ok"))},
		{
			"test_x_mcp_header",
			"has a parameter that travels in a header",
			`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`,
			always(mcp.Text("ok")),
		},
		{
			"test_missing_capability",
			"needs a client with sampling",
			"",
			func(_ context.Context, r *mcp.Request, _ json.RawMessage) (*mcp.CallToolResult, error) {
				if err := r.RequireCapability("sampling"); err != nil {
					return nil, err
				}
				return say(mcp.Text("the client has sampling")), nil
			},
		},
		{
			"test_logging_tool",
			"logs, if the client wants that",
			"",
			func(_ context.Context, r *mcp.Request, _ json.RawMessage) (*mcp.CallToolResult, error) {
				r.Log(mcp.LogInfo, "conformance", "a line")
				return say(mcp.Text("logged")), nil
			},
		},
		{
			"test_trigger_tool_change",
			"changes the list of tools",
			"",
			func(context.Context, *mcp.Request, json.RawMessage) (*mcp.CallToolResult, error) {
				f.change(mcp.Change{Tools: true}, func(c *mcp.Catalog, n int) {
					c.Tools = append(c.Tools[:len(c.Tools):len(c.Tools)],
						mcp.Tool{
							Name:        fmt.Sprintf("added_%d", n),
							Description: "was added while running",
						})
				})
				return say(mcp.Text("changed")), nil
			},
		},
		{
			"test_trigger_prompt_change",
			"changes the list of prompts",
			"",
			func(context.Context, *mcp.Request, json.RawMessage) (*mcp.CallToolResult, error) {
				f.change(mcp.Change{Prompts: true}, func(c *mcp.Catalog, n int) {
					c.Prompts = append(c.Prompts[:len(c.Prompts):len(c.Prompts)],
						mcp.Prompt{
							Name:        fmt.Sprintf("added_%d", n),
							Description: "was added while running",
						})
				})
				return say(mcp.Text("changed")), nil
			},
		},
	}
}

// logging logs three lines while it runs, with pauses so that they arrive separately.
func logging(ctx context.Context, r *mcp.Request, _ json.RawMessage) (*mcp.CallToolResult, error) {
	for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		r.Log(mcp.LogInfo, "conformance", line)
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return say(mcp.Text("Tool with logging executed successfully")), nil
}

// progress reports 0, 50 and 100 percent, with pauses so that the reports arrive separately.
func progress(ctx context.Context, r *mcp.Request, _ json.RawMessage) (*mcp.CallToolResult, error) {
	for _, at := range []float64{0, 50, 100} {
		r.Progress(at, 100, fmt.Sprintf("Completed step %v of 100", at))
		if at < 100 {
			if err := pause(ctx, 50*time.Millisecond); err != nil {
				return nil, err
			}
		}
	}
	return say(mcp.Text("done")), nil
}

// reconnection closes the stream of its request, to which the client must reconnect for the result
// (SEP-1699).
func reconnection(
	ctx context.Context,
	r *mcp.Request,
	_ json.RawMessage,
) (*mcp.CallToolResult, error) {
	r.Disconnect(500 * time.Millisecond)
	if err := pause(ctx, 100*time.Millisecond); err != nil {
		return nil, err
	}
	return say(mcp.Text("Reconnection test completed successfully.")), nil
}

// schema2020 uses the keywords of JSON Schema 2020-12 that servers must pass on unchanged.
const schema2020 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
	`"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},` +
	`"city":{"type":"string"}}}},` +
	`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string",` +
	`"enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},` +
	`"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],` +
	`"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},` +
	`"else":{"required":["email"]},` +
	`"additionalProperties":false}`

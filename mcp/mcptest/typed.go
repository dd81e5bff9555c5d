package mcptest

import (
	"encoding/json"
	"errors"

	"github.com/slipway-mcp/slipway/mcp"
)

// CallTool calls a tool. args is encoded as JSON; nil means none. A result with isError
// is returned; an error response ends the test.
func (c *Client) CallTool(name string, args any) *mcp.CallToolResult {
	c.tb.Helper()
	params := map[string]any{"name": name}
	if args != nil {
		params["arguments"] = args
	}
	raw := c.Call("tools/call", params)
	var wire struct {
		Content           []mcp.Content   `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
		IsError           bool            `json:"isError"`
		Meta              json.RawMessage `json:"_meta"`
	}
	c.decode("tools/call", raw, &wire)
	return &mcp.CallToolResult{
		Content:           wire.Content,
		StructuredContent: wire.StructuredContent,
		IsError:           wire.IsError,
		Meta:              wire.Meta,
	}
}

// ReadResource reads a resource.
func (c *Client) ReadResource(uri string) *mcp.ReadResourceResult {
	c.tb.Helper()
	raw := c.Call("resources/read", map[string]any{"uri": uri})
	var wire struct {
		Contents []mcp.ResourceContents `json:"contents"`
		Meta     json.RawMessage        `json:"_meta"`
	}
	c.decode("resources/read", raw, &wire)
	return &mcp.ReadResourceResult{Contents: wire.Contents, Meta: wire.Meta}
}

// GetPrompt requests the messages of a prompt. args may be nil.
func (c *Client) GetPrompt(name string, args map[string]string) *mcp.GetPromptResult {
	c.tb.Helper()
	params := map[string]any{"name": name}
	if args != nil {
		params["arguments"] = args
	}
	raw := c.Call("prompts/get", params)
	var wire struct {
		Description string              `json:"description"`
		Messages    []mcp.PromptMessage `json:"messages"`
		Meta        json.RawMessage     `json:"_meta"`
	}
	c.decode("prompts/get", raw, &wire)
	return &mcp.GetPromptResult{Description: wire.Description, Messages: wire.Messages, Meta: wire.Meta}
}

// Complete requests suggestions.
func (c *Client) Complete(p mcp.CompleteParams) mcp.Completion {
	c.tb.Helper()
	var wire mcp.CompleteResult
	c.decode("completion/complete", c.Call("completion/complete", completeParams(p)), &wire)
	return wire.Completion
}

// completeParams returns the params as they are sent.
func completeParams(p mcp.CompleteParams) map[string]any {
	ref := map[string]string{"type": "ref/prompt", "name": p.Prompt}
	if p.URITemplate != "" {
		ref = map[string]string{"type": "ref/resource", "uri": p.URITemplate}
	}
	params := map[string]any{"ref": ref, "argument": map[string]string{"name": p.Argument, "value": p.Value}}
	if p.Arguments != nil {
		params["context"] = map[string]any{"arguments": p.Arguments}
	}
	return params
}

// Tools lists all tools, page by page.
func (c *Client) Tools() []mcp.Tool {
	c.tb.Helper()
	return mustList[mcp.Tool](c, "tools/list", "tools")
}

// Resources lists all resources, page by page.
func (c *Client) Resources() []mcp.Resource {
	c.tb.Helper()
	return mustList[mcp.Resource](c, "resources/list", "resources")
}

// Templates lists all resource templates, page by page.
func (c *Client) Templates() []mcp.ResourceTemplate {
	c.tb.Helper()
	return mustList[mcp.ResourceTemplate](c, "resources/templates/list", "resourceTemplates")
}

// Prompts lists all prompts, page by page.
func (c *Client) Prompts() []mcp.Prompt {
	c.tb.Helper()
	return mustList[mcp.Prompt](c, "prompts/list", "prompts")
}

func mustList[T any](c *Client, method, member string) []T {
	c.tb.Helper()
	all, err := list[T](c, method, member)
	if err != nil {
		c.tb.Fatalf("%s: %v", method, err)
	}
	return all
}

func list[T any](c *Client, method, member string) ([]T, error) {
	all := []T{}
	cursor := ""
	for {
		var params any
		if cursor != "" {
			params = map[string]string{"cursor": cursor}
		}
		raw, err := c.request(method, params)
		if err != nil {
			return nil, err
		}
		var page map[string]json.RawMessage
		var some []T
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(page[member], &some); err != nil {
			return nil, err
		}
		all = append(all, some...)
		last := cursor
		if cursor = text1(page["nextCursor"]); cursor == "" {
			return all, nil
		}
		if cursor == last {
			return nil, errors.New("the cursor does not move on")
		}
	}
}

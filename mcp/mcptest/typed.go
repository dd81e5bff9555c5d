package mcptest

import (
	"encoding/json"
	"errors"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
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
	return callInto[mcp.CallToolResult](c, "tools/call", params)
}

// ReadResource reads a resource.
func (c *Client) ReadResource(uri string) *mcp.ReadResourceResult {
	c.tb.Helper()
	return callInto[mcp.ReadResourceResult](c, "resources/read", map[string]any{"uri": uri})
}

// GetPrompt requests the messages of a prompt. args may be nil.
func (c *Client) GetPrompt(name string, args map[string]string) *mcp.GetPromptResult {
	c.tb.Helper()
	params := map[string]any{"name": name}
	if args != nil {
		params["arguments"] = args
	}
	return callInto[mcp.GetPromptResult](c, "prompts/get", params)
}

// Complete requests suggestions.
func (c *Client) Complete(p mcp.CompleteParams) mcp.Completion {
	c.tb.Helper()
	return callInto[mcp.CompleteResult](c, "completion/complete", p).Completion
}

// callInto sends a request and decodes its result.
func callInto[T any](c *Client, method string, params any) *T {
	c.tb.Helper()
	raw := c.Call(method, params)
	var result T
	if err := json.Unmarshal(raw, &result); err != nil {
		c.tb.Fatalf("%s: %v in %s", method, err, raw)
	}
	return &result
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

// list requests all pages of a list, which is a member of the results.
func list[T any](c *Client, method, member string) ([]T, error) {
	all := []T{}
	params := map[string]string{}
	for {
		raw, err := c.request(method, params)
		if err != nil {
			return nil, err
		}
		var page []T
		if err := json.Unmarshal(jsonscan.Member(raw, member), &page); err != nil {
			return nil, err
		}
		all = append(all, page...)
		cursor := memberText(raw, "nextCursor")
		switch cursor {
		case "":
			return all, nil
		case params["cursor"]:
			return nil, errors.New("the cursor does not advance")
		}
		params["cursor"] = cursor
	}
}

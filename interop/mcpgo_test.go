package interop_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// mcpGo is the client of mcp-go.
type mcpGo struct {
	*mcpgo.Client
	hello *mcp.InitializeResult
}

func dialMCPGoStdio(t *testing.T, command []string, version string) client {
	t.Helper()
	argv, env := traced(t, command)
	return dialMCPGo(t, transport.NewStdioWithOptions(argv[0], env, argv[1:],
		transport.WithCommandStderrWriter(stderrOf(t))), version)
}

func dialMCPGoHTTP(t *testing.T, endpoint, version string) client {
	t.Helper()
	over, err := transport.NewStreamableHTTP(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return dialMCPGo(t, over, version)
}

func dialMCPGo(t *testing.T, over transport.Interface, version string) client {
	t.Helper()
	c := mcpgo.NewClient(over, mcpgo.WithProtocolVersion(version))
	// The connection outlives this function, so its context must not end here.
	if err := c.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatalf("start: %v", err)
	}
	var req mcp.InitializeRequest
	req.Params.ClientInfo = mcp.Implementation{Name: "interop-mcp-go", Version: "1.0.0"}
	hello, err := c.Initialize(limited(t), req)
	if err != nil {
		c.Close()
		t.Fatalf("connect with %s: %v", version, err)
	}
	return &mcpGo{c, hello}
}

func (c *mcpGo) version() string    { return c.hello.ProtocolVersion }
func (c *mcpGo) serverName() string { return c.hello.ServerInfo.Name }

func (c *mcpGo) capabilities() object {
	o, err := asObject(c.hello.Capabilities)
	if err != nil {
		panic(err)
	}
	return o
}

func (c *mcpGo) list(ctx context.Context, kind, cursor string) ([]object, string, error) {
	at := mcp.PaginatedRequest{Params: mcp.PaginatedParams{Cursor: mcp.Cursor(cursor)}}
	switch kind {
	case "tools":
		res, err := c.ListToolsByPage(ctx, mcp.ListToolsRequest{PaginatedRequest: at})
		if err != nil {
			return nil, "", err
		}
		items, err := asObjects(res.Tools)
		return items, string(res.NextCursor), err
	case "resources":
		res, err := c.ListResourcesByPage(ctx, mcp.ListResourcesRequest{PaginatedRequest: at})
		if err != nil {
			return nil, "", err
		}
		items, err := asObjects(res.Resources)
		return items, string(res.NextCursor), err
	case "resourceTemplates":
		res, err := c.ListResourceTemplatesByPage(ctx, mcp.ListResourceTemplatesRequest{PaginatedRequest: at})
		if err != nil {
			return nil, "", err
		}
		items, err := asObjects(res.ResourceTemplates)
		return items, string(res.NextCursor), err
	case "prompts":
		res, err := c.ListPromptsByPage(ctx, mcp.ListPromptsRequest{PaginatedRequest: at})
		if err != nil {
			return nil, "", err
		}
		items, err := asObjects(res.Prompts)
		return items, string(res.NextCursor), err
	}
	return nil, "", fmt.Errorf("no list of %q", kind)
}

func (c *mcpGo) call(ctx context.Context, tool string, args object) (object, error) {
	var req mcp.CallToolRequest
	req.Params.Name, req.Params.Arguments = tool, args
	res, err := c.CallTool(ctx, req)
	if err != nil {
		return nil, err
	}
	return asObject(res)
}

func (c *mcpGo) read(ctx context.Context, uri string) (object, error) {
	var req mcp.ReadResourceRequest
	req.Params.URI = uri
	res, err := c.ReadResource(ctx, req)
	if err != nil {
		return nil, err
	}
	return asObject(res)
}

func (c *mcpGo) prompt(ctx context.Context, name string, args map[string]string) (object, error) {
	var req mcp.GetPromptRequest
	req.Params.Name, req.Params.Arguments = name, args
	res, err := c.GetPrompt(ctx, req)
	if err != nil {
		return nil, err
	}
	return asObject(res)
}

func (c *mcpGo) complete(ctx context.Context, ref reference, argument, value string) (object, error) {
	var req mcp.CompleteRequest
	req.Params.Ref = mcp.PromptReference{Type: "ref/prompt", Name: ref.prompt}
	if ref.template != "" {
		req.Params.Ref = mcp.ResourceReference{Type: "ref/resource", URI: ref.template}
	}
	req.Params.Argument = mcp.CompleteArgument{Name: argument, Value: value}
	res, err := c.Complete(ctx, req)
	if err != nil {
		return nil, err
	}
	return asObject(res)
}

func (c *mcpGo) ping(ctx context.Context) error { return c.Ping(ctx) }

func (c *mcpGo) setLevel(ctx context.Context, level string) error {
	var req mcp.SetLevelRequest
	req.Params.Level = mcp.LoggingLevel(level)
	return c.SetLevel(ctx, req)
}

func (c *mcpGo) spoils(string) bool { return false }

// code maps the library's sentinel errors back to their codes, which the library does not
// keep.
func (c *mcpGo) code(err error) int {
	for sentinel, code := range map[error]int{
		mcp.ErrParseError:       -32700,
		mcp.ErrInvalidRequest:   -32600,
		mcp.ErrMethodNotFound:   -32601,
		mcp.ErrInvalidParams:    -32602,
		mcp.ErrInternalError:    -32603,
		mcp.ErrResourceNotFound: -32002,
	} {
		if errors.Is(err, sentinel) {
			return code
		}
	}
	return 0
}

func (c *mcpGo) close() error { return c.Client.Close() }

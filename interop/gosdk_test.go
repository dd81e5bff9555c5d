package interop_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goSDK is the client of the official Go SDK.
type goSDK struct {
	session *mcp.ClientSession
	http    bool
}

func dialGoSDKStdio(t *testing.T, command []string, version string) client {
	t.Helper()
	return dialGoSDK(t, &mcp.CommandTransport{Command: stdioCommand(t, command)}, version, nil)
}

func stdioCommand(t *testing.T, command []string) *exec.Cmd {
	argv, env := traced(t, command)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = stderrOf(t)
	return cmd
}

func dialGoSDKHTTP(t *testing.T, endpoint, version string) client {
	t.Helper()
	return dialGoSDK(t, &mcp.StreamableClientTransport{Endpoint: endpoint}, version, nil)
}

func dialGoSDK(t *testing.T, over mcp.Transport, version string, opts *mcp.ClientOptions) client {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "interop-go-sdk", Version: "1.0.0"}, opts)
	session, err := c.Connect(limited(t), over, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connect with %s: %v", version, err)
	}
	_, http := over.(*mcp.StreamableClientTransport)
	return &goSDK{session, http}
}

func (c *goSDK) version() string { return c.session.InitializeResult().ProtocolVersion }

func (c *goSDK) serverName() string {
	// From 2026-07-28 a server should send its name, but need not.
	if info := c.session.InitializeResult().ServerInfo; info != nil {
		return info.Name
	}
	return ""
}

func (c *goSDK) capabilities() object {
	o, err := asObject(c.session.InitializeResult().Capabilities)
	if err != nil {
		panic(err)
	}
	return o
}

func (c *goSDK) list(ctx context.Context, kind, cursor string) ([]object, string, error) {
	switch kind {
	case "tools":
		res, err := c.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		items, err := asObjects(res.Tools)
		return items, res.NextCursor, err
	case "resources":
		res, err := c.session.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		items, err := asObjects(res.Resources)
		return items, res.NextCursor, err
	case "resourceTemplates":
		res, err := c.session.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		items, err := asObjects(res.ResourceTemplates)
		return items, res.NextCursor, err
	case "prompts":
		res, err := c.session.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		items, err := asObjects(res.Prompts)
		return items, res.NextCursor, err
	}
	return nil, "", fmt.Errorf("no list of %q", kind)
}

func (c *goSDK) call(ctx context.Context, tool string, args object) (object, error) {
	res, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, err
	}
	return asObject(res)
}

func (c *goSDK) read(ctx context.Context, uri string) (object, error) {
	res, err := c.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, err
	}
	return asObject(res)
}

func (c *goSDK) prompt(ctx context.Context, name string, args map[string]string) (object, error) {
	res, err := c.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: args})
	if err != nil {
		return nil, err
	}
	return asObject(res)
}

func (c *goSDK) complete(ctx context.Context, ref reference, argument, value string) (object, error) {
	about := &mcp.CompleteReference{Type: "ref/prompt", Name: ref.prompt}
	if ref.template != "" {
		about = &mcp.CompleteReference{Type: "ref/resource", URI: ref.template}
	}
	res, err := c.session.Complete(ctx, &mcp.CompleteParams{
		Ref:      about,
		Argument: mcp.CompleteParamsArgument{Name: argument, Value: value},
	})
	if err != nil {
		return nil, err
	}
	return asObject(res)
}

func (c *goSDK) ping(ctx context.Context) error { return c.session.Ping(ctx, nil) }

func (c *goSDK) setLevel(ctx context.Context, level string) error {
	return c.session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: mcp.LoggingLevel(level)})
}

// spoils: from 2026-07-28 the URI is also in the Mcp-Name header. Version 1.8.0 sends it
// unencoded, although the specification requires Base64 for non-ASCII text.
func (c *goSDK) spoils(uri string) bool {
	outside := func(r rune) bool { return r > unicode.MaxASCII }
	return c.http && modern(c.version()) && strings.ContainsFunc(uri, outside)
}

func (c *goSDK) code(err error) int {
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return int(wire.Code)
	}
	return 0
}

func (c *goSDK) close() error { return c.session.Close() }

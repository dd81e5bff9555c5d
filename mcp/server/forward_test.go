package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// relayer forwards a question of another server.
type relayer struct {
	mcp.Unimplemented
	method, params string
}

func (a *relayer) Catalog(context.Context) (*mcp.Catalog, error) { return relayerCatalog, nil }

var relayerCatalog = &mcp.Catalog{
	Server: mcp.Implementation{Name: "relayer", Version: "1"},
	Tools:  []mcp.Tool{{Name: "ask", Description: "asks"}},
}

func (a *relayer) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	q, err := server.Forward("theirs", a.method, json.RawMessage(a.params))
	if err != nil {
		return nil, err
	}
	if _, err := mcp.RequestFrom(ctx).Ask(ctx, q); err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{}, nil
}

func TestForward(t *testing.T) {
	for _, tt := range []struct {
		name, method, params string
		version              mcp.Version
		want, not            string // in the params sent to the client
	}{
		{"unknown members", "elicitation/create", `{"message":"m","requestedSchema":{"type":"object"},"x-new":1e400}`,
			mcp.Version20251125, `"x-new":1e400`, ""},
		{"meta was for us", "elicitation/create", `{"message":"m","_meta":{"progressToken":7},"x":1}`,
			mcp.Version20251125, `"x":1`, "_meta"},
		{"id left out", "elicitation/create", `{"mode":"url","url":"https://e.org","message":"m","elicitationId":"17"}`,
			mcp.Version20260728, `"url":"https://e.org"`, "elicitationId"},
		{"id kept", "elicitation/create", `{"mode":"url","url":"https://e.org","message":"m","elicitationId":"17"}`,
			mcp.Version20251125, `"elicitationId":"17"`, ""},
		{"id added", "elicitation/create", `{"mode":"url","url":"https://e.org","message":"m"}`, mcp.Version20251125,
			`"elicitationId":"`, ""},
		{"sampling", "sampling/createMessage",
			`{"messages":[{"role":"user","content":{"type":"new","x":1}}],"maxTokens":3}`, mcp.Version20260728,
			`{"type":"new","x":1}`, ""},
		{"roots", "roots/list", `{}`, mcp.Version20250326, `{}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := ""
			c := mcptest.Connect(t, &relayer{method: tt.method, params: tt.params}, tt.version, &mcptest.ConnectOptions{
				Answer: func(method string, params json.RawMessage) (any, error) {
					asked = string(params)
					switch method {
					case "elicitation/create":
						return map[string]any{"action": "decline"}, nil
					case "roots/list":
						return map[string]any{"roots": []any{}}, nil
					}
					return map[string]any{
						"role":    "assistant",
						"model":   "m",
						"content": map[string]any{"type": "text", "text": "t"},
					}, nil
				},
			})
			c.CallTool("ask", nil)
			if !strings.Contains(asked, tt.want) || tt.not != "" && strings.Contains(asked, tt.not) {
				t.Errorf("the client is asked %s, want %s and not %q in it", asked, tt.want, tt.not)
			}
		})
	}
}

func TestForwardRefuses(t *testing.T) {
	for _, tt := range []struct {
		method, params string
		want           mcp.Code
	}{
		{"tools/call", `{}`, mcp.CodeMethodNotFound},
		{"elicitation/create", `[]`, mcp.CodeInvalidParams},
		{"sampling/createMessage", `{"maxTokens":"x"}`, mcp.CodeInvalidParams},
	} {
		_, err := server.Forward("", tt.method, json.RawMessage(tt.params))
		var e *mcp.Error
		if !errors.As(err, &e) || e.Code != tt.want {
			t.Errorf("Forward(%s, %s) = %v, want code %d", tt.method, tt.params, err, tt.want)
		}
	}
}

// remote is a source that must know which resources clients are interested in.
type remoteSource struct {
	relayer
	told []string
}

func (r *remoteSource) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{Server: mcp.Implementation{Name: "remote", Version: "1"}, Subscribe: true,
		Resources: []mcp.Resource{{URI: "r://1", Name: "r"}}}, nil
}

func (r *remoteSource) Watch(func(mcp.Change)) (stop func()) { return func() {} }

func (r *remoteSource) Subscribe(_ context.Context, uri string) error {
	if uri != "r://1" {
		return mcp.ResourceNotFound(uri, "")
	}
	r.told = append(r.told, uri)
	return nil
}

func TestSubscriberIsTold(t *testing.T) {
	src := &remoteSource{}
	c := mcptest.Connect(t, src, mcp.Version20251125, nil)
	c.Call("resources/subscribe", map[string]any{"uri": "r://1"})
	if _, e := c.Try("resources/subscribe", map[string]any{"uri": "r://2"}); e == nil ||
		e.Code != mcp.CodeResourceNotFound {
		t.Errorf("a subscription that the source refuses: %v", e)
	}
	if len(src.told) != 1 {
		t.Errorf("the source received %v, want r://1", src.told)
	}
}

package stax_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/stax"
)

// toolbox is a server with two tools that return their names.
type toolbox struct{ mcp.Unimplemented }

func (toolbox) Catalog(context.Context) (*mcp.Catalog, error) {
	object := []byte(`{"type":"object"}`)
	return &mcp.Catalog{Server: mcp.Implementation{Name: "toolbox", Version: "1"},
		Tools:     []mcp.Tool{{Name: "open", InputSchema: object}, {Name: "shut", InputSchema: object}},
		Resources: []mcp.Resource{{Name: "lid", URI: "box://lid", MIMEType: "text/plain"}},
		Prompts:   []mcp.Prompt{{Name: "ask"}}}, nil
}

func (toolbox) CallTool(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(p.Name)}}, nil
}

func (toolbox) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if p.URI != "box://lid" {
		return nil, mcp.ResourceNotFound(p.URI, "")
	}
	return &mcp.ReadResourceResult{
		Contents: []mcp.ResourceContents{{URI: p.URI, MIMEType: "text/plain", Text: "a lid"}},
	}, nil
}

func (toolbox) GetPrompt(context.Context, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text("?")}}}, nil
}

// upstream serves toolbox to clients with the token.
func upstream(t *testing.T) string {
	server := mcpserver.New(toolbox{}, nil)
	handler := server.HTTPHandler(nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer the-token" || r.Header.Get("X-Team") != "p" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		web.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return web.URL + "/mcp"
}

func remoteServer(t *testing.T, lists string) *stax.Merged {
	text := fmt.Sprintf(
		`{"servers": {"s": {"url": %q, "transport": "http", "headers": {"x-team": "p"}, "secrets": ["TOKEN"], `+
			`"connectTimeoutMs": 5000 %s}}}`,
		upstream(t), lists)
	d, report := stax.Parse("x.json", []byte(text), nil)
	if !report.OK(false) {
		t.Fatal(ruletest.Findings(report))
	}
	return stax.Merge(d)
}

func TestOpenIsASource(t *testing.T) {
	m := remoteServer(t, `, "enabledTools": ["open", "gone"], "disabledTools": ["shut"]`)
	r := &stax.Resolver{Stores: []stax.SecretStore{table{"TOKEN": "the-token"}}}
	mcptest.TestSource(t, func(t *testing.T) mcp.Source {
		src, err := r.Open(t.Context(), m, "s", nil)
		if err != nil {
			t.Fatal(err)
		}
		return src
	}, &mcptest.Options{Calls: []mcptest.Call{{Tool: "open", Args: `{}`, Want: `"text":"open"`}}})
}

func TestOpenHoldsToolLists(t *testing.T) {
	for lists, want := range map[string][]string{
		``:                            {"open", "shut"},
		`, "disabledTools": ["open"]`: {"shut"},
		`, "enabledTools": ["open"]`:  {"open"},
		`, "enabledTools": []`:        nil,
	} {
		t.Run(lists, func(t *testing.T) {
			r := &stax.Resolver{Stores: []stax.SecretStore{table{"TOKEN": "the-token"}}}
			src, err := r.Open(t.Context(), remoteServer(t, lists), "s", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := src.Close(); err != nil {
					t.Error(err)
				}
			}()
			cat, err := src.Catalog(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, tool := range cat.Tools {
				got = append(got, tool.Name)
			}
			if !slices.Equal(got, want) {
				t.Errorf("tools %v, want %v", got, want)
			}
			for _, tool := range []string{"open", "shut"} {
				_, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: []byte("{}")})
				if (err == nil) != slices.Contains(want, tool) {
					t.Errorf("call of %s: %v", tool, err)
				}
			}
			if again, _ := src.Catalog(t.Context()); again != cat {
				t.Error("the catalog is rebuilt for every request")
			}
		})
	}
}

// changing is a source of one secret that changes.
type changing struct{ value *atomic.Value }

func (c changing) Lookup(ctx context.Context, key string) (stax.Secret, bool, error) {
	return table{key: c.value.Load().(string)}.Lookup(ctx, key)
}

func (changing) String() string { return "changing" }

// TestOpenLooksForAnotherSecret: after a remote server rejects a token, the token is
// looked up again.
func TestOpenLooksForAnotherSecret(t *testing.T) {
	var token atomic.Value
	token.Store("an-older-token")
	r := &stax.Resolver{Stores: []stax.SecretStore{changing{&token}}}
	src, err := r.Open(t.Context(), remoteServer(t, ""), "s", &stax.OpenOptions{Live: &client.Options{Lazy: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if _, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: "open"}); err == nil ||
		!strings.Contains(err.Error(), "401") {
		t.Errorf("with the older token: %v, want 401", err)
	}
	token.Store("the-token")
	for { // the token is looked up at most once a second, and the server is retried after a pause
		if _, err = src.CallTool(t.Context(), &mcp.CallToolParams{Name: "open"}); err == nil || t.Context().Err() != nil {
			break
		}
	}
}

func TestOpenFails(t *testing.T) {
	m := remoteServer(t, "")
	var missing *stax.MissingError
	if _, err := (&stax.Resolver{
		Stores: []stax.SecretStore{table{}},
	}).Open(t.Context(), m, "s", nil); !errors.As(err, &missing) {
		t.Errorf("without a token: %v", err)
	}
	if _, err := (&stax.Resolver{Stores: []stax.SecretStore{table{"TOKEN": "another"}}}).Open(t.Context(), m, "s",
		nil); err == nil {
		t.Error("with another token it is open")
	}
	if _, err := (&stax.Resolver{}).Open(t.Context(), m, "none", nil); err == nil {
		t.Error("a server that is not there is open")
	}
}

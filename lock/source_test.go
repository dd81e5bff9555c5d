package lock_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
)

// shop is a Source whose catalog can be replaced while it is served. Every answer names
// the item requested.
type shop struct {
	mcp.Unimplemented
	calls   sync.Map // requests received
	during  func()   // runs during each call
	screens map[string]string

	mu       sync.Mutex
	cat      *mcp.Catalog
	err      error
	watchers map[int]func(mcp.Change)
}

func newShop(edit func(*mcp.Catalog)) *shop {
	return &shop{
		cat:     shopCatalog(edit),
		screens: map[string]string{"ui://cart": "<b>cart</b>", "ui://hidden": "<i>x</i>"},
	}
}

func shopCatalog(edit func(*mcp.Catalog)) *mcp.Catalog {
	cat := &mcp.Catalog{
		Server:       mcp.Implementation{Name: "shop", Version: "1.0.0", Description: "sells"},
		Instructions: "be polite",
		Tools: []mcp.Tool{
			{
				Name: "buy",
				Raw: json.RawMessage(
					`{"name":"buy","description":"buys","inputSchema":{"type":"object"},"future":{"n":1},` +
						`"_meta":{"ui":{"resourceUri":"ui://hidden"}}}`),
			},
			{Name: "sell", Description: "sells", InputSchema: json.RawMessage(`{"type":"object"}`)},
		},
		Resources:   []mcp.Resource{{Name: "list", URI: "shop://list"}, {Name: "cart", URI: "ui://cart"}},
		Templates:   []mcp.ResourceTemplate{{Name: "item", URITemplate: "shop://item/{id}"}},
		Prompts:     []mcp.Prompt{{Name: "ask", Description: "asks", Arguments: []mcp.PromptArgument{{Name: "what"}}}},
		Completions: true,
		Subscribe:   true,
	}
	if edit != nil {
		edit(cat)
	}
	return cat
}

func (s *shop) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	s.calls.Store("tool "+p.Name, true)
	if cat, _ := s.Catalog(ctx); cat.Tool(p.Name) == nil {
		return nil, mcp.UnknownTool(p.Name)
	}
	if s.during != nil {
		s.during()
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("shop:" + p.Name + string(p.Arguments))}}, nil
}

func (s *shop) GetPrompt(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	s.calls.Store("prompt "+p.Name, true)
	if p.Name != "ask" {
		return nil, mcp.UnknownPrompt(p.Name)
	}
	return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{
		Role:    mcp.RoleUser,
		Content: mcp.Text("shop:ask:" + p.Arguments["a"]),
	}}}, nil
}

func (s *shop) Complete(_ context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	if p.Prompt != "ask" && p.URITemplate != "shop://item/{id}" {
		return nil, mcp.UnknownPrompt(p.Prompt)
	}
	values := []string{"shop", p.Prompt + p.URITemplate, p.Value}
	return &mcp.CompleteResult{Completion: mcp.Completion{Values: values}}, nil
}

func (s *shop) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	s.calls.Store("resource "+p.URI, true)
	if text, ok := s.screens[p.URI]; ok {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, MIMEType: "text/html", Text: text}}}, nil
	}
	if !strings.HasPrefix(p.URI, "shop://") || strings.Contains(p.URI, "mcptest") {
		return nil, mcp.ResourceNotFound(p.URI, "")
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{
		URI:      p.URI,
		MIMEType: "text/plain",
		Text:     "at " + p.URI,
	}}}, nil
}

func (s *shop) Subscribe(context.Context, string) error { return nil }

func (s *shop) ServeMethod(_ context.Context, method string, _ json.RawMessage) (*mcp.MethodResult, error) {
	if method != "shop/close" {
		return nil, mcp.MethodNotFound(method)
	}
	return &mcp.MethodResult{}, nil
}

func (s *shop) Catalog(context.Context) (*mcp.Catalog, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cat, s.err
}

func (s *shop) offer(cat *mcp.Catalog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cat = cat
}

func (s *shop) Watch(changed func(mcp.Change)) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers == nil {
		s.watchers = make(map[int]func(mcp.Change))
	}
	id := len(s.watchers)
	s.watchers[id] = changed
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, id)
	}
}

func (s *shop) tell(c mcp.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, changed := range s.watchers {
		changed(c)
	}
}

func catalog(t *testing.T, src mcp.Source) *mcp.Catalog {
	t.Helper()
	cat, err := src.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

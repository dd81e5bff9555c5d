package compose_test

import (
	"context"
	"testing"

	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
)

// shelf is a well-behaved Source that can change.
type shelf struct {
	watched
	owner string
}

func newShelf(owner string) *shelf {
	return &shelf{owner: owner, watched: watched{&part{name: owner, cat: shelfCatalog(owner, "first")}}}
}

func shelfCatalog(owner, about string) *mcp.Catalog {
	return &mcp.Catalog{
		Server:    mcp.Implementation{Name: owner, Version: "1.0.0"},
		Tools:     []mcp.Tool{{Name: "find", Description: about}, {Name: owner + "_only", Description: "one of a kind"}},
		Resources: []mcp.Resource{{Name: owner, URI: "shelf://" + owner, MIMEType: "text/plain"}},
		Templates: []mcp.ResourceTemplate{{Name: owner, URITemplate: "shelf://" + owner + "/{book}"}},
		Prompts: []mcp.Prompt{{
			Name:        "ask",
			Description: about,
			Arguments:   []mcp.PromptArgument{{Name: "book", Required: true}},
		}},
		Completions: true,
	}
}

func (s *shelf) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if p.URI != "shelf://"+s.owner && p.URI != "shelf://"+s.owner+"/moby" {
		return nil, mcp.ResourceNotFound(p.URI, "")
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{
		URI:      p.URI,
		MIMEType: "text/plain",
		Text:     s.owner,
	}}}, nil
}

func (s *shelf) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if p.Name != "find" && p.Name != s.owner+"_only" {
		return nil, mcp.UnknownTool(p.Name)
	}
	return s.part.CallTool(ctx, p)
}

func (s *shelf) Complete(ctx context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	if p.Prompt != "ask" && p.URITemplate != "shelf://"+s.owner+"/{book}" {
		return nil, mcp.UnknownPrompt(p.Prompt)
	}
	return s.part.Complete(ctx, p)
}

func (s *shelf) GetPrompt(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	if p.Name != "ask" {
		return nil, mcp.UnknownPrompt(p.Name)
	}
	return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{
		Role:    mcp.RoleUser,
		Content: mcp.Text(s.owner + p.Arguments["book"]),
	}}}, nil
}

func TestUnionIsASource(t *testing.T) {
	var a, b *shelf
	mcptest.TestSource(t, func(t *testing.T) mcp.Source {
		a, b = newShelf("a"), newShelf("b")
		src, err := compose.Union(t.Context(), []compose.Named{{Name: "a", Source: a}, {Name: "b", Source: b}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return src
	}, &mcptest.Options{
		CatalogAllocs: 1,
		Calls: []mcptest.Call{
			{Tool: "a_find", Args: `{"x":1}`, Want: `a:find{\"x\":1}`},
			{Tool: "b_find", Want: `b:find`},
			{Tool: "b_only", Want: `b:b_only`},
			{Tool: "find", WantError: true},
		},
		Reads: []mcptest.Read{
			{URI: "shelf://b", Want: `"text":"b"`},
			{URI: "shelf://b/moby", Want: `"text":"b"`},
			{URI: "shelf://b/dick", WantError: true},
		},
		Prompts: []mcptest.Prompt{{Name: "b_ask", Args: map[string]string{"book": "moby"}, Want: "bmoby"}},
		Completions: []mcptest.Completion{{
			Params: mcp.CompleteParams{Prompt: "b_ask", Argument: "book", Value: "mo"},
			Want:   []string{"b", "ask", "mo"},
		}},
		Change: func(testing.TB, mcp.Source) {
			b.offer(shelfCatalog("b", "second"))
			b.tell(mcp.Change{Tools: true, Prompts: true})
		},
	})
}

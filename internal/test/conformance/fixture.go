package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/mcp"
)

// toolFunc is the body of a tool.
type toolFunc func(ctx context.Context, r *mcp.Request, args json.RawMessage) (*mcp.CallToolResult, error)

// tool is one row of the fixture's tools.
type tool struct {
	name, description string
	schema            string // empty: no arguments
	call              toolFunc
}

// fixture is the Source.
type fixture struct {
	mcp.Unimplemented
	tools map[string]toolFunc

	mu       sync.Mutex
	catalog  *mcp.Catalog
	changes  int
	watchers map[int]func(mcp.Change)
	nextID   int
}

var (
	_ mcp.Source   = (*fixture)(nil)
	_ mcp.Watcher  = (*fixture)(nil)
	_ mcp.Extender = (*fixture)(nil)
)

// A PNG of one red pixel and a WAV without samples.
var (
	redPixel = decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	silence  = decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=")
)

// decode decodes base64 in the source of this program, which is valid.
func decode(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// newFixture returns the source that the conformance suite requires: its scenarios name these
// tools, resources and prompts.
func newFixture() *fixture {
	f := &fixture{
		tools:    make(map[string]toolFunc),
		watchers: make(map[int]func(mcp.Change)),
	}
	all := append(append(f.plainTools(), askingTools()...), taskTools()...)
	cat := &mcp.Catalog{
		Server: mcp.Implementation{
			Name:    "slipway-conformance",
			Version: "1.0.0",
		},
		Instructions: "A fixture for the conformance suite.",
		Completions:  true,
		Logging:      true,
		Subscribe:    true,
		Tasks:        true,
		Extensions:   json.RawMessage(skillsExtension),
		Resources: []mcp.Resource{
			{
				Name:        "static-text",
				URI:         "test://static-text",
				MIMEType:    "text/plain",
				Description: "a text",
			},
			{
				Name:        "static-binary",
				URI:         "test://static-binary",
				MIMEType:    "image/png",
				Description: "a picture",
			},
			{
				Name:        "watched-resource",
				URI:         "test://watched-resource",
				MIMEType:    "text/plain",
				Description: "can be subscribed to",
			},
			{
				Name:        "hello",
				URI:         skillScheme + "hello/SKILL.md",
				MIMEType:    markdownType,
				Description: "Greets a person in their own language.",
			},
		},
		Templates: []mcp.ResourceTemplate{{
			Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json", Description: "data by id",
		}},
		Prompts: []mcp.Prompt{
			{Name: "test_simple_prompt", Description: "a prompt without arguments"},
			{
				Name:        "test_prompt_with_arguments",
				Description: "a prompt with arguments",
				Arguments: []mcp.PromptArgument{
					{
						Name:        "arg1",
						Description: "the first",
						Required:    true,
					}, {
						Name:        "arg2",
						Description: "the second",
						Required:    true,
					},
				},
			},
			{
				Name:        "test_prompt_with_embedded_resource",
				Description: "a prompt that carries a resource",
				Arguments: []mcp.PromptArgument{
					{Name: "resourceUri", Description: "which resource", Required: true},
				},
			},
			{Name: "test_prompt_with_image", Description: "a prompt with a picture"},
			{
				Name:        "test_input_required_result_prompt",
				Description: "a prompt that asks first",
			},
		},
	}
	for _, t := range all {
		f.tools[t.name] = t.call
		schema := t.schema
		if schema == "" {
			schema = `{"type":"object","properties":{}}`
		}
		cat.Tools = append(cat.Tools,
			mcp.Tool{
				Name:        t.name,
				Description: t.description,
				InputSchema: json.RawMessage(schema),
			})
	}
	f.catalog = cat
	return f
}

// Catalog implements mcp.Source.
func (f *fixture) Catalog(context.Context) (*mcp.Catalog, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.catalog, nil
}

// CallTool implements mcp.Source.
func (f *fixture) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	call := f.tools[p.Name]
	if call == nil {
		return nil, mcp.UnknownTool(p.Name)
	}
	return call(ctx, mcp.RequestFrom(ctx), p.Arguments)
}

// ReadResource implements mcp.Source.
func (f *fixture) ReadResource(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if strings.HasPrefix(p.URI, skillScheme) {
		return readSkill(p.URI)
	}
	contents := mcp.ResourceContents{
		URI:      p.URI,
		MIMEType: "text/plain",
	}
	switch p.URI {
	case "test://static-text":
		contents.Text = "This is the content of the static text resource."
	case "test://static-binary":
		contents.MIMEType = "image/png"
		contents.Blob = redPixel
	case "test://watched-resource":
		contents.Text = "Watched resource content"
	default:
		rest, begins := strings.CutPrefix(p.URI, "test://template/")
		id, ends := strings.CutSuffix(rest, "/data")
		if !begins || !ends {
			return f.Unimplemented.ReadResource(ctx, p)
		}
		contents.MIMEType = "application/json"
		contents.Text = fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id)
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}, nil
}

// user returns a message of the user with one part.
func user(c mcp.Content) mcp.PromptMessage {
	return mcp.PromptMessage{
		Role:    mcp.RoleUser,
		Content: c,
	}
}

// GetPrompt implements mcp.Source.
func (f *fixture) GetPrompt(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	var messages []mcp.PromptMessage
	switch p.Name {
	case "test_simple_prompt":
		messages = []mcp.PromptMessage{user(mcp.Text("This is a simple prompt for testing."))}
	case "test_prompt_with_arguments":
		messages = []mcp.PromptMessage{
			user(mcp.Text(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", p.Arguments["arg1"], p.Arguments["arg2"]))),
		}
	case "test_prompt_with_embedded_resource":
		messages = []mcp.PromptMessage{
			user(mcp.EmbeddedResource(mcp.ResourceContents{
				URI:      p.Arguments["resourceUri"],
				MIMEType: "text/plain",
				Text:     "Embedded resource content for testing.",
			})),
			user(mcp.Text("Please process the embedded resource above.")),
		}
	case "test_prompt_with_image":
		messages = []mcp.PromptMessage{
			user(mcp.Image(redPixel, "image/png")),
			user(mcp.Text("Please analyze the image above.")),
		}
	case "test_input_required_result_prompt":
		answer, err := mcp.RequestFrom(ctx).Elicit(ctx, &mcp.ElicitParams{
			Key:     "user_context",
			Message: "What context should the prompt use?",
			RequestedSchema: json.RawMessage(
				`{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}`),
		})
		if err != nil {
			return nil, err
		}
		messages = []mcp.PromptMessage{user(mcp.Text("Context: " + string(answer.Content)))}
	default:
		return nil, mcp.UnknownPrompt(p.Name)
	}
	return &mcp.GetPromptResult{Messages: messages}, nil
}

// Complete implements mcp.Source.
func (f *fixture) Complete(_ context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	r := &mcp.CompleteResult{}
	for _, v := range []string{"alpha", "beta", "gamma"} {
		if strings.HasPrefix(v, p.Value) {
			r.Completion.Values = append(r.Completion.Values, v)
		}
	}
	return r, nil
}

// Watch implements mcp.Watcher.
func (f *fixture) Watch(changed func(mcp.Change)) (stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := f.nextID
	f.nextID++
	f.watchers[id] = changed
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.watchers, id)
	}
}

// change replaces the catalog with an edited copy and notifies the watchers.
func (f *fixture) change(c mcp.Change, edit func(*mcp.Catalog, int)) {
	f.mu.Lock()
	f.changes++
	old := f.catalog
	next := &mcp.Catalog{
		Server:       old.Server,
		Instructions: old.Instructions,
		Completions:  old.Completions,
		Logging:      old.Logging,
		Subscribe:    old.Subscribe,
		Tasks:        old.Tasks,
		Extensions:   old.Extensions,
		Tools:        old.Tools,
		Resources:    old.Resources,
		Templates:    old.Templates,
		Prompts:      old.Prompts,
	}
	edit(next, f.changes)
	f.catalog = next
	watchers := make([]func(mcp.Change), 0, len(f.watchers))
	for _, w := range f.watchers {
		watchers = append(watchers, w)
	}
	f.mu.Unlock()
	for _, w := range watchers {
		w(c)
	}
}

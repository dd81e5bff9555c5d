package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// gallery is a Source with one example of everything the wire types can contain, so that
// a conversation with it shows what each version receives.
type gallery struct {
	mcp.Unimplemented
	catalog *mcp.Catalog
	calls   map[string]func(context.Context) (*mcp.CallToolResult, error)
	reads   map[string]*mcp.ReadResourceResult
	prompts map[string]*mcp.GetPromptResult
}

var _ mcp.Source = (*gallery)(nil)

func ptr[T any](v T) *T { return &v }

func parsed(doc string) *mcp.Raw {
	raw, err := mcp.ParseRaw([]byte(doc))
	if err != nil {
		panic(err)
	}
	return raw
}

var (
	galleryIcons = []mcp.Icon{
		{Src: "data:image/svg+xml;base64,PHN2Zy8+", MIMEType: "image/svg+xml", Sizes: []string{"any"}, Theme: "dark"},
	}
	galleryMeta        = json.RawMessage(`{"com.example/shelf":7}`)
	galleryAnnotations = &mcp.Annotations{
		Audience:     []string{"user"},
		Priority:     ptr(0.5),
		LastModified: "2026-01-02T03:04:05Z",
	}
)

func newGallery() *gallery {
	g := &gallery{reads: galleryReads(), prompts: galleryPrompts()}
	g.calls = galleryCalls()
	g.catalog = &mcp.Catalog{
		Server: mcp.Implementation{
			Name: "gallery", Title: "Gallery", Version: "2.0.0", Description: "one of everything",
			WebsiteURL: "https://gallery.example", Icons: galleryIcons,
		},
		Tools:       galleryTools(g.calls),
		Resources:   galleryResources(),
		Templates:   galleryTemplates(),
		Prompts:     galleryPromptList(g.prompts),
		Completions: true,
		Extensions:  json.RawMessage(`{"com.example/frames":{"size":2}}`),
		Cache:       mcp.CacheHint{TTL: 90 * time.Second, Public: true},
	}
	return g
}

func galleryTools(calls map[string]func(context.Context) (*mcp.CallToolResult, error)) []mcp.Tool {
	tools := []mcp.Tool{
		{
			Name: "full", Title: "Full", Description: "has <every> field",
			InputSchema: json.RawMessage(
				`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
					`"properties":{"z":{"type":"integer"},"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}},` +
					`"additionalProperties":false}`),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}}}`),
			Annotations: &mcp.ToolAnnotations{
				Title:           "Hinted",
				ReadOnlyHint:    true,
				DestructiveHint: ptr(false),
				OpenWorldHint:   ptr(false),
			},
			Icons: galleryIcons, Execution: json.RawMessage(`{"taskSupport":"forbidden"}`), Meta: galleryMeta,
		},
		{Name: "hints", Description: "has hints of its own wish only", Annotations: &mcp.ToolAnnotations{}},
		{
			Name: "raw",
			Raw: json.RawMessage(
				`{"name":"raw","title":"as it was written","inputSchema":{"type":"object"},"more":[1.50,1e2]}`),
		},
	}
	for _, name := range []string{
		"content", "future", "object", "array", "invalid", "nothing", "busy", "late", "talk",
		"raw-plain", "raw-empty", "raw-members", "raw-meta", "raw-server", "raw-media",
	} {
		if calls[name] == nil {
			panic(name)
		}
		tools = append(tools, mcp.Tool{Name: name})
	}
	return tools
}

func galleryContent() []mcp.Content {
	words := mcp.Text("<b>&\u2028\"")
	words.Annotations, words.Meta = galleryAnnotations, galleryMeta
	embedded := mcp.EmbeddedResource(mcp.ResourceContents{
		URI:      "gallery://t",
		MIMEType: "text/plain",
		Text:     "",
		Meta:     galleryMeta,
	})
	embedded.Annotations = &mcp.Annotations{Priority: ptr(1.0)}
	return []mcp.Content{
		words,
		mcp.Image([]byte{0xfb, 0xff}, "image/png"),
		mcp.Audio([]byte("RIFF"), "audio/wav"),
		embedded,
		mcp.ResourceLink(mcp.Resource{
			Name: "link", URI: "gallery://l", Title: "Link", Description: "a link", MIMEType: "text/plain", Size: ptr(int64(3)),
			Annotations: galleryAnnotations, Icons: galleryIcons, Meta: galleryMeta,
		}),
	}
}

func galleryCalls() map[string]func(context.Context) (*mcp.CallToolResult, error) {
	result := func(r *mcp.CallToolResult) func(context.Context) (*mcp.CallToolResult, error) {
		return func(context.Context) (*mcp.CallToolResult, error) { return r, nil }
	}
	failure := func(err error) func(context.Context) (*mcp.CallToolResult, error) {
		return func(context.Context) (*mcp.CallToolResult, error) { return nil, err }
	}
	raw := func(doc string) func(context.Context) (*mcp.CallToolResult, error) {
		return result(&mcp.CallToolResult{Raw: parsed(doc)})
	}
	return map[string]func(context.Context) (*mcp.CallToolResult, error){
		"content": result(&mcp.CallToolResult{Content: galleryContent(), Meta: galleryMeta}),
		"object": result(&mcp.CallToolResult{
			Content:           []mcp.Content{mcp.Text("{}")},
			StructuredContent: json.RawMessage(`{"n":1.0,"big":9007199254740993}`),
			IsError:           true,
		}),
		"array":   result(&mcp.CallToolResult{StructuredContent: json.RawMessage(`[1,null]`)}),
		"invalid": result(&mcp.CallToolResult{StructuredContent: json.RawMessage(`{"n":`)}),
		"future": result(&mcp.CallToolResult{
			Content: []mcp.Content{{Type: "hologram", Raw: json.RawMessage(`{"type":"hologram","depth":3}`)}},
		}),
		"nothing": result(nil),
		"busy": failure(fmt.Errorf("call: %w", &mcp.Error{
			Code:    mcp.CodeToolBusy,
			Message: "two at a time",
			Data:    json.RawMessage(`{"limit":2}`),
			Cause:   errors.New("secret: queue 7"),
		})),
		"late": failure(fmt.Errorf("ask the depot: %w", context.DeadlineExceeded)),
		"talk": func(ctx context.Context) (*mcp.CallToolResult, error) {
			request := mcp.RequestFrom(ctx)
			request.Log(mcp.LogEmergency, "", "unheard")
			for _, progress := range []float64{math.Inf(-1), math.NaN(), 0.5, 1e21, math.Inf(1)} {
				request.Progress(progress, math.Inf(1), "")
			}
			return text("said"), nil
		},

		"raw-plain":   raw("{\n  \"content\": [ {\"type\": \"text\", \"text\": \"a\\u00e9 b\"} ],\r\n  \"n\": 1.50\n}"),
		"raw-empty":   raw(`{}`),
		"raw-members": raw(`{"resultType":"complete","content":[],"ttlMs":5,"cacheScope":"public"}`),
		"raw-meta":    raw(`{"_meta":{"com.example/a":1},"content":[]}`),
		"raw-server":  raw(`{"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"far","version":"9"}}}`),
		"raw-media": raw(
			`{"content":[{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"},{"type":"resource_link",` +
				`"name":"l","uri":"gallery://l"}],"isError":false}`),
	}
}

func galleryResources() []mcp.Resource {
	return []mcp.Resource{
		{
			Name:        "full",
			URI:         "gallery://full",
			Title:       "Full",
			Description: "has every field",
			MIMEType:    "text/plain",
			Size:        ptr(int64(0)),
			Annotations: galleryAnnotations, Icons: galleryIcons, Meta: galleryMeta,
		},
		{Name: "bare", URI: "gallery://bare"},
		{Raw: json.RawMessage(`{"uri":"gallery://raw","name":"raw","more":true}`), URI: "gallery://raw"},
	}
}

func galleryTemplates() []mcp.ResourceTemplate {
	return []mcp.ResourceTemplate{
		{
			Name:        "full",
			URITemplate: "gallery://{room}{?wall,frame*}",
			Title:       "Full",
			Description: "has every field",
			MIMEType:    "text/plain",
			Annotations: galleryAnnotations, Icons: galleryIcons, Meta: galleryMeta,
		},
		{Name: "bare", URITemplate: "gallery://{+path:3}"},
	}
}

func galleryReads() map[string]*mcp.ReadResourceResult {
	text := mcp.ResourceContents{
		Name:     "full.txt",
		URI:      "gallery://full",
		MIMEType: "text/plain",
		Text:     "",
		Title:    "Full",
		Meta:     galleryMeta,
	}
	blob := mcp.ResourceContents{URI: "gallery://full#2", MIMEType: "image/png", Blob: []byte{0xfb, 0xff}}
	return map[string]*mcp.ReadResourceResult{
		"gallery://full": {
			Contents: []mcp.ResourceContents{text, blob},
			Meta:     galleryMeta,
			Cache:    mcp.CacheHint{TTL: 1500 * time.Microsecond, Public: true},
		},
		"gallery://bare":  {Contents: []mcp.ResourceContents{{URI: "gallery://bare", Blob: []byte{}}}},
		"gallery://empty": {},
		"gallery://raw": {
			Raw:   parsed(`{"contents":[{"uri":"gallery://raw","text":"kept"}]}`),
			Cache: mcp.CacheHint{TTL: time.Second},
		},
		"gallery://ttl": {
			Raw:   parsed(`{"contents":[{"uri":"gallery://ttl","text":""}],"ttlMs":7}`),
			Cache: mcp.CacheHint{TTL: time.Second, Public: true},
		},
		"gallery://scope": {
			Raw:   parsed(`{"cacheScope":"public","contents":[{"uri":"gallery://scope","text":""}]}`),
			Cache: mcp.CacheHint{TTL: time.Second},
		},
	}
}

func galleryPromptList(prompts map[string]*mcp.GetPromptResult) []mcp.Prompt {
	for _, name := range []string{"full", "bare", "raw"} {
		if prompts[name] == nil {
			panic(name)
		}
	}
	return []mcp.Prompt{
		{
			Name: "full", Title: "Full", Description: "has every field",
			Arguments: []mcp.PromptArgument{{Name: "style", Title: "Style", Description: "which style",
				Required: true}},
			Icons: galleryIcons, Meta: galleryMeta,
		},
		{Name: "bare"},
		{Name: "raw", Raw: json.RawMessage(`{"name":"raw","arguments":[],"more":1}`)},
	}
}

func galleryPrompts() map[string]*mcp.GetPromptResult {
	full := &mcp.GetPromptResult{Description: "every content", Meta: galleryMeta}
	for i, c := range galleryContent() {
		full.Messages = append(full.Messages, mcp.PromptMessage{
			Role:    []string{mcp.RoleUser, mcp.RoleAssistant}[i%2],
			Content: c,
		})
	}
	return map[string]*mcp.GetPromptResult{
		"full": full,
		"bare": {},
		"raw": {
			Raw: parsed(`{"messages":[{"role":"user","content":{"type":"resource_link","name":"l",` +
				`"uri":"gallery://l"}}],"description":"kept"}`),
		},
	}
}

func (g *gallery) Catalog(context.Context) (*mcp.Catalog, error) { return g.catalog, nil }

func (g *gallery) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if call := g.calls[p.Name]; call != nil {
		return call(ctx)
	}
	return text(p.Name), nil
}

func (g *gallery) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if r := g.reads[p.URI]; r != nil {
		return r, nil
	}
	switch p.URI {
	case "gallery://late":
		return nil, fmt.Errorf("ask 10.0.0.7: %w", context.DeadlineExceeded)
	case "gallery://denied":
		return nil, &mcp.Error{Code: mcp.CodeResourceDenied, Message: "not for you"}
	case "gallery://panic":
		panic("boom")
	}
	return nil, mcp.ResourceNotFound(p.URI, "no such picture")
}

func (g *gallery) GetPrompt(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	return g.prompts[p.Name], nil
}

func (g *gallery) Complete(_ context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	switch p.Value {
	case "none":
		return nil, nil
	case "some":
		return &mcp.CompleteResult{
			Completion: mcp.Completion{
				Values:  []string{p.Arguments["style"] + p.Argument + p.URITemplate + p.Prompt},
				Total:   ptr(10),
				HasMore: ptr(true),
			},
		}, nil
	}
	return &mcp.CompleteResult{}, nil
}

package client

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/slipway-mcp/slipway/mcp"
)

// remembered is a catalog in a file. The entries are the unchanged bytes of the server.
type remembered struct {
	Format       int                `json:"format"`
	Server       mcp.Implementation `json:"server"`
	Instructions string             `json:"instructions,omitempty"`
	Completions  bool               `json:"completions,omitempty"`
	Subscribe    bool               `json:"subscribe,omitempty"`
	Logging      bool               `json:"logging,omitempty"`
	Extensions   json.RawMessage    `json:"extensions,omitempty"`
	Tools        []json.RawMessage  `json:"tools,omitempty"`
	Resources    []json.RawMessage  `json:"resources,omitempty"`
	Templates    []json.RawMessage  `json:"resourceTemplates,omitempty"`
	Prompts      []json.RawMessage  `json:"prompts,omitempty"`
}

const rememberedFormat = 1

// EncodeCatalog encodes a catalog as JSON, for [DecodeCatalog] and [Options.Catalog] of
// another process. cat must be from a Source of this package.
func EncodeCatalog(cat *mcp.Catalog) ([]byte, error) {
	r := remembered{
		Format: rememberedFormat, Server: cat.Server, Instructions: cat.Instructions,
		Completions: cat.Completions, Subscribe: cat.Subscribe, Logging: cat.Logging, Extensions: cat.Extensions,
	}
	for i := range cat.Tools {
		r.Tools = append(r.Tools, cat.Tools[i].Raw)
	}
	for i := range cat.Resources {
		r.Resources = append(r.Resources, cat.Resources[i].Raw)
	}
	for i := range cat.Templates {
		r.Templates = append(r.Templates, cat.Templates[i].Raw)
	}
	for i := range cat.Prompts {
		r.Prompts = append(r.Prompts, cat.Prompts[i].Raw)
	}
	return mcp.Marshal(&r)
}

// DecodeCatalog is the inverse of [EncodeCatalog]. It returns an error for any other
// text, including that of another version of this package.
func DecodeCatalog(text []byte) (*mcp.Catalog, error) {
	var r remembered
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	if r.Format != rememberedFormat {
		return nil, fmt.Errorf("format %d of a catalog is not known here", r.Format)
	}
	cat := &mcp.Catalog{
		Server: r.Server, Instructions: r.Instructions,
		Completions: r.Completions, Subscribe: r.Subscribe, Logging: r.Logging, Extensions: r.Extensions,
	}
	named := make(map[string]bool)
	for _, list := range []struct {
		entries []json.RawMessage
		add     func(json.RawMessage) bool
	}{
		{r.Tools, func(raw json.RawMessage) bool { return addTool(cat, raw, named) }},
		{r.Resources, func(raw json.RawMessage) bool { return addResource(cat, raw) }},
		{r.Templates, func(raw json.RawMessage) bool { return addTemplate(cat, raw) }},
		{r.Prompts, func(raw json.RawMessage) bool { return addPrompt(cat, raw) }},
	} {
		for _, raw := range list.entries {
			if !list.add(compact(raw)) {
				return nil, errors.New("an entry of a remembered catalog makes no sense")
			}
		}
	}
	return cat, nil
}

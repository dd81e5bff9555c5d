package client

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// catalogHead is the start of a catalog in a file.
type catalogHead struct {
	// Format is [catalogFormat]: a file of another one is ignored.
	Format       int                `json:"format"`
	Server       mcp.Implementation `json:"server"`
	Instructions string             `json:"instructions,omitempty"`
	Completions  bool               `json:"completions,omitempty"`
	Subscribe    bool               `json:"subscribe,omitempty"`
	Logging      bool               `json:"logging,omitempty"`
	Extensions   json.RawMessage    `json:"extensions,omitempty"`
}

// catalogFormat is the current format of a catalog in a file.
const catalogFormat = 1

// EncodeCatalog encodes a catalog as JSON, for [DecodeCatalog] and [Previous.Catalog] of
// another process. Its entries are the unchanged bytes of the server. cat must be from a
// Source of this package.
func EncodeCatalog(cat *mcp.Catalog) ([]byte, error) {
	return mcp.Marshal(&struct {
		catalogHead
		Tools     []mcp.Tool             `json:"tools,omitempty"`
		Resources []mcp.Resource         `json:"resources,omitempty"`
		Templates []mcp.ResourceTemplate `json:"resourceTemplates,omitempty"`
		Prompts   []mcp.Prompt           `json:"prompts,omitempty"`
	}{
		catalogHead{
			catalogFormat, cat.Server, cat.Instructions, cat.Completions, cat.Subscribe, cat.Logging, cat.Extensions,
		},
		cat.Tools, cat.Resources, cat.Templates, cat.Prompts,
	})
}

// DecodeCatalog is the inverse of [EncodeCatalog]. It returns an error for any other
// text, including that of another version of this package.
func DecodeCatalog(text []byte) (*mcp.Catalog, error) {
	var head catalogHead
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, err
	}
	if head.Format != catalogFormat {
		return nil, fmt.Errorf("unknown format %d of a catalog", head.Format)
	}
	cat := &mcp.Catalog{
		Server:       head.Server,
		Instructions: head.Instructions,
		Completions:  head.Completions,
		Subscribe:    head.Subscribe,
		Logging:      head.Logging,
		Extensions:   head.Extensions,
	}
	for _, list := range listsOf(cat) {
		entries := jsonscan.Member(text, list.member)
		if entries == nil {
			continue
		}
		valid := entries[0] == '['
		err := eachOf(entries, func(raw []byte) {
			valid = valid && list.add(compact(raw)) == ""
		})
		if err != nil || !valid {
			return nil, errors.New("invalid entry in a stored catalog")
		}
	}
	return cat, nil
}

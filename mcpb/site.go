package mcpb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Where the parts of a bundle are that serves a StaticMCP site.
const (
	siteFolder  = "site"
	siteProgram = "server/slipway"
)

// SiteOptions say how a bundle presents the StaticMCP site in it. What is empty
// comes from the site.
type SiteOptions struct {
	Name, Version, Description, Author string
}

// SiteManifest returns the manifest of a bundle that serves the site in dir by
// itself: with the site below site/ and this program for each of platforms, which
// are "darwin", "linux" or "win32", as server/slipway, or server/slipway.exe.
func SiteManifest(ctx context.Context, dir string, platforms []string, opts *SiteOptions) ([]byte, error) {
	if opts == nil {
		opts = &SiteOptions{}
	}
	site, err := staticmcp.OpenDir(ctx, dir, nil)
	if err != nil {
		return nil, err
	}
	cat, err := site.Catalog(ctx)
	if err := errors.Join(err, site.Close()); err != nil {
		return nil, err
	}
	m := siteManifest{Version: "0.3", Name: first(opts.Name, machineName(cat.Server.Name)), Title: cat.Server.Title, Release: first(opts.Version, cat.Server.Version)}
	m.Description = first(opts.Description, cat.Server.Description, firstSentence(cat.Instructions), "The StaticMCP site "+cat.Server.Name)
	m.Author.Name = first(opts.Author, cat.Server.Name)
	m.Server.Type, m.Server.EntryPoint = TypeBinary, siteProgram
	m.Server.Config.command = command{Command: "${" + varDir + "}/" + siteProgram, Args: []string{"serve", "--stdio", "${" + varDir + "}/" + siteFolder}}
	m.Compatibility.Platforms = slices.Sorted(slices.Values(platforms))
	if slices.Equal(platforms, []string{"win32"}) {
		m.Server.EntryPoint += ".exe"
	}
	if slices.Contains(platforms, "win32") {
		m.Server.Config.Overrides = map[string]command{"win32": {Command: "${" + varDir + "}/" + siteProgram + ".exe"}}
	}
	m.add(cat)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err = enc.Encode(m)
	return b.Bytes(), err
}

type command struct {
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
}

type siteManifest struct {
	Version     string `json:"manifest_version"`
	Name        string `json:"name"`
	Title       string `json:"display_name,omitempty"`
	Release     string `json:"version"`
	Description string `json:"description"`
	Author      struct {
		Name string `json:"name"`
	} `json:"author"`
	Server struct {
		Type       string `json:"type"`
		EntryPoint string `json:"entry_point"`
		Config     struct {
			command
			Overrides map[string]command `json:"platform_overrides,omitempty"`
		} `json:"mcp_config"`
	} `json:"server"`
	Tools            []Tool `json:"tools,omitempty"`
	PromptsGenerated bool   `json:"prompts_generated,omitempty"`
	Compatibility    struct {
		Platforms []string `json:"platforms"`
	} `json:"compatibility"`
}

func (m *siteManifest) add(cat *mcp.Catalog) {
	for i := range cat.Tools {
		m.Tools = append(m.Tools, Tool{Name: cat.Tools[i].Name, Description: cat.Tools[i].Description})
	}
	m.PromptsGenerated = len(cat.Prompts) > 0
}

func first(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

// firstSentence cuts a text where its first sentence or line ends.
func firstSentence(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if sentence, _, ok := strings.Cut(line, ". "); ok {
		return sentence
	}
	return line
}

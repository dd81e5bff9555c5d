package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"path"
	"strings"

	"github.com/slipway-mcp/slipway/mcp"
)

// The skills extension (SEP-2640): a folder of Markdown served as resources, with three
// additional methods.

//go:embed skills
var skillFiles embed.FS

const (
	// The extension for skills, and the address and types of its files.
	skillsExtension = `{"io.modelcontextprotocol/skills":{"directoryRead":true}}`
	skillScheme     = "skill://"
	directoryType   = "inode/directory"
	markdownType    = "text/markdown"
)

// skill is one entry of skills/list.
type skill struct {
	URI         string            `json:"uri"`
	Frontmatter map[string]string `json:"frontmatter"`
	Resources   []skillFile       `json:"resources"`
}

// skillFile is a file of a skill in its index. The digest lets clients verify what they read.
type skillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int    `json:"size"`
}

// helloSkill returns the only skill.
func helloSkill() (skill, error) {
	s := skill{
		URI:         skillScheme + "hello/SKILL.md",
		Frontmatter: map[string]string{"name": "hello", "description": "Greets a person in their own language."},
	}
	err := fs.WalkDir(skillFiles, "skills/hello", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := skillFiles.ReadFile(name)
		sum := sha256.Sum256(data)
		s.Resources = append(s.Resources, skillFile{
			URI:    skillScheme + strings.TrimPrefix(name, "skills/"),
			Digest: "sha256:" + hex.EncodeToString(sum[:]),
			Size:   len(data),
		})
		return err
	})
	return s, err
}

// readSkill reads a file of a skill.
func readSkill(uri string) (*mcp.ReadResourceResult, error) {
	data, err := skillFiles.ReadFile(skillPath(uri))
	if err != nil {
		return nil, mcp.ResourceNotFound(uri, "")
	}
	return &mcp.ReadResourceResult{
		Contents: []mcp.ResourceContents{{
			URI:      uri,
			MIMEType: markdownType,
			Text:     string(data),
		}},
	}, nil
}

// skillPath returns the embedded file at an address.
func skillPath(uri string) string {
	return path.Join("skills", strings.TrimPrefix(uri, skillScheme))
}

// ServeMethod implements mcp.Extender.
func (f *fixture) ServeMethod(
	_ context.Context,
	method string,
	params json.RawMessage,
) (*mcp.MethodResult, error) {
	var p struct {
		URI string `json:"uri"`
	}
	if params != nil {
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "params: %v", err)
		}
	}
	entry, err := helloSkill()
	if err != nil {
		return nil, err
	}
	switch method {
	case "skills/list":
		return cacheable(map[string]any{"skills": []skill{entry}})
	case "skills/get":
		if p.URI != entry.URI {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "no such skill: %q", p.URI)
		}
		return cacheable(map[string]any{"skill": entry})
	case "resources/directory/read":
		return readDirectory(p.URI)
	}
	return nil, mcp.MethodNotFound(method)
}

// cacheable returns a result that shared caches may store: skills are the same for all callers.
func cacheable(v any) (*mcp.MethodResult, error) {
	doc, err := mcp.Marshal(v)
	if err != nil {
		return nil, err
	}
	raw, err := mcp.ParseRaw(doc)
	if err != nil {
		return nil, err
	}
	return &mcp.MethodResult{
		Result: raw,
		Cache:  &mcp.CacheHint{Public: true},
	}, nil
}

// readDirectory lists a folder of skills, without its subfolders.
func readDirectory(uri string) (*mcp.MethodResult, error) {
	entries, err := skillFiles.ReadDir(skillPath(uri))
	if err != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "no such directory: %q", uri)
	}
	children := make([]mcp.Resource, 0, len(entries))
	for _, e := range entries {
		child := mcp.Resource{
			Name:     e.Name(),
			URI:      uri + "/" + e.Name(),
			MIMEType: markdownType,
		}
		if e.IsDir() {
			child.MIMEType = directoryType
		}
		children = append(children, child)
	}
	return cacheable(map[string]any{"resources": children})
}

package staticmcp

import (
	"strings"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/search"
	"github.com/slipway-mcp/slipway/mcp"
)

// FileUse maps a file of [Site.FileHandler] to the protocol: method and name are those of
// the request whose answer has the same content, cat is the catalog that offers it, and
// tools are the tools whose answers the file may contain. path has no leading slash. An
// empty method means that the file is unrelated to the catalog and must not be served.
//
// The name of a resource is its URI if the manifest lists it, otherwise the path. A file
// that can be the answer of several tools names all of them.
func (s *Site) FileUse(path string) (method, name string, cat *mcp.Catalog, tools []string) {
	o := s.offer.Load()
	stem, ok := strings.CutSuffix(path, site.Extension)
	if !ok || !isPublic(path) {
		return "", "", nil, nil
	}
	dir, rest, _ := strings.Cut(stem, "/")
	switch dir {
	case strings.TrimSuffix(site.ManifestName, site.Extension):
		method = "server/discover"
	case site.ToolsDir:
		tools = above(o.fileIndex().tools, rest)
		switch {
		case len(tools) > 0:
			method = "tools/call"
			name = tools[0]
		case rest == site.IndexName:
			method = "tools/list"
		default: // no tool has this folder or file
			return "", "", nil, nil
		}
	case site.PromptsDir:
		method = "prompts/get"
		name = o.promptOf(rest)
	case site.ResourcesDir:
		method = "resources/read"
		name = o.resourceAt(path)
	case site.CompletionsDir:
		method = "completion/complete"
	default: // the search index holds the words of all answers
		method = "resources/read"
		name = search.Dir
		for i := range o.catalog.Tools {
			tools = append(tools, o.catalog.Tools[i].Name)
		}
	}
	return method, name, o.catalog, tools
}

// promptOf returns the prompt that a file below prompts/ belongs to, or "".
func (o *offer) promptOf(stem string) string {
	if prompts := above(o.fileIndex().prompts, stem); len(prompts) > 0 {
		return prompts[0]
	}
	return ""
}

// fileIndex maps files to what they answer.
type fileIndex struct {
	tools, prompts map[string][]string // by folder: the names
	uris           map[string]string   // of listed resources, by path
}

// fileIndex returns the index, which is built on first use.
func (o *offer) fileIndex() *fileIndex {
	o.indexing.Do(func() {
		x := &o.files
		x.tools = make(map[string][]string)
		x.prompts = make(map[string][]string)
		for i := range o.catalog.Tools {
			addDirs(x.tools, o.catalog.Tools[i].Name)
		}
		for i := range o.catalog.Prompts {
			addDirs(x.prompts, o.catalog.Prompts[i].Name)
		}
		x.uris = make(map[string]string, len(o.catalog.Resources))
		for i := range o.catalog.Resources {
			uri := o.catalog.Resources[i].URI
			if found := site.ResourcePaths(uri, true); len(found) > 0 {
				x.uris[found[0].Path] = uri
			}
		}
	})
	return &o.files
}

// addDirs adds a name under each spelling of its folder.
func addDirs(names map[string][]string, name string) {
	for _, dir := range site.ToolFolders(name) {
		names[dir] = append(names[dir], name)
	}
}

// above returns the names registered for stem and for every folder that contains it.
func above(names map[string][]string, stem string) (found []string) {
	for i := range len(stem) + 1 {
		if i == len(stem) || stem[i] == '/' {
			found = append(found, names[stem[:i]]...)
		}
	}
	return found
}

// resourceAt returns the URI of the listed resource whose file is at path under the
// standard's rules, or path.
func (o *offer) resourceAt(path string) string {
	if uri, ok := o.fileIndex().uris[path]; ok {
		return uri
	}
	return path
}

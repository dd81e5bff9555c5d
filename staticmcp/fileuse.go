package staticmcp

import (
	"strings"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp/search"
)

// FileUse returns what a file of [Site.FileHandler] hands out, in terms of the
// protocol: the request that has the same content as its answer, and the tools whose
// answers it may hold. path has no slash in front. An op without Method means that
// the catalog has nothing to do with the file, which must not be shown then.
//
// The name of a resource is its URI if the manifest lists it, and else the path. A
// file that can be the answer of several tools names all of them.
func (s *Site) FileUse(path string) (op mcp.Operation, tools []string) {
	o := s.offer.Load()
	op.Catalog = o.catalog
	stem, ok := strings.CutSuffix(path, extension)
	if !ok || !isPublic(path) {
		return mcp.Operation{}, nil
	}
	dir, rest, _ := strings.Cut(stem, "/")
	switch dir {
	case strings.TrimSuffix(manifestName, extension):
		op.Method = "server/discover"
	case toolsDir:
		return o.toolFile(op, rest)
	case promptsDir:
		op.Method = "prompts/get"
		op.Name = o.promptOf(rest)
	case resourcesDir:
		op.Method = "resources/read"
		op.Name = o.resourceAt(path)
	case completionsDir:
		op.Method = "completion/complete"
	default: // the search index holds the words of all answers
		op.Method, op.Name = "resources/read", search.Dir
		for i := range o.catalog.Tools {
			tools = append(tools, o.catalog.Tools[i].Name)
		}
	}
	return op, tools
}

// toolFile finds the tools whose folder a file below tools/ is in, or whose only
// answer it is.
func (o *offer) toolFile(op mcp.Operation, stem string) (mcp.Operation, []string) {
	tools := above(o.fileIndex().tools, stem)
	switch {
	case len(tools) > 0:
		op.Method, op.Name = "tools/call", tools[0]
	case stem == indexName:
		op.Method = "tools/list"
	default:
		return mcp.Operation{}, nil
	}
	return op, tools
}

// promptOf returns the prompt that a file below prompts/ is about, or "".
func (o *offer) promptOf(stem string) string {
	if prompts := above(o.fileIndex().prompts, stem); len(prompts) > 0 {
		return prompts[0]
	}
	return ""
}

// fileIndex is the way from files to what they answer.
type fileIndex struct {
	tools, prompts map[string][]string // by folder: the names
	uris           map[string]string   // of listed resources, by path
}

// fileIndex returns the index, which is made when it is first needed.
func (o *offer) fileIndex() *fileIndex {
	o.indexing.Do(func() {
		x := &o.files
		x.tools, x.prompts = make(map[string][]string), make(map[string][]string)
		for i := range o.catalog.Tools {
			addDirs(x.tools, o.catalog.Tools[i].Name)
		}
		for i := range o.catalog.Prompts {
			addDirs(x.prompts, o.catalog.Prompts[i].Name)
		}
		x.uris = make(map[string]string, len(o.catalog.Resources))
		for i := range o.catalog.Resources {
			uri := o.catalog.Resources[i].URI
			if found := resourcePaths(uri, true); len(found) > 0 {
				x.uris[found[0].path] = uri
			}
		}
	})
	return &o.files
}

// addDirs adds a name under each spelling of its folder.
func addDirs(names map[string][]string, name string) {
	for _, dir := range toolDirs(name) {
		names[dir] = append(names[dir], name)
	}
}

// above returns the names of all folders that stem is in, and of the one that it is.
func above(names map[string][]string, stem string) (found []string) {
	for i := range len(stem) + 1 {
		if i == len(stem) || stem[i] == '/' {
			found = append(found, names[stem[:i]]...)
		}
	}
	return found
}

// resourceAt returns the URI of the listed resource whose file is at path by the
// standard's rules, or path.
func (o *offer) resourceAt(path string) string {
	if uri, ok := o.fileIndex().uris[path]; ok {
		return uri
	}
	return path
}

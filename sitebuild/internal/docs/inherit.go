package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// maxInherited bounds how many files a mkdocs.yml inherits from, one after the other.
const maxInherited = 5

// inherit returns the settings of a mkdocs.yml with those of the file that its INHERIT names. As in
// MkDocs, maps are merged, and other values of the file win. An inherited value has the position of
// INHERIT.
func (f *navFile) inherit(d *detector, root *tree.Node, file string, depth int) *tree.Node {
	base := root.Get("INHERIT")
	if base == nil {
		return root
	}
	name := path.Join(path.Dir(file), filepath.ToSlash(yamlText(base)))
	if !fs.ValidPath(name) || yamlText(base) == "" {
		f.config.note(f.name, f.line(base), check.Warning, "INHERIT is ignored: %s is outside of the folder; "+
			"build from a folder with both files", yamlText(base))
		return root
	}
	info, err := fs.Stat(d.fsys, name)
	if err != nil || !info.Mode().IsRegular() || depth > maxInherited {
		f.config.note(f.name, f.line(base), check.Warning, "INHERIT is ignored: %s cannot be read", yamlText(base))
		return root
	}
	inherited, _ := tree.Parse([]byte(d.read(name)), tree.YAML)
	if inherited.Fields() == nil {
		f.config.note(f.name, f.line(base), check.Warning, "INHERIT is ignored: %s is not a map in YAML", yamlText(base))
		return root
	}
	f.withDefaults(inherited, d.read(name))
	place(inherited, base.Start, 0)
	return merged(f.inherit(d, inherited, name, depth+1), root, 0)
}

// place sets the position of a node and of those below it.
func place(n *tree.Node, start, depth int) {
	if n == nil || depth > maxNavDepth {
		return
	}
	n.Start = start
	for _, item := range n.Items {
		place(item, start, depth+1)
	}
	for i := range n.Members {
		n.Members[i].KeyStart = start
		place(n.Members[i].Value, start, depth+1)
	}
}

// merged returns the members of base with those of over, which win unless both are maps.
func merged(base, over *tree.Node, depth int) *tree.Node {
	if !base.Is(tree.Object) || !over.Is(tree.Object) || depth > maxNavDepth {
		return over
	}
	all := *base
	all.Members = slices.Clone(base.Members)
	for _, m := range over.Members {
		if known := all.Member(m.Key); known != nil {
			m.Value = merged(known.Value, m.Value, depth+1)
			*known = m
			continue
		}
		all.Members = append(all.Members, m)
	}
	return &all
}

// withDefaults replaces the top values with the tag !ENV in text by their defaults. The environment is
// not read, so that a build does not depend on it; a value without a default is removed.
func (f *navFile) withDefaults(root *tree.Node, text string) {
	for i := range root.Members {
		n := root.Members[i].Value
		before := strings.TrimRight(text[:min(len(text), n.Start)], " \t")
		if !strings.HasSuffix(before, "!ENV") && !strings.HasPrefix(text[min(len(text), n.Start):], "!ENV") {
			continue
		}
		if n.Is(tree.Array) && len(n.Items) > 1 {
			root.Members[i].Value = n.Items[len(n.Items)-1]
			continue
		}
		f.config.note(f.name, f.line(n), check.Note, "%s is ignored: environment variables are not read, and it has "+
			"no default", root.Members[i].Key)
		root.Members[i].Value = nil
	}
}

// inheritLine matches the line of a mkdocs.yml that names the file it inherits from.
var inheritLine = lazyregexp.New(`(?m)^INHERIT:[ \t]*["']?([^"'\s#]+)`)

// inheritedFiles returns the files that the mkdocs.yml in a folder inherits from. chosen is its name, or "".
func inheritedFiles(dir, chosen string) []string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	d := &detector{fsys: root.FS()}
	var list []string
	for _, name := range mkdocsFiles(chosen) {
		for range maxInherited {
			m := inheritLine().FindStringSubmatch(d.read(name))
			if m == nil {
				break
			}
			name = path.Join(path.Dir(name), m[1])
			list = append(list, filepath.Join(dir, filepath.FromSlash(name)))
		}
	}
	return list
}

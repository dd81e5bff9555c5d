package staticmcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// visit is a folder whose names went into an offer.
type visit struct {
	// dir is a folder that was listed at the time read, when its own time was modTime. A
	// later change makes the offer outdated.
	dir     string
	modTime time.Time
	read    time.Time
}

// foldersChanged reports whether the names in one of the folders have changed, or may
// have changed, since it was visited.
func (s *Site) foldersChanged(visits []visit) bool {
	return slices.ContainsFunc(visits, func(v visit) bool {
		now := s.store.Modified(v.dir)
		return !now.Equal(v.modTime) ||
			v.read.Sub(now) < site.RacyAge && !s.store.Traits().Frozen
	})
}

// inference derives what a site offers from the names of its files.
type inference struct {
	ctx  context.Context // of the single call that this value serves
	site *Site
	m    *manifestReader

	tools, resources [][]byte // definitions
	// left is how many more entries are allowed.
	left int
}

// newInference returns an inference of what a site without a manifest offers.
func (s *Site) newInference(ctx context.Context, m *manifestReader) *inference {
	return &inference{
		ctx:  ctx,
		site: s,
		m:    m,
		left: s.opts.MaxEntries,
	}
}

// infer builds an offer for a site without a manifest.
func (s *Site) infer(ctx context.Context) (*manifestReader, error) {
	title := s.store.Traits().Title
	head := fmt.Appendf(nil, `{"protocolVersion":"","serverInfo":{"name":%s,"version":"0.0.0"},"capabilities":{}}`,
		site.Quote(title))
	m, err := readManifest(head, title, s.opts)
	if err != nil {
		return nil, err
	}
	f := s.newInference(ctx, m)
	if err := f.all(); err != nil {
		return nil, err
	}
	if len(f.tools)+len(f.resources) == 0 {
		return nil, site.SubjectError(fmt.Sprintf("there is neither %s nor a file in %s/ or %s/",
			site.ManifestName, site.ToolsDir, site.ResourcesDir))
	}
	m.warn("there is no %s: tools and resources are guessed from the names of files", site.ManifestName)
	return m, f.apply()
}

// inferMore adds what a manifest lacks: everything if it has no list at all, otherwise
// the tools with a definition in their folder.
func (s *Site) inferMore(ctx context.Context, m *manifestReader) error {
	if !s.store.Traits().Listed || s.opts.Strict {
		return nil
	}
	f := s.newInference(ctx, m)
	if m.lists == [site.ManifestLists]int{} {
		m.warn("%s lists nothing: tools and resources are guessed from the names of files", site.ManifestName)
		if err := f.all(); err != nil {
			return err
		}
		return f.apply()
	}
	known := make(map[string]bool)
	for _, t := range m.offer.tools {
		for _, dir := range t.dirs {
			known[dir] = true
		}
	}
	folders, _, err := f.read(site.ToolsDir)
	if err != nil {
		return err
	}
	for _, name := range folders {
		if known[name] {
			continue
		}
		if definition := f.ownDefinition(name); definition != nil {
			m.warn("tool %q is not in %s but has a %s%s", name, site.ManifestName,
				site.SchemaName, site.Extension)
			f.tools = append(f.tools, definition)
		}
	}
	return f.apply()
}

// all finds the tools first, then the resources, from an index if the site has one.
func (f *inference) all() error {
	if err := f.allTools(); err != nil {
		return err
	}
	if listed := f.resourceIndex(); listed != nil {
		f.resources = listed
		return nil
	}
	return f.allResources(site.ResourcesDir, 0)
}

// apply adds the definitions found to the offer.
func (f *inference) apply() error {
	if len(f.tools)+len(f.resources) == 0 {
		return nil
	}
	doc := append([]byte(`{"resources":[`), bytes.Join(f.resources, []byte{','})...)
	doc = append(append(doc, `],"tools":[`...), bytes.Join(f.tools, []byte{','})...)
	doc = site.Compact(append(doc, `]}`...))
	m := f.m
	m.doc = doc
	m.lists = [site.ManifestLists]int{}
	m.offer.source = slices.Concat(m.offer.source, doc)
	if _, err := m.sections(0, true); err != nil {
		return err
	}
	for kind := range site.ListNames {
		if err := m.list(kind); err != nil {
			return err
		}
	}
	return nil
}

// read returns the names in a folder, sorted, and records the visit. A folder that does
// not exist is empty.
func (f *inference) read(dir string) (folders, files []string, err error) {
	if err := f.ctx.Err(); err != nil {
		return nil, nil, err
	}
	v := visit{
		dir:     dir,
		modTime: f.site.store.Modified(dir),
		read:    time.Now(),
	}
	f.m.visits = append(f.m.visits, v)
	err = f.site.store.Store.Names(dir, func(name string, isDir bool) bool {
		if f.left--; f.left < 0 {
			return false
		}
		if isDir {
			folders = append(folders, name)
		} else if file, ok := strings.CutSuffix(name, site.Extension); ok {
			files = append(files, file)
		}
		return true
	})
	if f.left < 0 {
		return nil, nil, fmt.Errorf("more than %d names", f.site.opts.MaxEntries)
	}
	if errors.Is(err, site.ErrMissing) {
		err = nil
	}
	slices.Sort(folders)
	slices.Sort(files)
	return folders, files, err
}

// allTools treats each folder and each file in tools/ as a tool.
func (f *inference) allTools() error {
	folders, files, err := f.read(site.ToolsDir)
	if err != nil {
		return err
	}
	names := slices.Compact(slices.Sorted(slices.Values(slices.Concat(folders, files))))
	for _, name := range names {
		if !isToolName(name) || name == site.SchemaName || name == site.IndexName {
			continue
		}
		definition := f.ownDefinition(name)
		if definition == nil {
			least := 1
			most := 0
			if slices.Contains(files, name) {
				least = 0
			}
			if slices.Contains(folders, name) {
				if most, err = f.depth(site.ToolsDir+"/"+name, 1); err != nil {
					return err
				}
			}
			if most == 0 && least > 0 {
				continue // a folder without answers
			}
			definition = guessed(name, min(least, most), most)
		}
		f.tools = append(f.tools, definition)
	}
	return nil
}

// maxDepth is how many levels of folders are read.
const maxDepth = 16

// depth returns the maximum number of folder levels between dir and its answers.
func (f *inference) depth(dir string, level int) (int, error) {
	folders, files, err := f.read(dir)
	if err != nil {
		return 0, err
	}
	most := 0
	if len(files) > 0 {
		most = level
	}
	for _, name := range folders {
		if level == maxDepth {
			break
		}
		below, err := f.depth(dir+"/"+name, level+1)
		if err != nil {
			return 0, err
		}
		most = max(most, below)
	}
	return most, nil
}

// guessed returns the definition of a tool of which only the files are known. The
// arguments are named as in the examples of the standard.
func guessed(name string, least, most int) []byte {
	doc := append([]byte(`{"name":`), site.Quote(name)...)
	doc = append(doc, `,"description":`...)
	doc = append(doc, site.Quote("Answers stored in "+site.ToolsDir+"/"+name)...)
	doc = append(doc, `,"inputSchema":{"type":"object","properties":{`...)
	var required []string
	for i := range most {
		param := string(site.Quote("param" + strconv.Itoa(i+1)))
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = append(append(doc, param...), `:{"type":"string"}`...)
		if i < least {
			required = append(required, param)
		}
	}
	return append(append(append(doc, `},"required":[`...), strings.Join(required, ",")...), `]}}`...)
}

// ownDefinition returns the definition stored in a tool's folder: a tool, or its
// inputSchema alone. It returns nil if there is none.
func (f *inference) ownDefinition(name string) []byte {
	doc := f.object(site.ToolsDir + "/" + name + "/" + site.SchemaName + site.Extension)
	if doc == nil {
		return nil
	}
	definition := append([]byte(`{"name":`), site.Quote(name)...)
	described := false
	schema := []byte(nil)
	for _, m := range jsonscan.Members(doc) {
		switch m.Name {
		case "inputSchema":
			schema = m.Value
		case "title", "description", "outputSchema", "annotations", "icons", "_meta":
			described = described || m.Name == "description"
			definition = append(append(append(definition, ','), site.Quote(m.Name)...), ':')
			definition = append(definition, m.Value...)
		}
	}
	if schema == nil {
		return append(append(append([]byte(`{"name":`), site.Quote(name)...), `,"description":"","inputSchema":`...),
			append(slices.Clone(doc), '}')...)
	}
	if !described {
		definition = append(definition, `,"description":""`...)
	}
	return append(append(append(definition, `,"inputSchema":`...), schema...), '}')
}

// object returns the file at path if it is a JSON object, otherwise nil.
func (f *inference) object(path string) []byte {
	loaded, err := f.site.store.Store.Load(f.ctx, path, nil, f.site.opts.MaxFileBytes)
	if err != nil {
		return nil
	}
	doc := bytes.TrimSpace(bytes.TrimPrefix(loaded.Data, site.ByteOrderMark))
	if len(doc) == 0 || doc[0] != '{' || jsonscan.Valid(doc) != nil {
		return nil
	}
	return doc
}

// resourceIndex returns the definitions in resources/index.json, if it contains any.
func (f *inference) resourceIndex() [][]byte {
	doc := f.object(site.ResourcesDir + "/" + site.IndexName + site.Extension)
	if doc == nil {
		return nil
	}
	for _, m := range jsonscan.Members(doc) {
		if m.Name == "resources" && m.Value[0] == '[' {
			return jsonscan.Elements(m.Value)
		}
	}
	return nil
}

// allResources treats each file in resources/ as a resource.
func (f *inference) allResources(dir string, level int) error {
	folders, files, err := f.read(dir)
	if err != nil {
		return err
	}
	for _, name := range files {
		path := dir + "/" + name + site.Extension
		loaded, err := f.site.store.Store.Load(f.ctx, path, nil, f.site.opts.MaxFileBytes)
		if err != nil {
			continue // unreadable files are not offered
		}
		d, err := readDocument(path, loaded.Data, f.site.opts)
		if err != nil {
			continue
		}
		f.resources = append(f.resources, d.definition(path))
	}
	for _, name := range folders {
		if level == maxDepth {
			break
		}
		if err := f.allResources(dir+"/"+name, level+1); err != nil {
			return err
		}
	}
	return nil
}

// definition returns the definition of a resource of which only the file is known.
func (d *document) definition(path string) []byte {
	place := strings.TrimSuffix(strings.TrimPrefix(path, site.ResourcesDir+"/"),
		site.Extension)
	uri := d.uri
	if uri == "" {
		uri = "resource://" + place
	}
	doc := append([]byte(`{"uri":`), site.Quote(uri)...)
	doc = append(append(doc, `,"name":`...), site.Quote(place[strings.LastIndexByte(place, '/')+1:])...)
	return append(append(append(doc, `,"description":`...), site.Quote("The resource in "+path)...), '}')
}

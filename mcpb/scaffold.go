package mcpb

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// Draft is a manifest to be written: values from [Detect] and from the user. Empty fields
// get a default or are omitted.
type Draft struct {
	// Name, DisplayName, Version and Description are those of [Manifest], found in the
	// project.
	Name, DisplayName, Version, Description string
	Author                                  Author
	License                                 string
	Homepage                                string
	Repository                              string // a URL
	Keywords                                []string
	Type                                    string // one of the Type constants; the default is node
	EntryPoint                              string
	// SpecVersion is the version of the format. The default is 0.3, and 0.4 for
	// servers of type uv.
	SpecVersion string
	// Runtime is the version range of Node or Python that the project requires.
	Runtime string
	// Found are the files that values were taken from.
	Found []string
	// Unreadable are the files that should have had values and are malformed.
	Unreadable []string
}

// DefaultSpecVersion is the version of new manifests, except for servers of type uv,
// which need 0.4.
const DefaultSpecVersion = "0.3"

// Detect drafts a manifest for the project in fsys, whose folder is called folder, from
// the first of package.json, pyproject.toml, go.mod and Cargo.toml that exists, or from the name of
// its program, such as server/main.py.
func Detect(fsys fs.FS, folder string) *Draft {
	d := &Draft{}
	for _, source := range []struct {
		name string
		read func(d *Draft, fsys fs.FS, text []byte) bool
	}{
		{"package.json", (*Draft).fromPackage},
		{"pyproject.toml", (*Draft).fromPyproject},
		{"go.mod", (*Draft).fromGoMod},
		{"Cargo.toml", (*Draft).fromCargo},
	} {
		text, err := fsutil.ReadRegular(fsys, source.name, MaxManifest)
		if err != nil {
			continue
		}
		if source.read(d, fsys, text) {
			d.Found = append(d.Found, source.name)
			break
		}
		d.Unreadable = append(d.Unreadable, source.name)
	}
	if d.Type == "" {
		d.fromEntryPoint(fsys)
	}
	if d.Name == "" {
		d.Name = folder
	}
	d.Name = machineName(d.Name)
	return d
}

// fromEntryPoint sets the type of a project without settings by the usual names of its program.
func (d *Draft) fromEntryPoint(fsys fs.FS) {
	for _, usual := range []struct{ serverType, name string }{
		{TypeNode, "server/index.js"},
		{TypeNode, "index.js"},
		{TypePython, "server/main.py"},
		{TypePython, "main.py"},
		{TypePython, "server.py"},
	} {
		info, err := fs.Stat(fsys, usual.name)
		if err == nil && info.Mode().IsRegular() {
			d.Type = usual.serverType
			d.EntryPoint = usual.name
			d.Found = append(d.Found, usual.name)
			return
		}
	}
}

// machineName makes a valid machine name: it removes an npm scope and replaces other
// characters.
func machineName(s string) string {
	_, name, ok := strings.Cut(s, "/")
	if ok && strings.HasPrefix(s, "@") {
		s = name
	}
	s = regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(s, "-")
	s = strings.Trim(s, "-._")
	if s == "" {
		return "my-server"
	}
	return s
}

// fromPackage reads package.json. The entry point is the first existing file of main, bin
// and the usual names.
func (d *Draft) fromPackage(fsys fs.FS, text []byte) bool {
	var p struct {
		Name, Version, Description, License, Homepage, Main string
		Author, Repository, Bin                             json.RawMessage
		Keywords                                            []string
		Engines                                             struct{ Node string }
	}
	if json.Unmarshal(text, &p) != nil {
		return false
	}
	d.Type = TypeNode
	d.Name = p.Name
	d.Version = p.Version
	d.Description = p.Description
	d.License = p.License
	d.Keywords = p.Keywords
	d.Runtime = p.Engines.Node
	if urlFault(p.Homepage) == "" {
		d.Homepage = p.Homepage
	}
	d.Author = authorOf(p.Author)
	d.Repository = repositoryOf(p.Repository)
	entries := []string{p.Main}
	var bins map[string]string
	if json.Unmarshal(p.Bin, &bins) == nil {
		for _, name := range sortedKeys(bins) {
			entries = append(entries, bins[name])
		}
	}
	// bin is an object of names and paths, or one path.
	var bin string
	if json.Unmarshal(p.Bin, &bin) == nil {
		entries = append(entries, bin)
	}
	entries = append(entries, "server/index.js", "dist/index.js", "build/index.js", "index.js", "src/index.js")
	d.EntryPoint = firstFile(fsys, entries, "server/index.js")
	return true
}

// firstFile returns the first of the names that is a file, else the first name if it is
// in the bundle, else the default.
func firstFile(fsys fs.FS, names []string, otherwise string) string {
	said := ""
	for i, name := range names {
		clean, why := cleanPath(name)
		if why != "" {
			continue
		}
		info, err := fs.Stat(fsys, clean)
		if err == nil && info.Mode().IsRegular() {
			return clean
		}
		if said == "" && i == 0 {
			said = clean
		}
	}
	if said != "" {
		return said
	}
	return otherwise
}

// authorOf reads an author in npm's form: a string or an object.
func authorOf(raw json.RawMessage) Author {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return parseAuthor(text)
	}
	var a Author
	_ = json.Unmarshal(raw, &a) // another value is no author
	return validAuthor(a)
}

// repositoryOf returns the URL of the field repository of a package.json, which is a text or an
// object with a URL.
func repositoryOf(raw json.RawMessage) string {
	var text string
	var object struct{ URL string }
	if json.Unmarshal(raw, &text) != nil && json.Unmarshal(raw, &object) == nil {
		text = object.URL
	}
	return repositoryURL(text)
}

// fromPyproject reads pyproject.toml (PEP 621).
func (d *Draft) fromPyproject(fsys fs.FS, text []byte) bool {
	var p struct {
		Project struct {
			Name, Version, Description string
			License                    any
			Keywords                   []string
			Authors                    []struct{ Name, Email string }
			Dependencies               []string
			RequiresPython             string            `toml:"requires-python"`
			URLs                       map[string]string `toml:"urls"`
		}
		Tool struct{ UV map[string]any }
	}
	if toml.Unmarshal(text, &p) != nil {
		return false
	}
	has := func(name string) bool {
		_, err := fs.Stat(fsys, name)
		return err == nil
	}
	d.Type = TypePython
	if has("uv.lock") || p.Tool.UV != nil ||
		len(p.Project.Dependencies) > 0 && !has("server/lib") {
		// The host installs dependencies that a server of type python would have to bundle.
		d.Type = TypeUV
	}
	d.Name = p.Project.Name
	d.Version = p.Project.Version
	d.Description = p.Project.Description
	d.Keywords = p.Project.Keywords
	d.Runtime = p.Project.RequiresPython
	d.License, _ = p.Project.License.(string)
	if len(p.Project.Authors) > 0 {
		d.Author = Author{
			Name:  p.Project.Authors[0].Name,
			Email: p.Project.Authors[0].Email,
		}
	}
	for _, name := range sortedKeys(p.Project.URLs) {
		switch url := p.Project.URLs[name]; strings.ToLower(name) {
		case "homepage":
			d.Homepage = url
		case "repository", "source":
			d.Repository = url
		}
	}
	module := strings.ReplaceAll(d.Name, "-", "_")
	d.EntryPoint = firstFile(fsys,
		[]string{
			"server/main.py",
			"src/server.py",
			"server.py",
			"main.py",
			"src/" + module + "/server.py",
			"src/" + module + "/__main__.py",
			module + "/server.py",
			"src/main.py",
		},
		"server/main.py")
	return true
}

// fromGoMod reads go.mod: the name is the last part of the module path, without a version.
func (d *Draft) fromGoMod(_ fs.FS, text []byte) bool {
	m := regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)`).FindSubmatch(text)
	if m == nil {
		return false
	}
	d.Type, d.Name = TypeBinary, path.Base(string(m[1]))
	if regexp.MustCompile(`^v[0-9]+$`).MatchString(d.Name) { // a module's major version
		d.Name = path.Base(path.Dir(string(m[1])))
	}
	if strings.HasPrefix(string(m[1]), "github.com/") {
		parts := strings.Split(string(m[1]), "/")
		d.Repository = "https://" + strings.Join(parts[:min(3, len(parts))], "/")
	}
	d.EntryPoint = "server/" + machineName(d.Name)
	return true
}

// fromCargo reads Cargo.toml. Values that a workspace holds are unknown.
func (d *Draft) fromCargo(_ fs.FS, text []byte) bool {
	var c struct {
		Package struct {
			Name, Version, Description, License, Repository, Homepage any
			Authors                                                   []string
			Keywords                                                  []string
		}
	}
	if toml.Unmarshal(text, &c) != nil {
		return false
	}
	word := func(v any) string { // a table means that the workspace has the value
		s, _ := v.(string)
		return s
	}
	p := &c.Package
	d.Type, d.Name, d.Version, d.Description, d.License = TypeBinary,
		word(p.Name), word(p.Version), word(p.Description), word(p.License)
	d.Repository, d.Homepage, d.Keywords = word(p.Repository), word(p.Homepage), p.Keywords
	if len(p.Authors) > 0 {
		d.Author = parseAuthor(p.Authors[0])
	}
	d.EntryPoint = "server/" + machineName(d.Name)
	return true
}

// Fill sets missing fields that a manifest needs to their defaults.
func (d *Draft) Fill() {
	set := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	set(&d.Type, TypeNode)
	set(&d.Version, "1.0.0")
	set(&d.Description, "An MCP server")
	set(&d.Author.Name, "Unknown author")
	set(&d.SpecVersion, DefaultSpecVersion)
	if d.Type == TypeUV {
		d.SpecVersion = max(d.SpecVersion, "0.4")
	}
	set(&d.EntryPoint,
		map[string]string{TypeNode: "server/index.js", TypePython: "server/main.py", TypeUV: "src/server.py"}[d.Type])
	set(&d.EntryPoint, "server/"+machineName(d.Name))
}

// config returns the command line for the type of the server.
func (d *Draft) config() *Config {
	entry := "${" + varDir + "}/" + d.EntryPoint
	switch d.Type {
	case TypePython:
		path := map[string]string{"PYTHONPATH": "${" + varDir + "}/server/lib"}
		return &Config{
			Command: "python",
			Args:    []string{entry},
			Env:     path,
		}
	case TypeUV:
		return &Config{
			Command: "uv",
			Args:    []string{"run", "--directory", "${" + varDir + "}", d.EntryPoint},
		}
	case TypeBinary:
		return &Config{
			Command: entry,
			Args:    []string{},
		}
	}
	return &Config{
		Command: "node",
		Args:    []string{entry},
	}
}

// Manifest returns the text of the manifest: JSON, indented by two spaces, with a newline
// at the end. It writes no file. Call [Draft.Fill] first.
func (d *Draft) Manifest() ([]byte, error) {
	m := &Manifest{
		SpecVersion: d.SpecVersion,
		Name:        d.Name,
		DisplayName: d.DisplayName,
		Version:     d.Version,
		Description: d.Description,
		Author:      d.Author,
		Homepage:    d.Homepage,
		License:     d.License,
		Keywords:    d.Keywords,
		Server: Server{
			Type:       d.Type,
			EntryPoint: d.EntryPoint,
			Config:     d.config(),
		},
	}
	if len(m.Keywords) == 0 {
		m.Keywords = nil
	}
	if d.Repository != "" {
		m.Repository = &Repository{
			Type: "git",
			URL:  d.Repository,
		}
	}
	runtime := map[string]string{TypeNode: "node", TypePython: "python", TypeUV: "python"}[d.Type]
	if runtime != "" && d.Runtime != "" {
		m.Compatibility = &Compatibility{Runtimes: map[string]string{runtime: d.Runtime}}
	}
	return m.encode()
}

// encode returns the JSON of the fields that a new manifest has, indented by two spaces.
func (m *Manifest) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(m)
	return b.Bytes(), err
}

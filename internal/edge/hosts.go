package edge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// plannedFile is a file of an endpoint.
type plannedFile struct {
	// name is the path of the file, and text its contents.
	name string
	text []byte
	// ours reports whether an existing file may be replaced. Default: if it has the [Marker].
	ours func(old []byte) bool
	// present reports whether an existing file that is not ours already contains what the
	// endpoint needs. Otherwise lines are what its owner has to add, and linesFor returns them if
	// they depend on the file.
	present  func(old []byte) bool
	lines    string
	linesFor func(old []byte) string
}

// host describes where the files of an endpoint are.
type host struct {
	// name is that of the option.
	name string
	// own and remote are the scripts of a module next to the site, and of one for a site
	// elsewhere.
	own, remote []string
	plan        func(p *plan) error
}

var hosts = []host{
	{"cloudflare", []string{"cloudflare"}, []string{"cloudflare-remote"}, (*plan).cloudflare},
	{"cloudflare-pages", []string{"cloudflare"}, []string{"cloudflare-remote"}, (*plan).cloudflarePages},
	{"netlify", []string{"netlify"}, []string{"netlify-remote"}, (*plan).netlify},
	{"vercel", []string{"vercel"}, []string{"vercel-remote"}, (*plan).vercel},
	{
		"deno",
		[]string{"static", "port", "deno-server", "deno"}, []string{"port", "deno-server", "deno-remote"},
		(*plan).deno,
	},
	{
		"node",
		[]string{"static", "port", "node-server", "node"}, []string{"port", "node-server", "node-remote"},
		(*plan).node,
	},
	{"lambda", []string{"lambda", "lambda-handler"}, []string{"lambda-remote", "lambda-handler"}, (*plan).lambda},
}

// Hosts returns the names of the hosts that can run an endpoint.
func Hosts() []string {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.name
	}
	return names
}

// Runs reports whether a host can run an endpoint.
func Runs(name string) bool { return slices.Contains(Hosts(), name) }

// plan collects the files of an endpoint.
type plan struct {
	// opts are complete, and files what is to be written.
	opts  *Options
	host  *host
	files []plannedFile
}

// add adds a file below a folder.
func (p *plan) add(folder, name string, text []byte) *plannedFile {
	p.files = append(p.files, plannedFile{name: filepath.Join(folder, filepath.FromSlash(name)), text: text})
	return &p.files[len(p.files)-1]
}

// addModule adds the module as a file below a folder.
func (p *plan) addModule(folder, name string, scripts ...string) error {
	o := p.opts
	c := &config{
		Path:  o.Path,
		Site:  o.URL,
		Hosts: o.AllowedHosts,
	}
	if len(scripts) == 0 {
		scripts = p.host.own
	}
	scripts = append([]string{"fetched"}, scripts...)
	if o.URL != "" {
		scripts = append([]string{"fetched", "remote"}, p.host.remote...)
	} else {
		c.Site = "/" + o.Site + "/"
		if o.Site == "" {
			c.Site = "/"
		}
		from := filepath.Dir(filepath.Join(folder, filepath.FromSlash(name)))
		if p.host.name == "vercel" {
			from = o.Project // where functions run
		}
		published, err := relative(from, o.Published)
		if err != nil {
			return err
		}
		c.Published = "./" + published + "/"
		c.Folder = path.Join(published, o.Site)
	}
	text, err := module(o.Language, o.Languages, c, scripts...)
	if err != nil {
		return err
	}
	file := p.add(folder, name, text)
	file.lines = "this file is not ours: rename it, and run the command again"
	return nil
}

// relative returns the path from one folder to another with slashes.
func relative(from, to string) (string, error) {
	absolute, err := filepath.Abs(to)
	if err != nil {
		return "", err
	}
	if from, err = filepath.Abs(from); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(from, absolute)
	return filepath.ToSlash(rel), err
}

// cloudflarePages writes an advanced-mode worker, which would switch off the functions of a
// project that has some: there the endpoint is one of them.
func (p *plan) cloudflarePages() error {
	o := p.opts
	if o.URL != "" {
		return p.addModule(o.Project, "_worker.js")
	}
	functions := filepath.Join(o.Project, "functions")
	if info, err := os.Stat(functions); err == nil && info.IsDir() {
		return p.addModule(functions, strings.TrimPrefix(o.Path, "/")+".js", "cloudflare-functions")
	}
	if err := p.addModule(o.Published, "_worker.js"); err != nil {
		return err
	}
	routes := routesFile(o.Path)
	file := p.add(o.Published, "_routes.json", routes)
	file.ours = func(old []byte) bool {
		include := includedRoutes(old)
		return len(include) == 1 && ValidPath(include[0]) && bytes.Equal(old, routesFile(include[0]))
	}
	file.lines = fmt.Sprintf(`%s in "include"`, quoted(o.Path))
	file.present = func(old []byte) bool {
		return slices.ContainsFunc(includedRoutes(old), func(pattern string) bool {
			return pattern == o.Path || pattern == "/*"
		})
	}
	return nil
}

// routesFile returns the _routes.json for an endpoint. Like all JSON it cannot have the [Marker].
func routesFile(path string) []byte {
	return fmt.Appendf(nil, "{\n  \"version\": 1,\n  \"include\": [%s],\n  \"exclude\": []\n}\n", quoted(path))
}

// includedRoutes returns the patterns of a _routes.json, or nil if it is invalid.
func includedRoutes(text []byte) []string {
	var said struct{ Include []string }
	if json.Unmarshal(text, &said) != nil {
		return nil
	}
	return said.Include
}

func (p *plan) netlify() error { return p.addModule(p.opts.Project, "netlify/edge-functions/mcp.js") }

// vercelModule is the function that answers on Vercel.
const vercelModule = "api/mcp.mjs"

// vercelSettings is a vercel.json.
type vercelSettings struct {
	Rewrites  []vercelRewrite           `json:"rewrites"`
	Functions map[string]vercelFunction `json:"functions,omitempty"`
}

type vercelRewrite struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
}

type vercelFunction struct {
	IncludeFiles string `json:"includeFiles"`
}

// newVercelSettings returns the settings for an endpoint with the files that it includes, if any.
func newVercelSettings(path, files string) vercelSettings {
	s := vercelSettings{Rewrites: []vercelRewrite{{path, "/api/mcp"}}}
	if files != "" {
		s.Functions = map[string]vercelFunction{vercelModule: {files}}
	}
	return s
}

// text returns the file.
func (s *vercelSettings) text() ([]byte, error) {
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}

// isOurVercelFile reports whether a vercel.json is the one for an endpoint, at any path.
func isOurVercelFile(old []byte) bool {
	var said vercelSettings
	if json.Unmarshal(old, &said) != nil || len(said.Rewrites) != 1 || !ValidPath(said.Rewrites[0].Source) {
		return false
	}
	written := newVercelSettings(said.Rewrites[0].Source, said.Functions[vercelModule].IncludeFiles)
	text, err := written.text()
	return err == nil && bytes.Equal(old, text)
}

func (p *plan) vercel() error {
	o := p.opts
	if err := p.addModule(o.Project, vercelModule); err != nil {
		return err
	}
	files := ""
	if o.URL == "" {
		published, err := relative(o.Project, o.Published)
		if err != nil {
			return err
		}
		files = path.Join(published, o.Site) + "/**"
	}
	wanted := newVercelSettings(o.Path, files)
	text, err := wanted.text()
	if err != nil {
		return err
	}
	file := p.add(o.Project, "vercel.json", text)
	file.ours = isOurVercelFile
	file.lines = strings.TrimSuffix(strings.TrimPrefix(string(text), "{\n"), "\n}\n")
	file.present = func(old []byte) bool {
		var said vercelSettings
		return json.Unmarshal(old, &said) == nil && slices.Contains(said.Rewrites, wanted.Rewrites[0]) &&
			said.Functions[vercelModule] == wanted.Functions[vercelModule]
	}
	return nil
}

func (p *plan) deno() error { return p.addModule(p.opts.Project, "mcp.js") }

func (p *plan) node() error { return p.addModule(p.opts.Project, "mcp-server.mjs") }

func (p *plan) lambda() error { return p.addModule(p.opts.Project, "index.mjs") }

// quoted returns a text as a JSON string.
func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		return `""` // texts always encode
	}
	return string(raw)
}

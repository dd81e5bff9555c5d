package edge

import (
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
	// endpoint needs. Otherwise lines are what its owner has to add.
	present func(old []byte) bool
	lines   string
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

func (p *plan) cloudflare() error {
	o := p.opts
	if err := p.addModule(o.Project, "mcp.js"); err != nil {
		return err
	}
	settings := fmt.Sprintf("{\n  \"name\": %s,\n  \"main\": \"mcp.js\",\n  \"compatibility_date\": \"2025-09-01\"",
		quoted(workerName(o.Name)))
	lines := `"main": "mcp.js"`
	if o.URL == "" {
		published, err := relative(o.Project, o.Published)
		if err != nil {
			return err
		}
		assets := fmt.Sprintf(
			`"assets": { "directory": %s, "binding": "ASSETS", "run_worker_first": [%s] }`,
			quoted("./"+published), quoted(o.Path))
		settings += ",\n  " + assets
		lines += ",\n" + assets
	}
	file := p.add(o.Project, "wrangler.jsonc", []byte(Marker+"\n"+settings+"\n}\n"))
	file.lines = lines
	file.present = func(old []byte) bool {
		return strings.Contains(string(old), "mcp.js") && (o.URL != "" || strings.Contains(string(old), quoted(o.Path)))
	}
	return nil
}

// workerName returns a name that Cloudflare accepts.
func workerName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	name = strings.Trim(name[:min(len(name), 50)], "-")
	if name == "" {
		return "mcp"
	}
	return name
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
	routes := fmt.Sprintf("{\n  \"version\": 1,\n  \"include\": [%s],\n  \"exclude\": []\n}\n", quoted(o.Path))
	file := p.add(o.Published, "_routes.json", []byte(routes))
	file.lines = fmt.Sprintf(`%s in "include"`, quoted(o.Path))
	file.present = func(old []byte) bool {
		var said struct{ Include []string }
		return json.Unmarshal(old, &said) == nil && slices.ContainsFunc(said.Include, func(pattern string) bool {
			return pattern == o.Path || pattern == "/*"
		})
	}
	return nil
}

func (p *plan) netlify() error { return p.addModule(p.opts.Project, "netlify/edge-functions/mcp.js") }

func (p *plan) vercel() error {
	o := p.opts
	if err := p.addModule(o.Project, "api/mcp.mjs"); err != nil {
		return err
	}
	type rewrite struct {
		Source      string `json:"source"`
		Destination string `json:"destination"`
	}
	type function struct {
		IncludeFiles string `json:"includeFiles"`
	}
	type settings struct {
		Rewrites  []rewrite           `json:"rewrites"`
		Functions map[string]function `json:"functions,omitempty"`
	}
	wanted := settings{Rewrites: []rewrite{{o.Path, "/api/mcp"}}}
	if o.URL == "" {
		published, err := relative(o.Project, o.Published)
		if err != nil {
			return err
		}
		wanted.Functions = map[string]function{"api/mcp.mjs": {path.Join(published, o.Site) + "/**"}}
	}
	text, err := json.MarshalIndent(wanted, "", "  ")
	if err != nil {
		return err
	}
	file := p.add(o.Project, "vercel.json", append(text, '\n'))
	file.lines = strings.TrimSuffix(strings.TrimPrefix(string(text), "{\n"), "\n}")
	file.present = func(old []byte) bool {
		var said settings
		return json.Unmarshal(old, &said) == nil && slices.Contains(said.Rewrites, wanted.Rewrites[0]) &&
			said.Functions["api/mcp.mjs"] == wanted.Functions["api/mcp.mjs"]
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

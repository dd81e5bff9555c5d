package edge

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// wranglerName is the configuration that Slipway writes for wrangler, the program that deploys to
// Cloudflare.
const wranglerName = "wrangler.jsonc"

// WranglerNames returns the names of wrangler's configuration, in its order: it reads the first that
// exists, and ignores the others.
func WranglerNames() []string { return []string{"wrangler.json", wranglerName, "wrangler.toml"} }

// assets are the members of wrangler's configuration that publish a folder next to a module.
type assets struct {
	directory string
	first     string // the path of the requests that reach the module
}

// json returns the setting for JSON.
func (a *assets) json() string {
	return fmt.Sprintf(`"assets": { "directory": %s, "binding": "ASSETS", "run_worker_first": [%s] }`,
		quoted(a.directory), quoted(a.first))
}

// toml returns the setting for TOML, whose basic strings are those of JSON.
func (a *assets) toml() string {
	return fmt.Sprintf("[assets]\ndirectory = %s\nbinding = \"ASSETS\"\nrun_worker_first = [%s]",
		quoted(a.directory), quoted(a.first))
}

func (p *plan) cloudflare() error {
	o := p.opts
	if err := p.addModule(o.Project, "mcp.js"); err != nil {
		return err
	}
	var a *assets
	if o.URL == "" {
		published, err := relative(o.Project, o.Published)
		if err != nil {
			return err
		}
		a = &assets{directory: "./" + published, first: o.Path}
	}
	name, shadowed := p.wranglerInUse()
	settings := fmt.Sprintf("{\n  \"name\": %s,\n  \"main\": \"mcp.js\",\n  \"compatibility_date\": \"2025-09-01\"",
		quoted(workerName(o.Name)))
	if a != nil {
		settings += ",\n  " + a.json()
	}
	file := p.add(o.Project, name, []byte(Marker+"\n"+settings+"\n}\n"))
	c := wranglerConfig{
		name:   name,
		folder: o.Project,
		path:   o.Path,
		assets: a,
	}
	if shadowed {
		c.instead = wranglerName
	}
	file.present = c.present
	file.linesFor = c.lines
	return nil
}

// wranglerInUse returns the name of the configuration that the endpoint belongs in: the foreign file
// that wrangler would read without ours, or ours. shadowed reports whether ours exists next to that
// file and takes precedence over it.
func (p *plan) wranglerInUse() (name string, shadowed bool) {
	for _, name := range WranglerNames() {
		file := filepath.Join(p.opts.Project, name)
		if _, err := os.Lstat(file); err != nil {
			continue
		}
		if name != wranglerName {
			return name, shadowed
		}
		old, err := fsutil.ReadFile(file, maxFile)
		if err != nil || !marked(Marker)(old) {
			return name, false // compare reports the error
		}
		shadowed = true
	}
	return wranglerName, false
}

// wranglerConfig is a configuration of wrangler that someone else wrote.
type wranglerConfig struct {
	name, folder string
	path         string  // of the endpoint
	assets       *assets // nil for a site elsewhere
	instead      string  // the name of ours, if wrangler reads it instead
}

// parse returns the root of the configuration, or nil if it is invalid.
func (c *wranglerConfig) parse(old []byte) *tree.Node {
	format := tree.JSONC
	if strings.HasSuffix(c.name, ".toml") {
		format = tree.TOML
	}
	root, _ := tree.Parse(old, format)
	return root
}

// script returns the Worker of the configuration if it is not the module, or "".
func (c *wranglerConfig) script(old []byte) string {
	main := path.Clean(c.parse(old).Get("main").String())
	if main == "mcp.js" || !filepath.IsLocal(filepath.FromSlash(main)) || main == "." {
		return ""
	}
	return main
}

// present reports whether requests for the endpoint reach the module.
func (c *wranglerConfig) present(old []byte) bool {
	root := c.parse(old)
	if root == nil || c.instead != "" {
		return false
	}
	if script := c.script(old); script != "" {
		text, err := fsutil.ReadFile(filepath.Join(c.folder, filepath.FromSlash(script)), maxFile)
		if err != nil || !strings.Contains(string(text), "mcp.js") {
			return false
		}
	} else if root.Get("main") == nil {
		return false
	}
	if c.assets == nil {
		return true
	}
	first := root.Get("assets", "run_worker_first")
	return first.True() || slices.ContainsFunc(first.Strings(), func(pattern string) bool {
		start, wild := strings.CutSuffix(pattern, "*")
		return pattern == c.path || wild && strings.HasPrefix(c.path, start)
	})
}

// lines returns what the configuration lacks, in its own syntax.
func (c *wranglerConfig) lines(old []byte) string {
	comment, main := "// ", `"main": "mcp.js",`
	settings := ""
	if strings.HasSuffix(c.name, ".toml") {
		comment, main = "# ", `main = "mcp.js"`
		if c.assets != nil {
			settings = "\n" + c.assets.toml()
		}
	} else if c.assets != nil {
		settings = c.assets.json()
	}
	var list []string
	if c.instead != "" {
		list = append(list, comment+"Delete "+c.instead+": wrangler reads it instead of "+c.name+".")
	}
	if script := c.script(old); script != "" {
		list = append(list,
			comment+"Keep main, and let "+script+" pass on the requests for the endpoint:",
			comment+"  import endpoint from "+quoted(importPath(script))+";",
			comment+"  if (new URL(request.url).pathname === "+quoted(c.path)+") return endpoint.fetch(request, env);")
	} else {
		list = append(list, main)
	}
	if settings != "" {
		list = append(list, settings)
	}
	return strings.TrimSuffix(strings.Join(list, "\n"), ",")
}

// importPath returns the path of the module for an import in a script.
func importPath(script string) string {
	up := strings.Repeat("../", strings.Count(script, "/"))
	return cmp.Or(up, "./") + "mcp.js"
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

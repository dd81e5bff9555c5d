package project

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/internal/edge"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Options configure what is written.
type Options struct {
	// Host is the web host, one of [staticmcp.HostNames]. Default: github-pages.
	Host string
	// BaseURL is the address of the published pages. Default: that of the generator's
	// configuration.
	BaseURL string
	// DryRun determines the files without writing them.
	DryRun bool
}

// Action is what was done to a file.
type Action string

// The actions. An existing file is never replaced.
const (
	Create    Action = "create"
	Unchanged Action = "unchanged"
	Kept      Action = "kept"
)

// File is a file for a repository.
type File struct {
	// Path is relative to the folder of the project, with slashes. It begins with ".." for the
	// workflow of a project in a folder of a repository.
	Path   string `json:"path"`
	Action Action `json:"action"`
	// Note says what has been decided for the file, and why.
	Note string `json:"note,omitempty"`
	// Text is what the file contains or, if it was kept, would contain.
	Text string `json:"text"`
}

// Write writes the slipway.site.yaml of a project into its folder, and its deployment workflow into
// the repository, which is the closest folder above dir with a .git, or dir itself. Existing files are
// left alone.
func Write(dir string, p *Project, opts *Options) ([]File, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.Host == "" {
		o.Host = "github-pages"
	}
	if _, err := staticmcp.HostNamed(o.Host); err != nil {
		return nil, err
	}
	repo, err := findRepository(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(repo.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	branch, why := repo.branch()
	d := &deployment{
		project: p,
		host:    o.Host,
		folder:  repo.folder,
		branch:  branch,
		config:  "wrangler.jsonc",
	}
	if own := (&inspector{root}).has(d.above(), edge.WranglerNames()...); own != "" {
		d.config = path.Base(own)
	}
	workflow := File{Path: ".github/workflows/docs.yml", Text: d.workflow()}
	if o.Host == "gitlab-pages" {
		workflow = File{Path: ".gitlab-ci.yml", Text: d.pipeline()}
	}
	workflow.Note = fmt.Sprintf("publishes branch %s (%s)", branch, why)
	files := []File{{Path: in(repo.folder, "slipway.site.yaml"), Text: p.settings(&o)}, workflow}
	for n := range files {
		f := &files[n]
		if err := f.write(root, repo.dir, o.DryRun); err != nil {
			return nil, err
		}
		below, err := filepath.Rel(filepath.FromSlash(repo.folder), filepath.FromSlash(f.Path))
		if err != nil {
			return nil, err
		}
		f.Path = filepath.ToSlash(below)
	}
	return files, nil
}

// write writes a file of the repository at dir, unless it exists, and sets the action.
func (f *File) write(root *os.Root, dir string, dryRun bool) error {
	name := filepath.FromSlash(f.Path)
	old, err := root.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Action = Create
	case err != nil:
		return err
	case bytes.Equal(old, []byte(f.Text)):
		f.Action = Unchanged
	default:
		f.Action = Kept
	}
	if f.Action != Create || dryRun {
		return nil
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return fsutil.Replace(filepath.Join(dir, name), 0o644, fsutil.Content([]byte(f.Text)))
}

// settings returns the slipway.site.yaml.
func (p *Project) settings(o *Options) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The MCP server of this documentation: slipway site build .\n"+
		"# Recognized as %s from %s.\n", p.Name, comment(p.Why[0]))
	if len(p.Generate) > 0 {
		b.WriteString("# Run the generator first: the Markdown of each page goes next to its pages.\n")
	}
	fmt.Fprintf(&b, "output: %s\nsiteRoot: %s\nhost: %s\ninputs:\n", quoted(p.Site), quoted(p.Published), o.Host)
	for _, input := range p.Inputs {
		fmt.Fprintf(&b, "  - %s: %s\n", input.Kind, quoted(input.Path))
		if input.Kind == "docs" && o.BaseURL != "" {
			fmt.Fprintf(&b, "    baseURL: %s\n", quoted(o.BaseURL))
		}
	}
	return b.String()
}

// comment returns a text for a comment of one line.
func comment(text string) string { return strings.Join(strings.Fields(text), " ") }

// plainYAML matches texts without a character that has a meaning in YAML.
var plainYAML = lazyregexp.New(`^[A-Za-z0-9._/]([A-Za-z0-9._/:-]*[A-Za-z0-9._/-])?$`)

// typedYAML matches what a YAML parser may read as another type than text: everything that begins
// like a number or date, the end of a document, and the words of all versions of YAML for booleans,
// null and numbers.
var typedYAML = lazyregexp.New(`^(?i:\.?[0-9].*|\.\.\.|\.?(y|n|yes|no|on|off|true|false|null|inf|nan))$`)

// quoted returns a text as a YAML scalar.
func quoted(text string) string {
	if plainYAML().MatchString(text) && !typedYAML().MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// pathWord returns a relative path as a word of a shell, which no command takes for an option.
func pathWord(name string) string {
	if strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	return process.POSIXWord(name)
}

// quoteCommands quotes the commands after a prefix of their lines that are not plain scalars.
func quoteCommands(text, prefix string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		command, ok := strings.CutPrefix(line, prefix)
		command = strings.TrimSuffix(command, "\n")
		if ok && (strings.Contains(command, ": ") || strings.Contains(command, " #") || strings.HasSuffix(command, ":")) {
			lines[i] = prefix + "'" + strings.ReplaceAll(command, "'", "''") + "'\n"
		}
	}
	return strings.Join(lines, "")
}

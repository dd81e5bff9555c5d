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
	// Path is relative to the repository, with slashes.
	Path   string `json:"path"`
	Action Action `json:"action"`
	// Text is what the file contains or, if it was kept, would contain.
	Text string `json:"text"`
}

// Write writes the slipway.site.yaml of a project and its deployment workflow into the
// repository at dir. Existing files are left alone.
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
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	i := &inspector{root}
	workflow := File{Path: ".github/workflows/docs.yml", Text: p.workflow(&o, i.branch())}
	if o.Host == "gitlab-pages" {
		workflow = File{Path: ".gitlab-ci.yml", Text: p.pipeline(i.branch())}
	}
	files := []File{{Path: "slipway.site.yaml", Text: p.settings(&o)}, workflow}
	for n := range files {
		f := &files[n]
		name := filepath.FromSlash(f.Path)
		old, err := root.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			f.Action = Create
		case err != nil:
			return nil, err
		case bytes.Equal(old, []byte(f.Text)):
			f.Action = Unchanged
		default:
			f.Action = Kept
		}
		if f.Action != Create || o.DryRun {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, err
		}
		if err := fsutil.Replace(filepath.Join(dir, name), 0o644, fsutil.Content([]byte(f.Text))); err != nil {
			return nil, err
		}
	}
	return files, nil
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

// branch returns the branch that is published: the default branch of the remote, or main.
func (i *inspector) branch() string {
	for _, name := range []string{".git/refs/remotes/origin/HEAD", ".git/HEAD"} {
		ref, found := strings.CutPrefix(strings.TrimSpace(i.read(name)), "ref: refs/")
		if !found {
			continue
		}
		ref = strings.TrimPrefix(strings.TrimPrefix(ref, "remotes/origin/"), "heads/")
		if plainYAML().MatchString(ref) {
			return ref
		}
	}
	return "main"
}

// setups are the steps that install what a generator is written in.
var setups = map[string]string{
	"python": "      - uses: actions/setup-python@v6\n        with:\n          python-version: '3.13'\n",
	"node":   "      - uses: actions/setup-node@v6\n        with:\n          node-version: 22\n",
	"go":     "      - uses: actions/setup-go@v6\n        with:\n          go-version: stable\n",
	"ruby":   "      - uses: ruby/setup-ruby@v1\n        with:\n          ruby-version: '3.4'\n",
	"rust":   "",
}

// deployment is how a host receives the published folder.
type deployment struct {
	// permissions and environment are members of the job, and steps publish the folder: FOLDER is
	// its name as a YAML scalar, WORD as a word of a shell, and LINE as a line of text.
	permissions, environment, steps string
}

const uploaded = `      # Deploy this artifact to your host, next to the files of the endpoint.
      - uses: actions/upload-artifact@v6
        with:
          name: documentation
          path: |
            LINE
            ENDPOINT
          include-hidden-files: true # the index of the site is in .staticmcp
`

// deployments lists the hosts that a workflow can deploy to.
var deployments = map[string]deployment{
	"github-pages": {
		"      pages: write\n      id-token: write\n",
		"    environment:\n      name: github-pages\n      url: ${{ steps.deployment.outputs.page_url }}\n",
		`      - uses: actions/upload-pages-artifact@v5
        with:
          path: FOLDER
          include-hidden-files: true # the index of the site is in .staticmcp
      - id: deployment
        uses: actions/deploy-pages@v5
`},
	"cloudflare": {"", "", `      # Secrets of the repository: a token that may edit Workers, and the account.
      - run: npx --yes wrangler@4 deploy
        env:
          CLOUDFLARE_API_TOKEN: ${{ secrets.CLOUDFLARE_API_TOKEN }}
          CLOUDFLARE_ACCOUNT_ID: ${{ secrets.CLOUDFLARE_ACCOUNT_ID }}
`},
	"cloudflare-pages": {"", "", `      # Secrets of the repository: a token that may edit Pages, and the account.
      - run: npx --yes wrangler@4 pages deploy WORD --project-name "$PROJECT"
        env:
          PROJECT: ${{ github.event.repository.name }}
          CLOUDFLARE_API_TOKEN: ${{ secrets.CLOUDFLARE_API_TOKEN }}
          CLOUDFLARE_ACCOUNT_ID: ${{ secrets.CLOUDFLARE_ACCOUNT_ID }}
`},
	"netlify": {"", "", `      # Secrets of the repository: a token, and the id of the site.
      - run: npx --yes netlify-cli deploy --prod --no-build --dir WORD
        env:
          NETLIFY_AUTH_TOKEN: ${{ secrets.NETLIFY_AUTH_TOKEN }}
          NETLIFY_SITE_ID: ${{ secrets.NETLIFY_SITE_ID }}
`},
	"s3": {"", "", `      # Secrets of the repository: a key that may write to the bucket, and a variable with its name.
      - run: aws s3 sync WORD "s3://$BUCKET" --delete
        env:
          BUCKET: ${{ vars.BUCKET }}
          AWS_REGION: ${{ vars.AWS_REGION }}
          AWS_ACCESS_KEY_ID: ${{ secrets.AWS_ACCESS_KEY_ID }}
          AWS_SECRET_ACCESS_KEY: ${{ secrets.AWS_SECRET_ACCESS_KEY }}
`},
}

// endpoints are the files of the endpoint of the hosts without a deployment of their own,
// next to the published folder.
var endpoints = map[string]string{
	"vercel": "api\n            vercel.json", "deno": "mcp.js", "node": "mcp-server.mjs", "lambda": "index.mjs",
}

// runStep and scriptLine precede the commands of a workflow and of a pipeline.
const (
	runStep    = "      - run: "
	scriptLine = "    - "
)

// workflow returns the workflow of GitHub Actions that publishes the site.
func (p *Project) workflow(o *Options, branch string) string {
	d, ok := deployments[o.Host]
	if !ok {
		d.steps = uploaded
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Builds the documentation and its MCP server, and publishes both.
name: Documentation
on:
  push:
    branches: [%s]
  workflow_dispatch:
concurrency:
  group: documentation
jobs:
  publish:
    runs-on: ubuntu-latest
    permissions:
      contents: read
%s%s    steps:
      - uses: actions/checkout@v7
        with:
          fetch-depth: 0 # with the tags, which name the version
`, quoted(branch), d.permissions, d.environment)
	if len(p.Generate) > 0 {
		b.WriteString(setups[p.Language])
	}
	for _, command := range p.Generate {
		b.WriteString(runStep + command + "\n")
		if p.Folder != "." {
			fmt.Fprintf(&b, "        working-directory: %s\n", quoted(p.Folder))
		}
	}
	fmt.Fprintf(&b, `      - uses: slipway-mcp/slipway@v1
        with:
          command: build
          paths: .
          output: %s
          site-root: %s
`, quoted(p.Site), quoted(p.Published))
	endpoint := path.Join(path.Dir(p.Published), "ENDPOINT")
	if files := endpoints[o.Host]; files != "" {
		parent := path.Dir(p.Published)
		var list []string
		for _, name := range strings.Fields(files) {
			list = append(list, path.Join(parent, name))
		}
		endpoint = strings.Join(list, "\n            ")
	}
	b.WriteString(strings.NewReplacer("FOLDER", quoted(p.Published), "WORD", pathWord(p.Published), "LINE", p.Published,
		"ENDPOINT", endpoint).Replace(d.steps))
	return quoteCommands(b.String(), runStep)
}

// images are the container images of generators for GitLab.
var images = map[string]string{
	"python": "python:3.13", "node": "node:22", "go": "golang:1", "ruby": "ruby:3.4", "rust": "rust:1",
}

// pipeline returns the pipeline of GitLab that publishes the site.
func (p *Project) pipeline(branch string) string {
	var b strings.Builder
	b.WriteString("# Builds the documentation and its MCP server, and publishes both.\n")
	if len(p.Generate) > 0 {
		fmt.Fprintf(&b, "generate:\n  stage: build\n  image: %s\n  script:\n", images[p.Language])
		for _, command := range p.Generate {
			if p.Folder != "." {
				command = "(cd " + pathWord(p.Folder) + " && " + command + ")"
			}
			b.WriteString(scriptLine + command + "\n")
		}
		fmt.Fprintf(&b, "  artifacts:\n    paths: [%s]\n", quoted(p.Published))
	}
	fmt.Fprintf(&b, `pages:
  stage: deploy
  image: node:22
  script:
    - npx --yes slipway site build .
  publish: %s
  artifacts:
    paths: [%s]
  rules:
    - if: $CI_COMMIT_BRANCH == "%s"
`, quoted(p.Published), quoted(p.Published), branch)
	return quoteCommands(b.String(), scriptLine)
}

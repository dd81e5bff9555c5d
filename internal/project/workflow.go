package project

import (
	"fmt"
	"path"
	"strings"
)

// setups are the steps that install what a generator is written in.
var setups = map[string]string{
	"python": "      - uses: actions/setup-python@v6\n        with:\n          python-version: '3.13'\n",
	"node":   "      - uses: actions/setup-node@v6\n        with:\n          node-version: 22\n",
	"go":     "      - uses: actions/setup-go@v6\n        with:\n          go-version: stable\n",
	"ruby":   "      - uses: ruby/setup-ruby@v1\n        with:\n          ruby-version: '3.4'\n",
	"rust":   "",
}

// hostSteps are how a host receives the published folder.
type hostSteps struct {
	// permissions and environment are members of the job, and steps publish the folder: <FOLDER>
	// is its path in the repository as a YAML scalar, <WORD> as a word of a shell, and <LINE> as a line
	// of text. Below the folder above, which <WITHIN> makes the current one, <NAME> is its name.
	// <CONFIG> and <SITE> are the arguments that programs need elsewhere than at the root.
	permissions, environment, steps string
}

const uploaded = `      # Deploy this artifact to your host, next to the files of the endpoint.
      - uses: actions/upload-artifact@v6
        with:
          name: documentation
          path: |
            <LINE>
            <ENDPOINT>
          include-hidden-files: true # the index of the site is in .staticmcp
`

// deployable lists the hosts that a workflow can deploy to.
var deployable = map[string]hostSteps{
	"github-pages": {
		"      pages: write\n      id-token: write\n",
		"    environment:\n      name: github-pages\n      url: ${{ steps.deployment.outputs.page_url }}\n",
		`      - uses: actions/upload-pages-artifact@v5
        with:
          path: <FOLDER>
          include-hidden-files: true # the index of the site is in .staticmcp
      - id: deployment
        uses: actions/deploy-pages@v5
`},
	"cloudflare": {"", "", `      # Secrets of the repository: a token that may edit Workers, and the account.
      - run: npx --yes wrangler@4 deploy<CONFIG>
<WITHIN>        env:
          CLOUDFLARE_API_TOKEN: ${{ secrets.CLOUDFLARE_API_TOKEN }}
          CLOUDFLARE_ACCOUNT_ID: ${{ secrets.CLOUDFLARE_ACCOUNT_ID }}
`},
	"cloudflare-pages": {"", "", `      # Secrets of the repository: a token that may edit Pages, and the account.
      - run: npx --yes wrangler@4 pages deploy <NAME> --project-name "$PROJECT"
<WITHIN>        env:
          PROJECT: ${{ github.event.repository.name }}
          CLOUDFLARE_API_TOKEN: ${{ secrets.CLOUDFLARE_API_TOKEN }}
          CLOUDFLARE_ACCOUNT_ID: ${{ secrets.CLOUDFLARE_ACCOUNT_ID }}
`},
	"netlify": {"", "", `      # Secrets of the repository: a token, and the id of the site.
      - run: npx --yes netlify-cli deploy --prod --no-build <SITE>
        env:
          NETLIFY_AUTH_TOKEN: ${{ secrets.NETLIFY_AUTH_TOKEN }}
          NETLIFY_SITE_ID: ${{ secrets.NETLIFY_SITE_ID }}
`},
	"s3": {"", "", `      # Secrets of the repository: a key that may write to the bucket, and a variable with its name.
      - run: aws s3 sync <WORD> "s3://$BUCKET" --delete
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

// deployment is what publishes a site from its repository.
type deployment struct {
	project *Project
	host    string
	// folder is the folder of the project in the repository, with slashes, or ".".
	folder string
	branch string
	// config is the name of wrangler's configuration next to the published folder.
	config string
}

// path returns the path in the repository of a file of the project.
func (d *deployment) path(name string) string { return in(d.folder, name) }

// above returns the folder above the published one, in which hosts find the files of the endpoint.
func (d *deployment) above() string { return path.Dir(d.path(d.project.Published)) }

// workflow returns the workflow of GitHub Actions that publishes the site.
func (d *deployment) workflow() string {
	p := d.project
	host, ok := deployable[d.host]
	if !ok {
		host.steps = uploaded
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
`, quoted(d.branch), host.permissions, host.environment)
	if len(p.Generate) > 0 {
		b.WriteString(setups[p.Language])
	}
	for _, command := range p.Generate {
		b.WriteString(runStep + command + "\n" + workingDirectory(d.path(p.Folder)))
	}
	fmt.Fprintf(&b, `      - uses: slipway-mcp/slipway@v1
        with:
          command: build
          paths: %s
          output: %s
          site-root: %s
`, quoted(d.folder), quoted(d.path(p.Site)), quoted(d.path(p.Published)))
	b.WriteString(d.replacer().Replace(host.steps))
	return quoteCommands(b.String(), runStep)
}

// workingDirectory returns the line of a step that runs in a folder of the repository.
func workingDirectory(folder string) string {
	if folder == "." {
		return ""
	}
	return "        working-directory: " + quoted(folder) + "\n"
}

// replacer replaces the words in the steps of a host.
func (d *deployment) replacer() *strings.Replacer {
	published, above := d.path(d.project.Published), d.above()
	var endpoint []string
	for _, name := range strings.Fields(endpoints[d.host]) {
		endpoint = append(endpoint, path.Join(above, name))
	}
	config, site := "", "--dir "+pathWord(published)
	if above != "." {
		// wrangler prefers a wrangler.json at the root to a wrangler.jsonc here.
		config = " --config " + d.config
		// netlify takes the root of the repository for that of the site, wherever it is run.
		site = "--cwd " + pathWord(above) + ` --dir "$PWD"/` + pathWord(published)
	}
	return strings.NewReplacer("<FOLDER>", quoted(published), "<WORD>", pathWord(published), "<LINE>", published,
		"<ENDPOINT>", strings.Join(endpoint, "\n            "), "<WITHIN>", workingDirectory(above),
		"<NAME>", pathWord(path.Base(published)), "<CONFIG>", config, "<SITE>", site)
}

// images are the container images of generators for GitLab.
var images = map[string]string{
	"python": "python:3.13", "node": "node:22", "go": "golang:1", "ruby": "ruby:3.4", "rust": "rust:1",
}

// pipeline returns the pipeline of GitLab that publishes the site.
func (d *deployment) pipeline() string {
	p := d.project
	var b strings.Builder
	b.WriteString("# Builds the documentation and its MCP server, and publishes both.\n")
	published, folder := quoted(d.path(p.Published)), d.path(p.Folder)
	if len(p.Generate) > 0 {
		fmt.Fprintf(&b, "generate:\n  stage: build\n  image: %s\n  script:\n", images[p.Language])
		for _, command := range p.Generate {
			if folder != "." {
				command = "(cd " + pathWord(folder) + " && " + command + ")"
			}
			b.WriteString(scriptLine + command + "\n")
		}
		fmt.Fprintf(&b, "  artifacts:\n    paths: [%s]\n", published)
	}
	fmt.Fprintf(&b, `pages:
  stage: deploy
  image: node:22
  script:
    - npx --yes slipway site build %s
  publish: %s
  artifacts:
    paths: [%s]
  rules:
    - if: $CI_COMMIT_BRANCH == "%s"
`, pathWord(d.folder), published, published, d.branch)
	return quoteCommands(b.String(), scriptLine)
}

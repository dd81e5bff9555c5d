package project_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/project"
	internaltree "github.com/slipway-mcp/slipway/internal/tree"
)

// planned returns the files for a folder of a tree, which are not written.
func planned(t *testing.T, dir, host string) []project.File {
	t.Helper()
	p, err := project.Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := project.Write(dir, p, &project.Options{Host: host, DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestBranch guards the branch of the workflow: the current branch is often one for a change, whose
// publication would replace that of the default branch.
func TestBranch(t *testing.T) {
	const feature = "ref: refs/heads/feature/x\n"
	type refs = map[string]string
	for name, tt := range map[string]struct {
		git       refs
		want, why string
	}{
		"default branch of origin": {
			refs{"refs/remotes/origin/HEAD": "ref: refs/remotes/origin/develop\n", "HEAD": feature,
				"refs/heads/main": ""},
			"[develop]", "default branch of origin",
		},
		"a number":      {refs{"refs/remotes/origin/HEAD": "ref: refs/remotes/origin/1.0\n"}, "['1.0']", "default"},
		"no plain name": {refs{"refs/remotes/origin/HEAD": "ref: refs/remotes/origin/a]\n"}, "[main]", "usual"},
		"local main":    {refs{"HEAD": feature, "refs/heads/main": ""}, "[main]", "origin/HEAD is not set"},
		"remote master": {refs{"HEAD": feature, "refs/remotes/origin/master": ""}, "[master]", "usual name"},
		"packed trunk":  {refs{"HEAD": feature, "packed-refs": "00 refs/heads/trunk\n"}, "[trunk]", "usual name"},
		"no packed one": {refs{"HEAD": feature, "packed-refs": "00 refs/heads/main-x\n"}, "[feature/x]", "no main"},
		"master is current": {
			refs{"HEAD": "ref: refs/heads/master\n", "refs/heads/main": ""}, "[master]", "current branch",
		},
		"nothing but a branch": {refs{"HEAD": "ref: refs/heads/next\n"}, "[next]", "since there is no main"},
		"a commit":             {refs{"HEAD": "0123\n"}, "[main]", "usual name"},
		"another format":       {refs{"HEAD": "ref: refs/heads/.invalid\n"}, "[main]", "usual name"},
		"no repository":        {nil, "[main]", "usual name"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"mkdocs.yml": ""}
			for name, text := range tt.git {
				files[".git/"+name] = text
			}
			workflow := planned(t, tree(t, files), "")[1]
			if !strings.Contains(workflow.Text, "branches: "+tt.want+"\n") {
				t.Errorf("want %s in\n%s", tt.want, workflow.Text)
			}
			name := strings.Trim(tt.want, "[]'")
			if !strings.HasPrefix(workflow.Note, "publishes branch "+name+" (") || !strings.Contains(workflow.Note, tt.why) {
				t.Errorf("the note is %q, want %q and %q", workflow.Note, name, tt.why)
			}
		})
	}
}

// TestBranchOfWorkingTree guards an additional working tree, whose .git is a file.
func TestBranchOfWorkingTree(t *testing.T) {
	dir := tree(t, map[string]string{
		"main/.git/worktrees/second/HEAD":           "ref: refs/heads/feature\n",
		"main/.git/worktrees/second/commondir":      "../..\n",
		"main/.git/refs/remotes/origin/HEAD":        "ref: refs/remotes/origin/develop\n",
		"second/.git":                               "gitdir: ../main/.git/worktrees/second\n",
		"second/docs/mkdocs.yml":                    "",
		"main/.git/worktrees/second/logs/unrelated": "",
	})
	files := planned(t, filepath.Join(dir, "second", "docs"), "")
	if files[1].Path != "../.github/workflows/docs.yml" || !strings.Contains(files[1].Text, "branches: [develop]\n") {
		t.Errorf("%s:\n%s", files[1].Path, files[1].Text)
	}
}

// TestWriteBelowRepository guards a project in a folder of a repository: hosts read workflows at the
// root only, where the other paths begin.
func TestWriteBelowRepository(t *testing.T) {
	files := map[string]string{".git/HEAD": "ref: refs/heads/main\n", "apps/docs/mkdocs.yml": ""}
	for host, want := range map[string]map[string]string{
		"github-pages": {
			"path": "apps/docs/site", "paths": "apps/docs", "output": "apps/docs/site/mcp", "site-root": "apps/docs/site",
		},
		"cloudflare":       {"run": "npx --yes wrangler@4 deploy --config wrangler.jsonc", "working-directory": "apps/docs"},
		"cloudflare-pages": {"run": `npx --yes wrangler@4 pages deploy site --project-name "$PROJECT"`},
		"netlify": {
			"run": `npx --yes netlify-cli deploy --prod --no-build --cwd apps/docs --dir "$PWD"/apps/docs/site`,
		},
		"s3":           {"run": `aws s3 sync apps/docs/site "s3://$BUCKET" --delete`},
		"vercel":       {"path": "apps/docs/site\napps/docs/api\napps/docs/vercel.json"},
		"gitlab-pages": {"publish": "apps/docs/site"},
	} {
		t.Run(host, func(t *testing.T) {
			root := tree(t, files)
			dir := filepath.Join(root, "apps", "docs")
			p, err := project.Inspect(dir)
			if err != nil {
				t.Fatal(err)
			}
			written, err := project.Write(dir, p, &project.Options{Host: host})
			if err != nil {
				t.Fatal(err)
			}
			if written[0].Path != "slipway.site.yaml" || !strings.HasPrefix(written[1].Path, "../../.git") {
				t.Errorf("files %s and %s", written[0].Path, written[1].Path)
			}
			for _, f := range written {
				text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Path)))
				if err != nil || string(text) != f.Text {
					t.Errorf("%s: %v, %s", f.Path, err, text)
				}
			}
			if !strings.Contains(written[0].Text, "siteRoot: site\n") {
				t.Errorf("the paths of the settings are not those of their folder:\n%s", written[0].Text)
			}
			parsed, problems := internaltree.Parse([]byte(written[1].Text), internaltree.YAML)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			for name, value := range want {
				if got := members(parsed, name); !slices.Contains(got, value) {
					t.Errorf("%s is one of %q, want %q in\n%s", name, got, value, written[1].Text)
				}
			}
		})
	}
}

// TestWriteGeneratorBelow guards a generator in a folder of the project, where its endpoint is written too:
// hosts look for it in the folder in which they deploy, or above.
func TestWriteGeneratorBelow(t *testing.T) {
	type files = map[string]string
	const within = "\n        working-directory: website\n        env:"
	for name, tt := range map[string]struct {
		host  string
		more  files
		parts []string
	}{
		"Cloudflare": {"cloudflare", nil, []string{"wrangler@4 deploy --config wrangler.jsonc" + within}},
		"Cloudflare with a configuration": {
			"cloudflare", files{"website/wrangler.toml": ""}, []string{"deploy --config wrangler.toml" + within},
		},
		"Cloudflare with one at the root": {
			"cloudflare", files{"wrangler.json": "{}"}, []string{"deploy --config wrangler.jsonc" + within},
		},
		"Cloudflare Pages": {"cloudflare-pages", nil, []string{"pages deploy build --project-name", within}},
		"Netlify":          {"netlify", nil, []string{`--no-build --cwd website --dir "$PWD"/website/build` + "\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := files{"website/docusaurus.config.js": "export default {}\n"}
			maps.Copy(all, tt.more)
			workflow := planned(t, tree(t, all), tt.host)[1]
			for _, part := range tt.parts {
				if !strings.Contains(workflow.Text, part) {
					t.Errorf("%q is not in\n%s", part, workflow.Text)
				}
			}
		})
	}
}

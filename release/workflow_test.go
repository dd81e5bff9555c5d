package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// workflowScript returns the shell of a step of the workflow that publishes.
func workflowScript(t *testing.T, step string) string {
	t.Helper()
	text, err := os.ReadFile("../.github/workflows/release.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "- name: "+step+"\n")
	if !found {
		t.Fatalf("no step %q", step)
	}
	script := regexp.MustCompile(`(?s)run: \|\n(.*?\n)\n`).FindStringSubmatch(rest)
	if script == nil {
		t.Fatalf("no script in step %q", step)
	}
	return strings.ReplaceAll("\n"+script[1], "\n          ", "\n")
}

// runPublishing runs a script in dir with a substitute for program, which succeeds unless its
// arguments match the pattern of the shell fails, and returns the calls.
func runPublishing(t *testing.T, dir, script, program, fails, tag string) []string {
	t.Helper()
	bin := t.TempDir()
	log := filepath.Join(bin, "log")
	substitute := "#!/bin/sh\necho \"$*\" >>" + log + "\ncase \"$*\" in " + fails + ") exit 1 ;; esac\n"
	if err := os.WriteFile(filepath.Join(bin, program), []byte(substitute), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-eo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "TAG="+tag, "LC_ALL=C")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	calls, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(calls)), "\n")
}

// npm must get the launcher last, since it requires the others, and a rerun must continue
// where the last run stopped.
func TestPublishNPM(t *testing.T) {
	out := fakeOutput(t, platforms())
	if err := writeNPM(out, nil); err != nil {
		t.Fatal(err)
	}
	script := workflowScript(t, "Publish the platforms first, then the package that requires them")
	calls := runPublishing(t, out.dir, script, "npm", "view*linux-x64*) exit 0 ;; view*", "v1.2.3")
	var views, published []string
	for _, call := range calls {
		if rest, ok := strings.CutPrefix(call, "publish "); ok {
			published = append(published, rest)
		} else {
			views = append(views, call)
		}
	}
	if len(views) != 7 || views[0] != "view @slipway-mcp/darwin-arm64@1.2.3 version" {
		t.Errorf("asked for %q", views)
	}
	if len(published) != 6 || published[5] != "./npm/slipway-1.2.3.tgz --access public" {
		t.Errorf("published %q", published)
	}
	for _, p := range published {
		if strings.Contains(p, "linux-x64") {
			t.Errorf("published again: %s", p)
		}
	}
	calls = runPublishing(t, out.dir, script, "npm", "view*", "v1.2.3-rc.1")
	if last := calls[len(calls)-1]; !strings.HasSuffix(last, " --access public --tag next") {
		t.Errorf("a prerelease: %s", last)
	}
}

// Assets are uploaded to a draft, so that no visitor finds a release without them.
func TestPublishOnGitHub(t *testing.T) {
	out := fakeOutput(t, []Platform{{"linux", "amd64"}})
	if err := writeArchives(out, nil); err != nil {
		t.Fatal(err)
	}
	if err := out.save(); err != nil {
		t.Fatal(err)
	}
	calls := runPublishing(t, out.dir, workflowScript(t, "Publish"), "gh", "*view*", "v1.2.3-rc.1")
	want := []string{
		"release view v1.2.3-rc.1",
		"release create v1.2.3-rc.1 --draft --verify-tag --generate-notes --title v1.2.3-rc.1 --prerelease",
		"release upload v1.2.3-rc.1 --clobber ./SHA256SUMS ./release.json ./slipway-linux-amd64.tar.gz",
		"release edit v1.2.3-rc.1 --draft=false",
	}
	if got := strings.Join(calls, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("called gh with:\n%s", got)
	}
}

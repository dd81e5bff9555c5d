package main

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// newRepository returns a folder with a git repository of one commit.
func newRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "content")
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
	return dir
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=2026-11-01T12:00:00+09:00",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=2026-11-02T12:00:00+09:00")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", args, err, out)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestStamp(t *testing.T) {
	ctx := context.Background()
	dir := newRepository(t)
	if _, err := readStamp(ctx, dir, false); err == nil || !strings.Contains(err.Error(), "no version tag") {
		t.Errorf("without a tag: %v", err)
	}
	s, err := readStamp(ctx, dir, true)
	if err != nil {
		t.Fatal(err)
	}
	if want := "0.0.0-snapshot.20261102030000.g" + s.Commit[:8]; s.Version != want {
		t.Errorf("snapshot version = %q, want %q", s.Version, want)
	}
	for _, tag := range []string{"nightly", "v1", "v1.2.0", "v1.10.0", "v1.10.0-rc.1", "v1.11.0+build"} {
		git(t, dir, "tag", tag)
	}
	if s, err = readStamp(ctx, dir, false); err != nil {
		t.Fatal(err)
	}
	date := time.Date(2026, 11, 2, 3, 0, 0, 0, time.UTC)
	if s.Version != "1.10.0" || s.Tag != "v1.10.0" || !s.Date.Equal(date) || s.Snapshot {
		t.Errorf("stamp = %+v", s)
	}
	write(t, filepath.Join(dir, "new.go"), "package new")
	if _, err := readStamp(ctx, dir, false); !errors.Is(err, errDirty) || !strings.Contains(err.Error(), "new.go") {
		t.Errorf("with an untracked file: %v", err)
	}
	if s, err = readStamp(ctx, dir, true); err != nil {
		t.Fatal(err)
	}
	if want := "1.10.1-snapshot.20261102030000.g" + s.Commit[:8] + ".dirty"; s.Version != want {
		t.Errorf("snapshot version = %q, want %q", s.Version, want)
	}
}

func TestNextPatch(t *testing.T) {
	for tag, want := range map[string]string{
		"v1.2.3":      "1.2.4",
		"v1.2.9":      "1.2.10",
		"v2.0.0-rc.1": "2.0.0",
	} {
		if got := nextPatch(tag); got != want {
			t.Errorf("nextPatch(%q) = %q, want %q", tag, got, want)
		}
	}
}

func TestCreateOutputKeepsForeignFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "thesis.txt")
	write(t, file, "years of work")
	if _, err := createOutput(dir, &Stamp{Name: projectName}); err == nil {
		t.Error("a folder with foreign files was accepted")
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// fakeOutput returns an output folder whose programs are a line of text.
func fakeOutput(t *testing.T, list []Platform) *Output {
	t.Helper()
	out, err := createOutput(filepath.Join(t.TempDir(), "out"), &Stamp{
		Name:    projectName,
		Version: "1.2.3",
		Tag:     "v1.2.3",
		Commit:  "0123456789abcdef",
		Date:    time.Date(2026, 11, 2, 3, 0, 0, 0, time.UTC),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		file := out.path(out.binary(p))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, file, "program for "+p.String())
		if err := out.add(out.binary(p), kindBinary, p); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// Packing must not depend on the time, the folder or the order of files.
func TestPackingIsReproducible(t *testing.T) {
	shared := []File{
		{"LICENSE", 0o644, []byte("licence")},
		{"man/slipway.1", 0o644, []byte(".TH SLIPWAY 1")},
	}
	reversed := []File{shared[1], shared[0]}
	pack := func(files []File) string {
		out := fakeOutput(t, platforms())
		for _, step := range []func(*Output, []File) error{
			writeArchives,
			writePackages,
			writeImage,
			writeFormula,
			writeScoop,
		} {
			if err := step(out, files); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.save(); err != nil {
			t.Fatal(err)
		}
		sums, err := out.sums()
		if err != nil {
			t.Fatal(err)
		}
		return sums
	}
	first, second := pack(shared), pack(reversed)
	if first != second {
		t.Errorf("sums differ:\n%s\n%s", first, second)
	}
	if n := strings.Count(first, "\n"); n != 1+6+4+1+1+1 {
		t.Errorf("%d files:\n%s", n, first)
	}
}

func TestFormulaHasSums(t *testing.T) {
	out := fakeOutput(t, platforms())
	for _, step := range []func(*Output, []File) error{writeArchives, writeFormula, writeScoop} {
		if err := step(out, nil); err != nil {
			t.Fatal(err)
		}
	}
	for name, goos := range map[string][]string{
		"slipway.rb":   {"darwin", "linux"},
		"slipway.json": {"windows"},
	} {
		text, err := os.ReadFile(out.path(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, system := range goos {
			for _, arch := range []string{"amd64", "arm64"} {
				a, _ := out.find(kindArchive, Platform{system, arch})
				url := "https://github.com/slipway-mcp/slipway/releases/download/v1.2.3/" + a.Path
				if !bytes.Contains(text, []byte(a.SHA256)) || !bytes.Contains(text, []byte(`"`+url+`"`)) {
					t.Errorf("%s: %s is missing, or its sum", name, url)
				}
			}
		}
	}
}

func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New())
	defer server.Close()
	out := fakeOutput(t, []Platform{{"linux", "amd64"}, {"linux", "arm64"}, {"windows", "amd64"}})
	if err := writeImage(out, nil); err != nil {
		t.Fatal(err)
	}
	printed := &bytes.Buffer{}
	image := strings.TrimPrefix(server.URL, "http://") + "/slipway"
	if err := out.push(context.Background(), printed, image); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{image + ":1.2.3", image + ":latest", strings.TrimSpace(printed.String())} {
		parsed, err := name.ParseReference(ref)
		if err != nil {
			t.Fatal(err)
		}
		index, err := remote.Index(parsed)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(index); err != nil {
			t.Errorf("%s: %v", ref, err)
		}
		manifest, err := index.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		if n := len(manifest.Manifests); n != 2 {
			t.Errorf("%s has %d platforms, want 2", ref, n)
		}
	}
}

func TestVerifyFindsFaults(t *testing.T) {
	out := fakeOutput(t, []Platform{{"linux", "amd64"}})
	if err := writeArchives(out, nil); err != nil {
		t.Fatal(err)
	}
	if err := out.save(); err != nil {
		t.Fatal(err)
	}
	if err := out.verifySums(); err != nil {
		t.Error(err)
	}
	if err := out.verifyArchive(Platform{"linux", "amd64"}); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("an archive without a licence: %v", err)
	}
	if err := out.verifyPlatforms(); err == nil || !strings.Contains(err.Error(), "6 platforms") {
		t.Errorf("one platform of a release: %v", err)
	}
	write(t, out.path("extra.zip"), "not listed")
	if err := out.verifyListed(); err == nil {
		t.Error("a file without a sum was accepted")
	}
	archive := out.path("slipway-linux-amd64.tar.gz")
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	write(t, archive, string(data))
	if err := out.verifySums(); err == nil {
		t.Error("a changed archive was accepted")
	}
}

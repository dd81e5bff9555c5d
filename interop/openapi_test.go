package interop_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestOpenAPIDocument builds a site from a public API's document, half a megabyte of YAML
// from an npm package. The site must have an answer for every operation and schema, and
// no findings.
func TestOpenAPIDocument(t *testing.T) {
	document := nodeTools(t).module("@blockfrost/openapi/openapi.yaml")
	dir := filepath.Join(t.TempDir(), "site")
	output(t, "site", "build", document, "-o", dir)
	output(t, "site", "check", dir)

	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	methods := regexp.MustCompile(`(?m)^    (get|put|post|delete|options|head|patch|trace):\s*$`).FindAll(text, -1)
	operations := strings.Count(output(t, "call", dir, "list_operations"), "\n")
	if operations != len(methods) || operations < 100 {
		t.Errorf("%d operations are listed, the document has %d", operations, len(methods))
	}
	_, components, _ := strings.Cut(string(text), "\n  schemas:\n")
	names := regexp.MustCompile(`(?m)^    ([A-Za-z0-9_]+):\s*$`).FindAllStringSubmatch(components, -1)
	listed := strings.Fields(output(t, "call", dir, "list_schemas"))
	found := 0
	for _, name := range names {
		if slices.Contains(listed, name[1]) {
			found++
		}
	}
	if found < 100 {
		t.Errorf("%d schemas of the document are listed", found)
	}
	for _, name := range names[:10] {
		if got := output(t, "call", dir, "get_schema", "name="+name[1]); !strings.HasPrefix(got, name[1]+": ") {
			t.Errorf("schema %s: %s", name[1], got)
		}
	}
}

// output runs slipway, which must succeed, and returns its output.
func output(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(slipway, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("slipway %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

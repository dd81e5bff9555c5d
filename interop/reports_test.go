package interop_test

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/joshdk/go-junit"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/xeipuuv/gojsonschema"
)

// checked returns the findings about the faulty examples in a format. A server that does not
// answer is none of them.
func checked(t *testing.T, format string) []byte {
	t.Helper()
	bundle := t.TempDir()
	manifest := "{\"manifest_version\": \"0.3\", \"name\": \"<b> & \\\"\\u0001\\ufffe\"}"
	if err := os.WriteFile(filepath.Join(bundle, "manifest.json"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(slipway, "check", "--format", format,
		"examples/site-with-faults", "examples/http-reference", "examples/definitions/mcp.yaml", bundle)
	cmd.Dir = ".."
	stderr := new(bytes.Buffer)
	cmd.Stderr = stderr
	out, err := cmd.Output()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v, want exit code 1: %s", err, stderr)
	}
	return out
}

// TestSARIF validates a report against the schema of SARIF 2.1.0, errata 1, and reads it
// with go-sarif.
func TestSARIF(t *testing.T) {
	text := checked(t, "sarif")
	result, err := gojsonschema.Validate(gojsonschema.NewStringLoader(sarifSchema(t)), gojsonschema.NewBytesLoader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range result.Errors() {
		t.Error(e)
	}
	log, err := sarif.FromBytes(text)
	if err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if len(run.Results) < 6 || len(run.Tool.Driver.Rules) < 3 {
		t.Errorf("%d results of %d rules", len(run.Results), len(run.Tool.Driver.Rules))
	}
	for _, r := range run.Results {
		for _, l := range r.Locations {
			uri := *l.PhysicalLocation.ArtifactLocation.URI
			if !strings.HasPrefix(uri, "examples/") && !strings.HasPrefix(uri, "file:///") {
				t.Errorf("URI %q is neither relative to the repository nor absolute", uri)
			}
		}
	}
}

// sarifSchema returns the schema that go-sarif contains: as a constant, which is not
// exported, in a source file.
func sarifSchema(t *testing.T) string {
	t.Helper()
	const pkg = "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(strings.TrimSpace(string(dir)), "schema.go")
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	schema := ""
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			schema, err = strconv.Unquote(literal.Value)
		}
		return true
	})
	if err != nil || !strings.Contains(schema, "Static Analysis Results Format") {
		t.Fatalf("no schema in %s: %v", name, err)
	}
	return schema
}

// TestJUnit reads a report with go-junit.
func TestJUnit(t *testing.T) {
	suites, err := junit.Ingest(checked(t, "junit"))
	if err != nil {
		t.Fatal(err)
	}
	var total junit.Totals
	passed := false
	for _, s := range suites {
		total.Tests += s.Totals.Tests
		total.Failed += s.Totals.Failed
		passed = passed || s.Name == "examples/http-reference" && s.Totals.Passed == 1
	}
	if total.Tests < 6 || total.Failed < 2 || !passed {
		t.Errorf("%d suites, %+v, http-reference passed: %v", len(suites), total, passed)
	}
}

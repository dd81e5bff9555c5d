package doc

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	godiff "github.com/google/go-cmp/cmp"
)

// docLink is a link in a comment: [Name], [Type.Member], [pkg.Name] or [*pkg.Name]. Words
// in capitals are placeholders of a usage line.
var docLink = regexp.MustCompile(`\[\*?((?:[a-z][a-z0-9]*\.)?[A-Z]\w*[a-z]\w*(?:\.[A-Z]\w*)*)\]`)

// checkDocLinks reports links in comments to names that the packages of fsys do not
// declare. A link to a name that was renamed or removed misleads readers, and go doc shows
// it as plain text.
func checkDocLinks(fsys fs.FS) ([]Problem, error) {
	m, err := exported(fsys)
	if err != nil {
		return nil, err
	}
	var problems []Problem
	err = walk(fsys, func(name string) error {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, group := range file.Comments {
			for _, link := range linksIn(group) {
				full := link
				if link[0] < 'a' {
					full = file.Name.Name + "." + link
				}
				if !m.has(full) {
					line := set.Position(group.Pos()).Line
					problems = append(problems, Problem{name, line, fmt.Sprintf("[%s] does not exist", link)})
				}
			}
		}
		return nil
	})
	return problems, err
}

// linksIn returns the links of a comment, except those in its examples.
func linksIn(group *ast.CommentGroup) (links []string) {
	for line := range strings.Lines(group.Text()) {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		for _, found := range docLink.FindAllStringSubmatch(line, -1) {
			links = append(links, found[1])
		}
	}
	return links
}

// TestDocLinks checks the links in the comments of this repository.
func TestDocLinks(t *testing.T) {
	problems, err := checkDocLinks(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

func TestCheckDocLinks(t *testing.T) {
	fsys := fstest.MapFS{
		"core/core.go": {Data: []byte("// Package core: [Run], [*Options], [Options.Size] and [Start].\npackage core\n\n" +
			"// Run is [Options.Nothing] of [http.Nothing], but not\n//\n//\t[Example]\n//\n// with [FILE].\nfunc Run() {}\n\n" +
			"type Options struct {\n\tSize int // see [core.Gone]\n}\n")},
	}
	problems, err := checkDocLinks(fsys)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	want := []string{
		"core/core.go:1: [Start] does not exist",
		"core/core.go:4: [Options.Nothing] does not exist",
		"core/core.go:12: [core.Gone] does not exist",
	}
	if diff := godiff.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

package sitebuild

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
	"github.com/slipway-mcp/slipway/sitebuild/internal/gopkg"
	"github.com/slipway-mcp/slipway/sitebuild/internal/openapi"
	"github.com/slipway-mcp/slipway/sitebuild/internal/table"
)

// InputOptions configure [Open]. The zero value and nil are the defaults.
type InputOptions struct {
	// As is the name of the input kind, one of [Kinds]. Default: detected.
	As string
	// Name, Title, Version and Instructions override those of the input.
	Name, Title, Version, Instructions string
	// Documents, Table, OpenAPI and Go configure the input of that kind.
	Documents DocumentOptions
	Table     TableOptions
	OpenAPI   OpenAPIOptions
	Go        GoOptions
}

// The options of each kind of input.
type (
	// DocumentOptions configure how Markdown, other documents, rendered pages and llms.txt are read.
	DocumentOptions = docs.Options
	// TableOptions configure how tables are read and which tools they get.
	TableOptions = table.Options
	// OpenAPIOptions configure how OpenAPI documents are read.
	OpenAPIOptions = openapi.Options
	// GoOptions configure how Go packages are read.
	GoOptions = gopkg.Options
)

// CheckBaseURL returns an error unless text can be the BaseURL of [DocumentOptions]: an http or https
// address without query, fragment and user.
func CheckBaseURL(text string) error { return docs.CheckBaseURL(text) }

// InputError is the reason that no input can be opened.
type InputError struct {
	Why  string
	Hint string // the next step, or empty
	// Ambiguous reports that the folder can be read in several ways, which As selects.
	Ambiguous bool
}

// Error implements the error interface. It does not include the hint.
func (e *InputError) Error() string { return e.Why }

// siteManifest is the file that marks a folder as a finished site.
const siteManifest = "mcp.json"

// kind is a kind of input that a site can be built from.
type kind struct {
	name  string // for InputOptions.As
	about string // description for messages
	// fits reports whether path is of this kind. info is nil if path is not a file or
	// folder.
	fits func(path string, info fs.FileInfo) bool
	open func(path string, o *InputOptions) (Input, error)
}

// kinds returns all kinds, in the order in which they are tried.
func kinds() []kind {
	return []kind{
		{"mapping", "a slipway.site.yaml, or a folder with one", isMapping, openMapping},
		{"go", "a folder with Go packages", isGo, openGo},
		{"docs", "a folder of documents (Markdown, HTML, .ipynb, .docx, .pdf), one of them, or an llms.txt",
			isDocuments, openDocuments},
		{"crawl", "a website, with --crawl", neverDetected, openWebsite},
		{"openapi", "an OpenAPI 3 document", isOpenAPI, openOpenAPI},
		{"table", "a .csv, .tsv, .json, .jsonl or SQLite file", isTable, openTable},
	}
}

// Kinds returns the names of the input kinds that [Open] supports.
func Kinds() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// KindOf returns the name of the kind of input at path, or "" if no site can be built from
// it. A URL is an input only if it is that of an llms.txt.
func KindOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		info = nil
	}
	for _, k := range kinds() {
		if k.fits(path, info) {
			return k.name
		}
	}
	return ""
}

// Open returns the input at path, a file, a folder or the URL of an llms.txt. The error is
// an [*InputError], or that of reading the path.
func Open(path string, opts *InputOptions) (Input, error) {
	if opts == nil {
		opts = &InputOptions{}
	}
	if opts.As == "crawl" && !strings.Contains(path, "://") {
		return nil, &InputError{
			Why:  "it is not the URL of a website",
			Hint: "want a URL such as https://example.com/docs/",
		}
	}
	info, err := os.Stat(path)
	if err != nil && !strings.Contains(path, "://") {
		return nil, err
	}
	if err := readable(path, info); err != nil {
		return nil, err
	}
	if opts.As == "" {
		if err := CheckAmbiguous(path); err != nil {
			return nil, err
		}
	}
	for _, k := range kinds() {
		if opts.As != k.name && (opts.As != "" || !k.fits(path, info)) {
			continue
		}
		if len(opts.Table.Table.Key) > 0 && k.name != "table" {
			return nil, &InputError{Why: "a key is for a table, and this is " + k.about}
		}
		found, err := k.open(path, opts)
		if err != nil {
			return nil, err
		}
		return &renamed{found, opts}, nil
	}
	if opts.As != "" {
		return nil, &InputError{
			Why:  "there is no input called " + opts.As,
			Hint: "inputs are " + strings.Join(Kinds(), ", "),
		}
	}
	return nil, &InputError{
		Why:  "no site can be built from it",
		Hint: hint(path, info),
	}
}

// readable returns an error for a file or folder that the user may not read, which no kind of input would
// recognize.
func readable(path string, info fs.FileInfo) error {
	if info == nil || !info.IsDir() && !info.Mode().IsRegular() {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return file.Close()
}

// hint lists the supported inputs.
func hint(path string, info fs.FileInfo) string {
	if isSite(path, info) {
		return "it is a site already: slipway site freeze " + process.PathWord(path) + " rewrites it"
	}
	if strings.Contains(path, "://") {
		shown := secrets.Command([]string{path})[0]
		return "slipway site build --crawl " + process.ShellWord(shown) + " reads a website, page by page"
	}
	if sources := unrendered(path, info); sources != "" {
		return "render the " + sources + " to HTML first, and build the site from the folder with the pages"
	}
	var list []string
	for _, k := range kinds() {
		list = append(list, k.about)
	}
	return "a site is built from " + strings.Join(list, "; ")
}

// unrendered returns the markup of the documents at path that are read in rendered form
// only, or "".
func unrendered(path string, info fs.FileInfo) string {
	names := []string{path}
	if info != nil && info.IsDir() {
		entries, _ := os.ReadDir(path) // a folder that cannot be read has no documents
		names = nil
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	for _, name := range names {
		switch strings.ToLower(filepath.Ext(name)) {
		case ".rst":
			return "reStructuredText (with Sphinx, for example)"
		case ".adoc", ".asciidoc":
			return "AsciiDoc (with Antora or Asciidoctor, for example)"
		}
	}
	return ""
}

// renamed is an input with overridden site names.
type renamed struct {
	Input
	opts *InputOptions
}

// Site implements [Input].
func (r *renamed) Site(ctx context.Context) (*Site, error) {
	return r.rename(r.Input.Site(ctx))
}

// Records implements [sitewriter.Patcher]. There are none unless the input is one.
func (r *renamed) Records() (dir, name string) {
	p, ok := r.Input.(sitewriter.Patcher)
	if !ok {
		return "", ""
	}
	dir, name = p.Records()
	return dir, fmt.Sprintf("%s\n%q %q %q %q", name, r.opts.Name, r.opts.Title, r.opts.Version, r.opts.Instructions)
}

// RecordedSite implements [sitewriter.Patcher].
func (r *renamed) RecordedSite(ctx context.Context) (*Site, func() [][]byte, error) {
	site, recorded, err := r.Input.(sitewriter.Patcher).RecordedSite(ctx)
	site, err = r.rename(site, err)
	return site, recorded, err
}

// Patch implements [sitewriter.Patcher].
func (r *renamed) Patch(ctx context.Context, old *sitewriter.Recorded) (*sitewriter.Patch, error) {
	patch, err := r.Input.(sitewriter.Patcher).Patch(ctx, old)
	if patch == nil || err != nil {
		return nil, err
	}
	patch.Site, err = r.rename(patch.Site, nil)
	return patch, err
}

// Survey implements [sitewriter.Surveyor].
func (r *renamed) Survey(ctx context.Context) (*Site, error) {
	return r.rename(sitewriter.Survey(ctx, r.Input))
}

// rename overrides the names of a site.
func (r *renamed) rename(site *Site, err error) (*Site, error) {
	if err != nil {
		return nil, err
	}
	s := &site.Server
	s.Name = cmp.Or(r.opts.Name, s.Name)
	s.Title = cmp.Or(r.opts.Title, s.Title)
	s.Version = cmp.Or(r.opts.Version, s.Version)
	site.Instructions = cmp.Or(r.opts.Instructions, site.Instructions)
	return site, nil
}

// CheckAmbiguous returns an [*InputError] if path is a folder of Go packages that is also
// the project of a documentation site. A slipway.site.yaml settles the choice.
func CheckAmbiguous(path string) error {
	info, err := os.Stat(path)
	if err != nil || isMapping(path, info) || !isGo(path, info) {
		return nil
	}
	folder := os.DirFS(path)
	if !docs.HasDocuments(folder) {
		return nil
	}
	file := docs.NavigationFile(folder)
	if file == "" {
		return nil
	}
	return &InputError{
		Why:       "the folder has Go packages and documents (" + file + ")",
		Hint:      "choose with --as docs or --as go",
		Ambiguous: true,
	}
}

func isFile(info fs.FileInfo) bool {
	return info != nil && info.Mode().IsRegular()
}

// isSite reports whether path is the folder of a finished site.
func isSite(path string, info fs.FileInfo) bool {
	if info == nil || !info.IsDir() {
		return false
	}
	_, err := os.Stat(filepath.Join(path, siteManifest))
	return err == nil
}

// isMapping reports whether path is a slipway.site.yaml, or a folder with one.
func isMapping(path string, info fs.FileInfo) bool {
	_, ok := FindMapping(path)
	return info != nil && ok
}

func openMapping(path string, o *InputOptions) (Input, error) {
	file, ok := FindMapping(path)
	if !ok {
		file = path // given explicitly as one
	}
	m, err := OpenMapping(file)
	if err != nil {
		return nil, err
	}
	m.cacheDir = o.Documents.CacheDir
	m.mkdocs = o.Documents.MkDocsConfig
	return m, nil
}

// isGo reports whether path is a folder with Go packages that is not itself a site.
func isGo(path string, info fs.FileInfo) bool {
	return info != nil && info.IsDir() && !isSite(path, info) && gopkg.Reads(path)
}

func openGo(path string, o *InputOptions) (Input, error) {
	return gopkg.New(path, &o.Go)
}

// IsDocument reports whether name is that of a document: Markdown, HTML, a notebook (.ipynb), a
// Word document (.docx) or PDF.
func IsDocument(name string) bool { return docs.IsDocument(name) }

// isDocuments reports whether path is a folder of documents that is not itself a site, a
// document, or an llms.txt.
func isDocuments(path string, info fs.FileInfo) bool {
	if info == nil || !info.IsDir() {
		return isLLMS(path) || isFile(info) && docs.IsDocument(path)
	}
	if isSite(path, info) {
		return false
	}
	folder := os.DirFS(path)
	for _, answers := range []string{"tools/*.json", "tools/*/*.json", "resources/*.json"} {
		if found, _ := fs.Glob(folder, answers); len(found) > 0 {
			return false // a site that lost its manifest
		}
	}
	return docs.HasDocuments(folder)
}

// isLLMS reports whether name is an llms.txt or llms-full.txt, as a file or URL.
func isLLMS(name string) bool {
	base := strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	return base == "llms.txt" || base == "llms-full.txt"
}

// documents returns the options for documents. Explicit ones of the site take precedence.
func (o *InputOptions) documents() DocumentOptions {
	opts := o.Documents
	opts.Name = cmp.Or(o.Name, opts.Name)
	opts.Title = cmp.Or(o.Title, opts.Title)
	opts.Version = cmp.Or(o.Version, opts.Version)
	opts.Instructions = cmp.Or(o.Instructions, opts.Instructions)
	return opts
}

// openDocuments opens a folder, a single file or an llms.txt.
func openDocuments(path string, o *InputOptions) (Input, error) {
	opts := o.documents()
	if isLLMS(path) {
		return docs.LLMS(path, &opts)
	}
	info, err := os.Stat(path)
	if docs.IsDocument(path) && (err != nil || !info.IsDir()) {
		return docs.OneFile(path, &opts)
	}
	if name := opts.MkDocsConfig; name != "" && !docs.HasMkDocsConfig(path, name) {
		return nil, &InputError{
			Why:  fmt.Sprintf("neither the folder nor its parent has a configuration of MkDocs called %q", name),
			Hint: "name a file in one of them, such as --mkdocs-config mkdocs.yml",
		}
	}
	return docs.Dir(path, &opts)
}

// neverDetected is for a kind that only [InputOptions.As] selects: at a URL there is usually
// a server.
func neverDetected(string, fs.FileInfo) bool { return false }

func openWebsite(path string, o *InputOptions) (Input, error) {
	opts := o.documents()
	website, err := docs.Crawl(path, &opts)
	if err != nil {
		return nil, &InputError{Why: err.Error()}
	}
	return website, nil
}

// isOpenAPI reports whether path is an OpenAPI document.
func isOpenAPI(path string, info fs.FileInfo) bool {
	return isFile(info) && hasExt(path, ".json", ".yaml", ".yml") &&
		openapi.Reads(beginning(path))
}

func openOpenAPI(path string, o *InputOptions) (Input, error) {
	return openapi.New(path, &o.OpenAPI)
}

func isTable(path string, info fs.FileInfo) bool {
	return isFile(info) && table.Reads(path)
}

func openTable(path string, o *InputOptions) (Input, error) {
	return table.New(path, &o.Table)
}

// IsJSONObject reports whether the file at path is JSON that does not begin with an array,
// so that it is not certain to be a table.
func IsJSONObject(path string) bool {
	if !hasExt(path, ".json") {
		return false
	}
	text := bytes.TrimPrefix(beginning(path), []byte("\ufeff"))
	return !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("["))
}

func hasExt(name string, extensions ...string) bool {
	return slices.Contains(extensions, strings.ToLower(filepath.Ext(name)))
}

// beginning returns the first bytes of a file, or fewer if it cannot be read.
func beginning(name string) []byte {
	f, err := fsutil.OpenRegular(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	const enough = 64 << 10
	text, _ := io.ReadAll(io.LimitReader(f, enough)) // unreadable files are not recognized
	return text
}

var _ sitewriter.Surveyor = (*renamed)(nil)

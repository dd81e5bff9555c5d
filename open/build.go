package open

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/sitebuild/docs"
)

// BuildOptions configure [Builder]. The zero value and nil are the defaults.
type BuildOptions struct {
	// As is the name of the input kind, one of [Inputs]. Default: detected.
	As string
	// Name, Title, Version and Instructions override those of the input.
	Name, Title, Version, Instructions string
	// Key lists the columns that identify the rows of a table. Default: detected.
	Key []string
	// Language is the language code of documents. Default: as declared in the documents,
	// or else guessed.
	Language string
	// BaseURL is the URL at which documents are published for people, for the links in
	// llms.txt. Default: links to the resources of the site.
	BaseURL string
	// Drafts includes documents that are marked as drafts, hidden or unlisted.
	Drafts bool
	// WordFiles is the maximum number of words whose search results are stored as
	// separate files, for readers that cannot use the index; a negative number stores
	// none. Default: 2,000.
	WordFiles int
	// NoPictures omits the pictures of documents. NoSections omits the tool get_section,
	// whose answers are most of the files of a site.
	NoPictures, NoSections bool
}

// input is a kind of input that a site can be built from.
type input struct {
	name  string // for BuildOptions.As
	about string // description for messages
	// fits reports whether arg is of this kind. info is nil if arg is not a file or
	// folder.
	fits func(arg string, info fs.FileInfo) bool
	open func(arg string, o *BuildOptions) (sitebuild.Input, error)
}

// inputs returns all kinds, in the order in which they are tried.
func inputs() []input {
	return []input{
		{"mapping", "a slipway.site.yaml, or a folder with one", isMapping, openMapping},
		{"go", "a folder with Go packages", isGo, openGo},
		{"docs", "a folder of Markdown, a Markdown file, or an llms.txt", isDocuments, openDocuments},
		{"openapi", "an OpenAPI 3 document", isAPI, openAPI},
		{"table", "a .csv, .tsv, .json, .jsonl or SQLite file", isTable, openTable},
	}
}

// Inputs returns the names of the input kinds that [Builder] supports.
func Inputs() []string {
	var names []string
	for _, in := range inputs() {
		names = append(names, in.name)
	}
	return names
}

// Builder returns the input that builds a site from arg. An error is an [*Error].
func Builder(arg string, opts *BuildOptions) (sitebuild.Input, error) {
	if opts == nil {
		opts = &BuildOptions{}
	}
	arg = normalize(arg)
	info, err := os.Stat(arg)
	switch {
	case err == nil:
	case strings.Contains(arg, "://"):
		info = nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, notFound(arg, err)
	default:
		return nil, unreadable(arg, err)
	}
	if opts.As == "" {
		if file := secondNature(arg, info); file != "" {
			return nil, ambiguous(arg, file, "choose with --as docs or --as go")
		}
	}
	for _, in := range inputs() {
		if opts.As != in.name && (opts.As != "" || !in.fits(arg, info)) {
			continue
		}
		if len(opts.Key) > 0 && in.name != "table" {
			return nil, &Error{Arg: arg, Why: "a key is for a table, and this is " + in.about}
		}
		found, err := in.open(arg, opts)
		if err != nil {
			return nil, unreadable(arg, err)
		}
		return &renamed{found, opts}, nil
	}
	if opts.As != "" {
		return nil, &Error{
			Arg:  arg,
			Why:  "there is no input called " + opts.As,
			Hint: "inputs are " + strings.Join(Inputs(), ", "),
		}
	}
	return nil, &Error{Arg: arg, Why: "no site can be built of it", Hint: builds(arg, info)}
}

// secondNature returns the file that marks a folder of Go packages as the project of a
// documentation site, too, or "". A slipway.site.yaml already settles the choice.
func secondNature(arg string, info fs.FileInfo) string {
	if isMapping(arg, info) || !isGo(arg, info) {
		return ""
	}
	folder := os.DirFS(arg)
	if !docs.HasDocuments(folder) {
		return ""
	}
	return docs.NavigationFile(folder)
}

func ambiguous(arg, file, hint string) *Error {
	return &Error{Arg: arg, Kind: Ambiguous, Hint: hint,
		Why: "the folder has Go packages and documents (" + file + ")"}
}

// builds returns a hint that lists the supported inputs.
func builds(arg string, info fs.FileInfo) string {
	if info != nil && info.IsDir() {
		if _, err := os.Stat(arg + "/" + manifest); err == nil {
			return "it is a site already: slipway site freeze " + arg + " rewrites it"
		}
	}
	var list []string
	for _, in := range inputs() {
		list = append(list, in.about)
	}
	return "a site is built of " + strings.Join(list, "; ")
}

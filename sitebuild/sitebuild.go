// Package sitebuild builds StaticMCP sites from documents, tables, OpenAPI documents, Go
// packages and data files, or from answers that a program provides.
//
// An [Input] reads something and returns a [Site]: definitions, and answers one by one.
// [Open] returns the input for a file or folder. [Write] determines the path of each
// answer and writes the site to an [Output]: a folder, of which only changed files are
// written, an archive, or memory.
//
//	input, err := sitebuild.Open("countries.csv", nil)
//	if err != nil {
//		return err
//	}
//	site, err := input.Site(ctx)
//	if err != nil {
//		return err
//	}
//	result, err := sitebuild.Write(ctx, site, sitebuild.Dir("public/mcp"), nil)
//
// A program can also provide the answers itself:
//
//	site := &sitebuild.Site{
//		Server: mcp.Implementation{Name: "countries", Version: "1.0.0"},
//		Tools:  []mcp.Tool{getCountry},
//		Answers: func(yield func(*sitebuild.Answer, error) bool) {
//			yield(sitebuild.Text("get_country", map[string]string{"name": "France"}, "Capital: Paris"), nil)
//		},
//	}
//
// The output follows the StaticMCP standard exactly and is reproducible, byte for byte,
// from the same input. Answers whose names collide are distinguished in the standard's
// own form of long names. Memory use depends on the number of answers, not on their size.
//
// A [Mapping], the file slipway.site.yaml, combines several inputs into one site.
package sitebuild

import (
	"context"
	"encoding/json"
	"io"
	"slices"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
	"github.com/slipway-mcp/slipway/sitebuild/internal/gopkg"
	"github.com/slipway-mcp/slipway/sitebuild/internal/openapi"
	"github.com/slipway-mcp/slipway/sitebuild/internal/table"
)

// The content of a site, and what builds it.
type (
	// Input builds a site from something that can change, such as a folder of documents.
	Input = sitewriter.Input
	// Site is the content of a site.
	Site = sitewriter.Site
	// Answer is a stored answer or another file. Create most of them with [Text],
	// [Structured] and [TextResource].
	Answer = sitewriter.Answer
	// Completion contains suggested values for an argument of a prompt or a variable of a
	// resource template.
	Completion = sitewriter.Completion
)

// Options and results of [Write].
type (
	// Options configure a write. The zero value and nil are the defaults.
	Options = sitewriter.Options
	// Result is the outcome of a write, or with DryRun the expected outcome.
	Result = sitewriter.Result
	// Progress is the progress of a write.
	Progress = sitewriter.Progress
	// SpoolOptions configure where answers wait until all of them are known.
	SpoolOptions = sitewriter.SpoolOptions
	// Change is a change to a file.
	Change = sitewriter.Change
	// Collisions is the action for answers whose names collide.
	Collisions = sitewriter.Collisions
	// Layout is where the answers of tools are stored.
	Layout = sitewriter.Layout
	// Host is a web host for static files.
	Host = sitewriter.Host
	// Output is the destination of a site: [Dir], [ZipFile], [TarFile], [Zip], [Tar] or a
	// [Memory].
	Output = sitewriter.Output
	// Memory is a site in memory, or in a temporary file if it is large. It is an output and an
	// fs.FS.
	Memory = sitewriter.Memory
)

// Errors of [Write] and of inputs.
type (
	// InvalidError reports that a site was not written because it has errors.
	InvalidError = sitewriter.InvalidError
	// ForeignError reports that an output contains files that Slipway did not write.
	ForeignError = sitewriter.ForeignError
	// BusyError reports that another build is writing to the output.
	BusyError = sitewriter.BusyError
	// MemoryError reports that a site is larger than its [Memory] permits.
	MemoryError = sitewriter.MemoryError
	// SizeError reports that a table has too many rows.
	SizeError = table.SizeError
)

// The actions for answers whose names collide.
const (
	// Disambiguate gives each of them a name with a hash, in the standard's form of long
	// names, and stores an answer that lists them under the shared name.
	Disambiguate = sitewriter.Disambiguate
	// Refuse makes a collision an error.
	Refuse = sitewriter.Refuse
)

// The layouts.
const (
	// OneFile stores each answer in a file, as the standard says.
	OneFile = sitewriter.OneFile
	// Packed stores the answers of tools in packs, for at most two files a page.
	Packed = sitewriter.Packed
)

// The supported web hosts, as described by [staticmcp.HostNames].
const (
	NoHost          = sitewriter.NoHost
	GitHubPages     = sitewriter.GitHubPages
	GitLabPages     = sitewriter.GitLabPages
	CloudflarePages = sitewriter.CloudflarePages
	Netlify         = sitewriter.Netlify
	S3              = sitewriter.S3
	Cloudflare      = sitewriter.Cloudflare
	Vercel          = sitewriter.Vercel
	Deno            = sitewriter.Deno
	Node            = sitewriter.Node
	Lambda          = sitewriter.Lambda
)

// Write writes site to out.
//
// It collects and checks all answers first: a site with errors, or one whose sequences
// fail, leaves the output unchanged. The error is then an [*InvalidError] or that of the
// sequence. The Result is never nil, and contains the findings even if there is an error.
// Write may be called again with the same Output, but not concurrently.
func Write(ctx context.Context, site *Site, out Output, opts *Options) (*Result, error) {
	return sitewriter.Write(ctx, site, out, opts)
}

// Refresh builds the site of in and writes it to out, like its Site method and [Write], with the
// same result. If only the texts of some documents in a folder have changed since Refresh wrote
// out, a folder or [Memory], and nothing else in either of them, it reads and writes little more than
// these. That needs a [DocumentOptions.CacheDir]. The Result is nil if in cannot be read.
func Refresh(ctx context.Context, in Input, out Output, opts *Options) (*Result, error) {
	if wrapped, ok := in.(interface{ Unwrap() Input }); ok {
		in = wrapped.Unwrap()
	}
	return sitewriter.Refresh(ctx, in, out, opts)
}

// Survey returns the definitions of the site that in builds: what Site would return, unless
// something that was not read changes it. It is fast for documents, of which it lists the
// files and reads the top page; Answers is then nil, and Resources yields pages with
// provisional titles. Any other input is read as a whole: Answers is not nil, and the result
// can be written.
func Survey(ctx context.Context, in Input) (*Site, error) { return sitewriter.Survey(ctx, in) }

// WithProgress returns a context in which the Site method of inputs reports how many
// documents have been read. report may be called concurrently.
func WithProgress(ctx context.Context, report func(Progress)) context.Context {
	return sitewriter.WithProgress(ctx, report)
}

// Dir returns an output that is the folder at path, which is created if necessary.
//
// It writes only files whose contents differ, each under a temporary name first, and the
// manifest last. It deletes a file only if the index shows that an earlier write created
// it and its contents are unchanged since. Everything else in the folder is left alone.
// An interrupted write leaves a usable site, and the next write completes it.
//
// A folder that has a manifest but no Slipway index is refused, and so is an existing
// foreign file that would be overwritten, unless Options.Adopt is set.
func Dir(path string) Output { return sitewriter.Dir(path) }

// ZipFile returns an output that writes a zip file, atomically. It replaces an existing
// file only if that is an archive written by Slipway, or with Options.Adopt.
func ZipFile(name string) Output { return sitewriter.ZipFile(name) }

// TarFile is like [ZipFile] for a tar file.
func TarFile(name string) Output { return sitewriter.TarFile(name) }

// Zip returns an output that writes a zip archive to w.
func Zip(w io.Writer) Output { return sitewriter.Zip(w) }

// Tar returns an output that writes a tar archive to w.
func Tar(w io.Writer) Output { return sitewriter.Tar(w) }

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return sitewriter.NewMemory() }

// Text returns a tool answer with one text. arguments is any value that encoding/json
// encodes as an object, or nil; if it cannot be encoded, [Write] reports an error.
func Text(tool string, arguments any, text string) *Answer {
	return sitewriter.Text(tool, arguments, text)
}

// Structured returns a tool answer with a text and the equivalent structured content.
// structured is a JSON object that matches the tool's outputSchema.
func Structured(tool string, arguments any, text string, structured json.RawMessage) *Answer {
	return sitewriter.Structured(tool, arguments, text, structured)
}

// TextResource returns the contents of a text resource.
func TextResource(uri, mimeType, text string) *Answer {
	return sitewriter.TextResource(uri, mimeType, text)
}

// Rules returns the rules for building sites, of all inputs.
func Rules() []check.Rule {
	return slices.Concat(
		sitewriter.Rules(), docs.Rules(), table.Rules(), openapi.Rules(), gopkg.Rules(), rules.All(),
	)
}

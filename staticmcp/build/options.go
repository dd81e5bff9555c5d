package build

import (
	"github.com/slipway-mcp/slipway/check"
)

// Options say how a site is written. A nil *Options and the zero value are the
// defaults.
type Options struct {
	// Collisions says what becomes of answers whose arguments or URIs are encoded
	// to one name. Default: [Disambiguate].
	Collisions Collisions
	// NoAliases leaves out the second file of an answer with a name over 200
	// characters, under the 32-bit hash that some other readers look for.
	NoAliases bool
	// NoIndex leaves out .staticmcp/index.json. A folder without it can neither
	// be updated nor checked for being current.
	NoIndex bool
	// Compact writes documents on one line each. Default: indented by two spaces.
	Compact bool

	// Precompress also writes each file compressed, for web hosts that look for
	// such files. "gzip" (.gz) is known.
	Precompress []string
	// Host says for which web host the files that hosts need are written, and
	// whose limits are looked at. Default: none.
	Host Host
	// SiteRoot is the folder that is published, in which hosts look for _headers and
	// .nojekyll, if the site is a folder below it. The rules in _headers are then for
	// the path of the site alone, between marks in a file that may have others. Default: the
	// site itself.
	SiteRoot string

	// Adopt writes into a folder with a site that this program did not write, and
	// replaces files that it does not know.
	Adopt bool
	// DryRun finds out what would be done and does not do it.
	DryRun bool
	// Lenient leaves out the answers that cannot be written and goes on. They are
	// findings either way. Default: nothing is written at all.
	Lenient bool

	// OmitUnanswered leaves the definitions of tools, prompts and resources without
	// any answer out of the manifest.
	OmitUnanswered bool

	// MaxAnswerBytes is the size from which an answer is an error. Default:
	// 16 MiB, what our reader takes. Above 1 MiB is a warning in any case.
	MaxAnswerBytes int64
	// SpoolBytes is how much of the answers is kept in memory until all are
	// known; the rest goes to a temporary file. Default: 16 MiB.
	SpoolBytes int64
	// TempDir is where the temporary file is made. Default: beside the output, or
	// the system's own folder if nothing is to be written there.
	TempDir string

	// Record is put into .staticmcp/ as files beside the index, by name, such as
	// where a frozen site is from. They are no part of the site: in a folder in
	// which nothing else changes, those that are there stay as they are.
	Record map[string][]byte
	// Progress is told how far the write is, from the goroutine of Write.
	Progress func(Progress)
}

// Collisions says what becomes of answers whose names collide.
type Collisions string

const (
	// Disambiguate gives each of them a name with a hash, in the standard's form
	// of long names, and stores under the shared name an answer that lists them.
	Disambiguate Collisions = ""
	// Refuse makes a collision an error.
	Refuse Collisions = "error"
)

// Progress is how far a write is.
type Progress struct {
	// Stage is "reading" while answers come in and their number is unknown, then
	// "comparing" and "writing".
	Stage string
	// Done and Total count files; Total is 0 while it is unknown.
	Done, Total int
	Bytes       int64
}

// Result is what a write did, or with DryRun would do.
type Result struct {
	// Answers are the answers handed over; Files and Bytes all that the site
	// consists of now, the index included.
	Answers, Files int
	Bytes          int64
	// Of the files, so many were created, changed or found as they should be; so
	// many others were deleted.
	Created, Changed, Unchanged, Deleted int
	// Changes names the first of those that were not as they should be.
	Changes []Change
	// Kept are files that an earlier write made and somebody changed since: they
	// are no part of the site any more, and were not deleted.
	Kept []string
	// Report holds what was found: collisions, sizes, limits of hosts.
	Report check.Report
}

// Stale reports whether the output was not as it should be.
func (r *Result) Stale() bool { return r.Created+r.Changed+r.Deleted > 0 }

// Change is what happened to a file.
type Change struct {
	Action Action `json:"action"`
	Path   string `json:"path"`
}

// Action is what happened to a file.
type Action string

// The actions.
const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
)

// maxChanges is how many changes a Result names.
const maxChanges = 10_000

const (
	defaultMaxAnswer  = 16 << 20
	defaultSpoolBytes = 16 << 20
	largeAnswer       = 1 << 20
)

func (o *Options) withDefaults() *Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.MaxAnswerBytes <= 0 {
		d.MaxAnswerBytes = defaultMaxAnswer
	}
	if d.SpoolBytes <= 0 {
		d.SpoolBytes = defaultSpoolBytes
	}
	if d.Progress == nil {
		d.Progress = func(Progress) {}
	}
	return &d
}

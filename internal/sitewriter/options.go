package sitewriter

import (
	"github.com/slipway-mcp/slipway/check"
)

// Options configure a write. The zero value and nil are the defaults.
type Options struct {
	// Collisions is the action for answers whose arguments or URIs are encoded to the
	// same name. Default: [Disambiguate].
	Collisions Collisions
	// NoAliases omits the second file of an answer with a name over 200 characters, under
	// the 32-bit hash that some other readers use.
	NoAliases bool
	// NoIndex omits .staticmcp/index.json. A folder without it can neither be updated nor
	// verified to be current.
	NoIndex bool
	// Compact writes each document on one line. Default: indented by two spaces.
	Compact bool
	// Layout is where the answers of tools are stored. Default: [OneFile].
	Layout Layout

	// Precompress also writes each file in compressed form, for web hosts that serve such
	// files. "gzip" (.gz) is supported.
	Precompress []string
	// Host is the web host to write additional files for, and whose limits are verified.
	// Default: none.
	Host Host
	// SiteRoot is the published folder, which hosts search for _headers and .nojekyll, if
	// the site is a folder below it. The rules in _headers then apply only to the path of
	// the site, and are kept between marks in a file that may contain other rules.
	// Default: the site itself.
	SiteRoot string

	// NoTwins omits the Markdown files next to the pages in SiteRoot.
	NoTwins bool

	// Adopt allows writing to a folder with a site that Slipway did not write, and
	// replacing foreign files.
	Adopt bool
	// DryRun determines the changes without making them.
	DryRun bool
	// Lenient skips the answers that cannot be written. They are reported as findings in
	// any case. Default: nothing is written at all.
	Lenient bool

	// OmitUnanswered omits the definitions of tools, prompts and resources without any
	// answer from the manifest.
	OmitUnanswered bool

	// MaxAnswerBytes is the maximum size of an answer; a larger one is an error. Default:
	// 16 MiB, the limit of Slipway's reader. Answers above 1 MiB always cause a warning.
	MaxAnswerBytes int64
	// SpoolOptions configure where answers wait until all of them are known.
	SpoolOptions

	// Record contains additional files for .staticmcp/, by name, such as the origin of a
	// frozen site. They are not part of the site: if nothing else in a folder changes,
	// its existing records stay as they are.
	Record map[string][]byte
	// Progress is called with the progress of the write, from the goroutine of Write.
	Progress func(Progress)
}

// SpoolOptions configure where the answers of a site wait until all of them are known. The
// zero value means the defaults.
type SpoolOptions struct {
	// SpoolBytes is the amount of answer data kept in memory until all answers are known;
	// the rest goes to a temporary file. Default: 4 MiB.
	SpoolBytes int64
	// TempDir is the folder for the temporary file. Default: next to the output, or the
	// system's temporary folder for outputs that are not folders or files, and dry runs.
	TempDir string
}

// Collisions is the action for answers whose names collide.
type Collisions string

const (
	// Disambiguate gives each of them a name with a hash, in the standard's form of long
	// names, and stores an answer that lists them under the shared name.
	Disambiguate Collisions = ""
	// Refuse makes a collision an error.
	Refuse Collisions = "error"
)

// Layout is where the answers of tools are stored.
type Layout string

const (
	// OneFile stores each answer in a file, as the standard says.
	OneFile Layout = ""
	// Packed stores the answers to calls with arguments in packs, files of up to 128 KiB that
	// Slipway's readers and endpoints read. Resources, answers to calls without arguments and
	// prompts are files of the standard. Answers of search tools are not stored: readers of
	// packs search the index.
	Packed Layout = "packed"
)

// Progress is the progress of reading an input or of a write.
type Progress struct {
	// Stage is "documents" while an input reads its documents. In a write, it is "reading"
	// while answers arrive and their number is unknown, then "comparing", "writing" and
	// "done".
	Stage string
	// Done and Total count documents or files; Total is 0 while it is unknown.
	Done, Total int
	Bytes       int64
}

// Result is the outcome of a write, or with DryRun the expected outcome.
type Result struct {
	// Answers is the number of answers provided. Files and Bytes cover the whole site,
	// including the index.
	Answers int   `json:"answers"`
	Files   int   `json:"files"`
	Bytes   int64 `json:"bytes"`
	// Largest is the size of the largest file.
	Largest int64 `json:"largest"`
	// Created, Changed and Unchanged count files of the site; Deleted counts obsolete
	// files that were removed.
	Created   int `json:"created"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	Deleted   int `json:"deleted"`
	// Changes lists the first changes.
	Changes []Change `json:"changes"`
	// Kept lists files of an earlier write that are no longer part of the site, but were
	// modified since and therefore not deleted.
	Kept []string `json:"kept"`
	// Public is the URL of [Options.SiteRoot], if the addresses of the pages in it tell.
	Public string `json:"public,omitempty"`
	// Report contains the findings: collisions, sizes, limits of hosts.
	Report check.Report `json:"-"`
}

// Stale reports whether the output was out of date.
func (r *Result) Stale() bool { return r.Created+r.Changed+r.Deleted > 0 }

// Change is a change to a file.
type Change struct {
	// Action is what was done to the file at Path.
	Action Action `json:"action"`
	Path   string `json:"path"`
}

// Action is a kind of change to a file.
type Action string

// The actions.
const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
)

// maxChanges is the maximum number of changes listed in a Result.
const maxChanges = 10_000

const (
	defaultMaxAnswer  = 16 << 20
	defaultSpoolBytes = 4 << 20
	largeAnswer       = 1 << 20
)

// withDefaults returns a copy in which every limit is set and no function is nil.
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

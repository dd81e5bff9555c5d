// Package table builds StaticMCP sites from tables: CSV, JSON, JSON Lines and SQLite.
//
//	in, err := table.New("countries.csv", nil)
//	site, err := in.Site(ctx)
//
// A table of countries becomes get_country, which takes the key of a row, list_countries,
// which pages through all rows, and find_countries_by_continent for each column with few
// distinct values. A first reading of the input determines the types of the columns, the
// key, and the columns to find by; a second reading yields the answers. Neither keeps the
// rows: memory is bounded by the number of distinct keys (about 40 bytes each) and by the
// pages being filled.
package table

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/mcp"
)

// Options configure how tables are read and which tools they get. A nil *Options and the
// zero value mean the defaults.
type Options struct {
	// Server names the site. Default: the name of the file, version 1.0.0.
	Server mcp.Implementation
	// Instructions explain to a model how to use the site. Default: a line about each table.
	Instructions string

	// Table configures the only table of a file. It is an error if the file has several.
	Table Table
	// Tables configures tables by name, for a file that can have several: a database, or
	// a JSON object of arrays. An unknown name is an error.
	Tables map[string]Table
	// Only are the names of the tables to include. Default: all. Views of a database are
	// included only if they are named here or in Tables.
	Only []string

	// Delimiter is the character that separates the cells of a CSV file. Default: detected
	// among comma, semicolon, tab and bar.
	Delimiter rune
	// Header states whether the first line of a CSV file names the columns. Default:
	// detected; it does unless a cell is a number, a date, a boolean or longer than 500
	// bytes, or a cell other than the first and the last is empty.
	Header *bool

	// ToolNames are the names for texts that mention tools.
	ToolNames sitewriter.ToolNames `json:"-"`
	// MaxColumns and MaxRows bound a table; one that exceeds them is an error.
	// Default: 1,000 and 20,000,000.
	MaxColumns, MaxRows int
	// MaxRecordBytes bounds one line of JSON Lines, one element of a JSON array and
	// one record of CSV. Default: 16 MiB.
	MaxRecordBytes int
	// MaxObjectBytes bounds a JSON file that is an object, which is read into memory; all
	// other files are streamed. Default: 256 MiB.
	MaxObjectBytes int64
}

// Table configures one table. The zero value means the defaults.
type Table struct {
	// Name is the name of the rows, such as "countries", in singular or plural; both forms
	// are derived from it. Default: the name of the file or the table.
	Name string
	// Title and Description are for people and models. Default: derived from Name.
	Title, Description string
	// Key are the columns that identify a row. Default: the database's primary key;
	// otherwise a unique column that is named like a key, or the first column if it is
	// unique; otherwise rows are identified by their numbers.
	Key Columns
	// Columns are the columns to show, in this order. Default: all.
	Columns Columns
	// List are the columns to show in lists of rows. Default: those of Columns whose texts
	// average at most 200 bytes.
	List Columns
	// Find are the columns to find rows by. Default: foreign keys, and columns with few
	// distinct values. A non-nil empty slice means none.
	Find Columns
	// PageRows is the number of rows per page. Default: as many as fit in about 32 KiB,
	// between 5 and 100.
	PageRows int
	// ResourceRows is the largest number of rows for which each row is also a resource.
	// Default: 1,000. A negative value disables these resources.
	ResourceRows int
}

// Columns are names of columns. In JSON, a single name can replace the list.
type Columns []string

// UnmarshalJSON implements json.Unmarshaler.
func (c *Columns) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte{'"'}) {
		*c = make(Columns, 1)
		return json.Unmarshal(text, &(*c)[0])
	}
	return json.Unmarshal(text, (*[]string)(c))
}

// The defaults of [Options]: columns and rows of a table, bytes of a CSV record and of a JSON
// object, and rows that are also resources.
const (
	defaultMaxColumns   = 1000
	defaultMaxRows      = 20_000_000
	defaultMaxRecord    = 16 << 20
	defaultMaxObject    = 256 << 20
	defaultResourceRows = 1000
)

// Input is a file with tables. It is safe for concurrent use.
type Input struct {
	// path is the file, and format how it is read.
	path   string
	format format
	opts   Options
}

var _ sitewriter.Input = (*Input)(nil)

// format is a file format.
type format struct {
	// name is the ending of files in the format.
	name string
	// open returns the tables of the file, which can be read until the returned function closes it.
	open func(in *Input, ctx context.Context, r *check.Report) ([]*source, func() error, error)
}

// formatOf returns the format of a file by its name.
func formatOf(path string) (format, bool) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv", ".tsv", ".tab", ".psv":
		return format{"CSV", (*Input).openCSV}, true
	case ".json":
		return format{"JSON", (*Input).openJSON}, true
	case ".jsonl", ".ndjson":
		return format{"JSON Lines", (*Input).openLines}, true
	case ".db", ".sqlite", ".sqlite3", ".db3":
		return format{"SQLite", (*Input).openSQLite}, true
	}
	return format{}, false
}

// Reads reports whether a file with this name can contain tables. A .json file may also
// be something else.
func Reads(path string) bool {
	_, ok := formatOf(path)
	return ok
}

// New returns the tables in the file at path, whose extension determines the format:
// .csv, .tsv, .json, .jsonl, .ndjson, .db, .sqlite and the like. It only checks that the
// file exists; reading comes later.
func New(path string, opts *Options) (*Input, error) {
	f, ok := formatOf(path)
	if !ok {
		return nil, fmt.Errorf("read tables of %s: a table is a .csv, .tsv, .json, .jsonl, .ndjson, .db or .sqlite file",
			path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read tables of %s: not a regular file", path)
	}
	in := &Input{
		path:   path,
		format: f,
	}
	if opts != nil {
		in.opts = *opts
	}
	o := &in.opts
	o.MaxColumns = positive(o.MaxColumns, defaultMaxColumns)
	o.MaxRows = positive(o.MaxRows, defaultMaxRows)
	o.MaxRecordBytes = positive(o.MaxRecordBytes, defaultMaxRecord)
	o.MaxObjectBytes = positive(o.MaxObjectBytes, defaultMaxObject)
	if o.Server.Name == "" {
		o.Server.Name = serverName(path)
	}
	return in, nil
}

// positive returns n, or otherwise if n is not positive.
func positive[T int | int64](n, otherwise T) T {
	if n > 0 {
		return n
	}
	return otherwise
}

// serverName names a site after its file, and also after the folder if the file's name is
// generic.
func serverName(path string) string {
	name := snake(stem(path))
	abs, err := filepath.Abs(path)
	if err != nil || !generic(name) {
		return name
	}
	folder := snake(filepath.Base(sitewriter.ProjectFolder(filepath.Dir(abs))))
	if folder == "" || generic(folder) || sitewriter.IsContentFolder(folder) {
		return name
	}
	if strings.HasSuffix(folder, "_"+name) {
		return folder // mime-db/db.json
	}
	return sitewriter.ServerName(folder+"_"+name, "_")
}

// about returns a reporter for the file.
func (in *Input) about(r *check.Report) check.Reporter {
	return check.Reporter{
		Report: r,
		File:   in.path,
	}
}

// stem returns the name of a file without its folder and extension.
func stem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// Paths implements [sitewriter.Input].
func (in *Input) Paths() []string { return []string{in.path} }

// Site implements [sitewriter.Input]: it reads the file once. Rows with problems are skipped,
// and the problems are among the findings of the site.
func (in *Input) Site(ctx context.Context) (*sitewriter.Site, error) {
	var report check.Report
	sources, closeAll, err := in.format.open(in, ctx, &report)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", in.path, err)
	}
	tables, err := in.survey(ctx, sources, &report)
	if err := errorsJoin(err, closeAll()); err != nil {
		return nil, fmt.Errorf("read %s: %w", in.path, err)
	}
	site := &sitewriter.Site{
		Server:       in.opts.Server,
		Instructions: in.opts.Instructions,
	}
	if site.Instructions == "" {
		site.Instructions = instructions(tables)
	}
	for _, t := range tables {
		site.Tools = append(site.Tools, t.tools()...)
	}
	site.Resources = resources(ctx, in, tables)
	site.Answers = answers(ctx, in, tables)
	for _, t := range tables {
		search, err := t.search(ctx)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", in.path, err)
		}
		search.Extend(ctx, site)
	}
	site.Findings = slices.Clone(report.Findings())
	return site, nil
}

// survey reads each table once.
func (in *Input) survey(
	ctx context.Context,
	sources []*source,
	report *check.Report,
) ([]*tab, error) {
	if err := in.known(sources); err != nil {
		return nil, err
	}
	if len(sources) > 1 && !reflect.ValueOf(in.opts.Table).IsZero() {
		return nil, fmt.Errorf("there are %d tables, and the settings are for one; set them for each table", len(sources))
	}
	var tables []*tab
	taken := map[string]bool{}
	for _, src := range sources {
		t, err := survey(ctx, src, in.optionsOf(src), &in.opts, report)
		if err != nil {
			return nil, err
		}
		if t != nil {
			t.own(taken)
			tables = append(tables, t)
		}
	}
	if len(tables) == 0 {
		for _, f := range report.Findings() {
			if f.Severity == check.Error {
				return nil, fmt.Errorf("no table has rows: line %d: %s", f.Line, f.Message)
			}
		}
		return nil, fmt.Errorf("no table has rows")
	}
	resolve(tables)
	return tables, nil
}

// optionsOf returns the options of a table: those under its name, or else those for the only
// table of the file.
func (in *Input) optionsOf(src *source) Table {
	if o, ok := in.opts.Tables[src.name]; ok {
		return o
	}
	if src.only {
		return in.opts.Table
	}
	return Table{}
}

// known verifies that the tables named in the options exist.
func (in *Input) known(sources []*source) error {
	var names []string
	for _, src := range sources {
		names = append(names, src.name)
	}
	wanted := slices.Clone(in.opts.Only)
	for name := range in.opts.Tables {
		wanted = append(wanted, name)
	}
	slices.Sort(wanted)
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return noSuch("table", name, names)
		}
	}
	return nil
}

package lock

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcp"
)

// Subject is a source to lock.
type Subject struct {
	// Name is that of the source in the lock.
	Name   string
	Origin string // digest of how it is started or reached, or empty
	// Open opens the source. The comparison closes what it returns if it can be closed.
	Open func(ctx context.Context) (mcp.Source, error)
}

// SubjectError is the error for a source that cannot be recorded.
type SubjectError struct {
	// Name is that of the source, and Err why it cannot be compared.
	Name   string
	Opened bool // it was opened, but its offer could not be read
	Err    error
}

// Error implements the error interface.
func (e *SubjectError) Error() string {
	return e.Name + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *SubjectError) Unwrap() error { return e.Err }

// RecordAll opens sources, records them concurrently and closes them; the entries are by
// name. The error is a [*SubjectError] if one of them cannot be recorded, because nothing
// is known about it.
func RecordAll(ctx context.Context, subjects []Subject) (map[string]*Entry, *check.Report, error) {
	entries := make([]*Entry, len(subjects))
	reports := make([]*check.Report, len(subjects))
	errs := make([]error, len(subjects))
	var all sync.WaitGroup
	for i, s := range subjects {
		all.Go(func() {
			src, err := s.Open(ctx)
			if err != nil {
				errs[i] = &SubjectError{s.Name, false, err}
				return
			}
			if entries[i], reports[i], err = Record(ctx, s.Name, src, s.Origin); err != nil {
				errs[i] = &SubjectError{s.Name, true, err}
			}
			if c, ok := src.(io.Closer); ok {
				_ = c.Close() // nothing was written, so nothing can be lost
			}
		})
	}
	all.Wait()
	recorded := make(map[string]*Entry)
	report := &check.Report{}
	for i, s := range subjects {
		if errs[i] != nil {
			return nil, nil, errs[i]
		}
		recorded[s.Name] = entries[i]
		report.Merge(reports[i])
	}
	return recorded, report, nil
}

// Comparison is the outcome of [File.Verify]: a lock and the current offer of its sources.
type Comparison struct {
	// Drifts are the differences. A source that is missing from the lock is one drift; see
	// [Comparison.Expand].
	Drifts []Drift

	// file is the lock that was compared with, and now what the sources offer.
	file   *File
	now    map[string]*Entry
	report *check.Report // about the offers, without the drifts
}

// SelectionError is the error for a selection of sources or items that matches nothing.
type SelectionError struct{ Message, Hint string }

// Error implements the error interface.
func (e *SelectionError) Error() string { return e.Message }

// Verify compares the lock with the current offer of sources. Locked sources that are not
// among the subjects are reported as unused; if only is not empty, it restricts that to
// the sources it names. A name in only that does not exist is a [*SelectionError].
func (f *File) Verify(ctx context.Context, subjects []Subject, only []string) (*Comparison, error) {
	for _, name := range only {
		if f.Sources[name] == nil && !slices.ContainsFunc(subjects, func(s Subject) bool {
			return s.Name == name
		}) {
			return nil, &SelectionError{Message: fmt.Sprintf("no server or source is named %q", name)}
		}
	}
	now, report, err := RecordAll(ctx, subjects)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(f.Sources)
	maps.Copy(all, now)
	report.Add(CheckShadowing(all)...)
	c := &Comparison{
		file:   f,
		now:    now,
		report: report,
	}
	for _, s := range subjects {
		drifts := Compare(s.Name, f.Sources[s.Name], now[s.Name])
		c.Drifts = append(c.Drifts, drifts...)
	}
	for _, name := range f.Names() {
		if now[name] == nil && (len(only) == 0 || slices.Contains(only, name)) {
			c.Drifts = append(c.Drifts, Compare(name, f.Sources[name], nil)...)
		}
	}
	return c, nil
}

// Expand returns drifts with each source that is missing from the lock replaced by all of
// its items.
func (c *Comparison) Expand(drifts []Drift) (all []Drift) {
	for _, d := range drifts {
		now := c.now[d.Source]
		if d.Item.Kind == Whole && now != nil {
			all = append(all, Compare(d.Source, &Entry{Version: now.Version}, now)...)
			continue
		}
		all = append(all, d)
	}
	return all
}

// Findings returns the drifts, and the findings about the offers, with their positions in
// the lock.
func (c *Comparison) Findings() *check.Report {
	report := c.Review(c.Drifts)
	for _, d := range c.Drifts {
		report.Add(c.place(d.Finding()))
	}
	return report
}

// Review returns the findings about the offers. Those that need a reviewer are included
// only for the items of drifts, because the rest was approved.
func (c *Comparison) Review(drifts []Drift) *check.Report {
	report := &check.Report{}
	for _, f := range c.report.Findings() {
		approved := f.Rule.Is(ruleInvisible) || f.Rule.Is(ruleMentions)
		if !approved || slices.ContainsFunc(drifts, func(d Drift) bool {
			return d.concerns(f)
		}) {
			report.Add(c.place(f))
		}
	}
	return report
}

// concerns reports whether a finding is about the item of a drift.
func (d Drift) concerns(f check.Finding) bool {
	at := d.Finding().Pointer
	return f.Pointer == at || d.Item.Kind == Whole && strings.HasPrefix(f.Pointer, at+"/")
}

// place sets the position of a finding in the lock.
func (c *Comparison) place(f check.Finding) check.Finding {
	f.File = c.file.path
	offset, _ := check.Offset(c.file.text, f.Pointer)
	f.Line, f.Column = check.LineColumn(c.file.text, offset)
	return f
}

// Select returns the drifts to approve: all of them, or those of items. A locked source
// that is not offered is removed only if sources names it. A source that is missing from
// the lock is approved with all of its items or not at all. An item that is unchanged is a
// [*SelectionError].
func (c *Comparison) Select(sources []string, items []Item) (selected []Drift, err error) {
	found := make(map[Item]bool)
	for _, d := range c.Drifts {
		switch {
		case d.Item.Kind == Whole && d.Is == nil:
			if slices.Contains(sources, d.Source) && len(items) == 0 {
				selected = append(selected, d)
			}
		case len(items) == 0:
			selected = append(selected, d)
		case d.Item.Kind == Whole:
			return nil, &SelectionError{d.Source + " is not in the lock",
				"omit --item to accept all of it, or select other servers with --server"}
		case slices.Contains(items, d.Item):
			found[d.Item] = true
			selected = append(selected, d)
		}
	}
	for _, item := range items {
		if !found[item] {
			return nil, &SelectionError{item.String() + " matches the lock, or does not exist",
				"slipway lock diff shows what is different"}
		}
	}
	return selected, nil
}

// Approve writes the lock with drifts approved. definitions are the definitions files that
// it then covers, in addition to those it was made for. Without drifts, the file stays as
// it is.
func (c *Comparison) Approve(drifts []Drift, definitions []string) error {
	if len(drifts) == 0 {
		return nil
	}
	next := c.file.Approve(drifts, c.now)
	if len(next.Definitions) > 0 { // otherwise it covers all
		next.Definitions = append(next.Definitions, definitions...)
		slices.Sort(next.Definitions)
		next.Definitions = slices.Compact(next.Definitions)
	}
	return fsutil.Replace(c.file.path, 0o644, next.Write)
}

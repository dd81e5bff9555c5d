package search

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Verify reads the files of the index, at most limit if that is positive, and verifies that
// they belong together and are complete. It calls broken with each file that is missing,
// damaged or of another build, and the reason. It returns [ErrNoFile] if there is no index,
// and otherwise only errors of ctx.
func (x *Index) Verify(ctx context.Context, limit int, broken func(name string, err error)) error {
	loaded, err := x.store.Load(ctx, HeadName, parseHead)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrNoFile):
		return ErrNoFile
	case err != nil:
		broken(HeadName, err)
		return nil
	}
	q := &question{
		index: x,
		ctx:   ctx,
	}
	report := func(name string, err error) {
		if err != nil && ctx.Err() == nil {
			broken(name, reason(name, err))
		}
	}
	switch h := loaded.(type) {
	case *head1:
		h.verify(q, limit, report)
	case *head:
		(&answer2{question: q, head: h}).verify(limit, report)
	}
	return ctx.Err()
}

// verify calls report with each file of the index, at most limit if that is positive, and
// the reason if it is unusable.
func (a *answer2) verify(limit int, report func(name string, err error)) {
	left := limit
	for n := range a.head.Terms {
		if left--; left == 0 || a.ctx.Err() != nil {
			return
		}
		report(fileName("terms", n), a.verifyTerms(n))
	}
	units := a.head.layout.unit[a.head.Pages]
	page := 0
	for first := 0; first < units; {
		if left--; left == 0 || a.ctx.Err() != nil {
			return
		}
		file, _ := a.head.rowFileOf(first)
		next := first
		for next < units {
			if other, _ := a.head.rowFileOf(next); other != file {
				break
			}
			next++
		}
		report(fileName("pages", file), a.verifyRows(file, first, next, &page))
		first = next
	}
}

// verifyTerms verifies that the terms of a file are in order, belong there, and lead to
// pages and sections that exist.
func (a *answer2) verifyTerms(n int) error {
	f, err := a.termFile(n)
	if err != nil {
		return err
	}
	var buffer []byte
	before := ""
	for line := range strings.SplitSeq(strings.TrimPrefix(f.Terms, "\n"), "\n") {
		if f.Terms == "" {
			break
		}
		term, rest, _ := strings.Cut(line, " ")
		_, postings, ok := strings.Cut(rest, " ")
		home := a.head.termFileOf(term)
		switch {
		case !ok || term <= before:
			return errors.New("the terms are not in order")
		case postings == elsewhere && (home == n || a.head.ownFileOf(term) != n),
			postings != elsewhere && home != n:
			return fmt.Errorf("the term %q belongs into another file", term)
		}
		before = term
		if postings == elsewhere {
			continue
		}
		pages := 0
		if err := eachPosting(postings, &a.head.layout, &buffer, func(posting) { pages++ }); err != nil {
			return err
		}
		if pages == 0 || pages != pagesWith(postings) {
			return errPostings
		}
	}
	return nil
}

// verifyRows verifies that a file has the rows from first to before next; page is that of
// the first.
func (a *answer2) verifyRows(n, first, next int, page *int) error {
	f, err := a.rowFile(n)
	if err != nil {
		return err
	}
	if len(f.Rows) != next-first {
		return fmt.Errorf("%d rows, want %d", len(f.Rows), next-first)
	}
	l := &a.head.layout
	for i, r := range f.Rows {
		for l.unit[*page+1] <= first+i {
			*page++
		}
		from := (first + i - l.unit[*page]) * perUnit
		has := l.first[*page+1] - l.first[*page]
		if r.First != from || len(r.Sections) != min(perUnit, max(0, has-from)) {
			return fmt.Errorf("the row of page %q does not have its sections", r.ID)
		}
	}
	return nil
}

// reason explains why an index file is unusable.
func reason(name string, err error) error {
	if errors.Is(err, errStale) {
		return fmt.Errorf("%s is missing, or is not the file that %s was built with", name, HeadName)
	}
	return err
}

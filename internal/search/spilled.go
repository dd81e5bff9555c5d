package search

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"slices"
)

const (
	// spillSlabs is how many slabs of postings are in memory before the long lists move to a file.
	spillSlabs = 8 << 20 / slabSize
	// minSpilled is the size of a long list. Most terms are on one page; to read so many lists from
	// a file would take longer than it is worth.
	minSpilled = 64
)

// spilled are the postings that are in a file. Whatever a list gets after that is in memory.
type spilled struct {
	file   *os.File // nil if there is none
	size   int64
	pieces [][]piece // of each spill, sorted by term
	// limit is how many slabs may be in memory.
	limit int
	// failed is true once no file could be written: everything else stays in memory.
	failed bool
}

// piece is a part of the postings of a term in the file.
type piece struct {
	term, size int32
	at         int64
}

// spill moves long lists of postings to a file if the lists take much memory. The order of postings
// stays: those in the file are of earlier pages than those in memory.
func (b *Builder) spill() {
	s := &b.spilled
	if b.opts.TempFile == nil || s.failed || len(b.postings.slabs) < s.limit {
		return
	}
	pieces, err := b.writeLong()
	if err != nil {
		s.failed = true
		return
	}
	s.pieces = append(s.pieces, pieces)
	var kept blocks
	long := pieces
	for n := range b.terms {
		old := b.terms[n].postings
		b.terms[n].postings = list{}
		if len(long) > 0 && int(long[0].term) == n {
			long = long[1:]
			continue
		}
		b.posting = b.postings.appendTo(b.posting[:0], &old)
		kept.append(&b.terms[n].postings, b.posting)
	}
	kept.free = b.postings.slabs
	b.postings = kept
	s.limit = max(s.limit, 2*len(kept.slabs))
}

// writeLong appends the long lists to the file, and returns where they are.
func (b *Builder) writeLong() ([]piece, error) {
	s := &b.spilled
	if s.file == nil {
		var err error
		if s.file, err = b.opts.TempFile(); err != nil {
			return nil, err
		}
	}
	var pieces []piece
	out := bufio.NewWriterSize(s.file, slabSize)
	at := s.size
	for n := range b.terms {
		list := &b.terms[n].postings
		if list.size < minSpilled {
			continue
		}
		pieces = append(pieces, piece{int32(n), int32(list.size), at})
		b.posting = b.postings.appendTo(b.posting[:0], list)
		if _, err := out.Write(b.posting); err != nil {
			return nil, err
		}
		at += int64(list.size)
	}
	s.size = at
	return pieces, out.Flush()
}

// eachPiece calls visit for each piece of the postings of a term, in order.
func (s *spilled) eachPiece(term int, visit func(piece) error) error {
	for _, pieces := range s.pieces {
		i, ok := slices.BinarySearchFunc(pieces, int32(term), func(p piece, term int32) int {
			return cmp.Compare(p.term, term)
		})
		if !ok {
			continue
		}
		if err := visit(pieces[i]); err != nil {
			return err
		}
	}
	return nil
}

// postingsSize returns the size of the postings of a term.
func (b *Builder) postingsSize(term int) int {
	size := int(b.terms[term].postings.size)
	_ = b.spilled.eachPiece(term, func(p piece) error { // visit never fails
		size += int(p.size)
		return nil
	})
	return size
}

// appendPostings appends the postings of a term to out.
func (b *Builder) appendPostings(out []byte, term int) ([]byte, error) {
	err := b.spilled.eachPiece(term, func(p piece) error {
		start := len(out)
		out = slices.Grow(out, int(p.size))[:start+int(p.size)]
		if _, err := b.spilled.file.ReadAt(out[start:], p.at); err != nil {
			return fmt.Errorf("read temporary file: %w", err)
		}
		return nil
	})
	return b.postings.appendTo(out, &b.terms[term].postings), err
}

// Release closes the file of the postings. Close also does so.
func (b *Builder) Release() {
	if f := b.spilled.file; f != nil {
		f.Close()
		_ = os.Remove(f.Name()) // which has no name any more on most systems
	}
	b.spilled = spilled{failed: true}
}

package search

import (
	"context"
	"errors"
	"fmt"
)

// Verify reads the files of the index, at most limit if that is positive, and verifies
// their checksums. It calls broken with each file that is missing, damaged or of another
// build, and the reason. It returns [ErrNoFile] if there is no index, and otherwise only
// errors of ctx.
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
	h := loaded.(*head)
	q := &question{
		index: x,
		ctx:   ctx,
		head:  h,
	}
	report := func(name string, err error) {
		if err != nil && ctx.Err() == nil {
			broken(name, reason(name, err))
		}
	}
	_, err = loadShard[wordList](q, wordsName, h.Words)
	report(wordsName, err)
	left := limit
	for i, s := range h.Terms {
		if left--; left == 0 {
			return ctx.Err()
		}
		name := shardName("terms", i)
		_, err := loadShard[termShard](q, name, s.sum)
		report(name, err)
	}
	for i, s := range h.Rows {
		if left--; left == 0 {
			return ctx.Err()
		}
		name := shardName("pages", i)
		_, err := loadShard[rowShard](q, name, s.sum)
		report(name, err)
	}
	return ctx.Err()
}

// reason explains why an index file is unusable.
func reason(name string, err error) error {
	if errors.Is(err, errStale) {
		return fmt.Errorf("%s is missing, or is not the file that %s was built with", name, HeadName)
	}
	return err
}

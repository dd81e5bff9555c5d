package settings

import (
	"bytes"
	"context"
	"os"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/stax"
)

// FollowOptions configure [Follow].
type FollowOptions struct {
	// Every is the pause between two checks; 0 means that only Now causes one.
	Every time.Duration
	// Now, if not nil, makes Follow call apply at once, even if the file has not changed.
	Now <-chan os.Signal
}

// Follow calls apply with the text of a file, or why it cannot be read, after each change
// until ctx is done. A changed file must be the same in two checks, because it may still
// be being written. text is its text before the first check.
func Follow(ctx context.Context, path string, text []byte, opts *FollowOptions, apply func(text []byte, err error)) {
	var ticks <-chan time.Time
	if opts.Every > 0 {
		ticker := time.NewTicker(opts.Every)
		defer ticker.Stop()
		ticks = ticker.C
	}
	used := reading{text: text}
	previous := used
	for {
		var asked bool
		select {
		case <-ctx.Done():
			return
		case <-opts.Now:
			asked = true
		case <-ticks:
		}
		current := read(path)
		if asked || !current.equal(used) && current.equal(previous) {
			used = current
			apply(current.text, current.err)
		}
		previous = current
	}
}

// reading is the outcome of reading a file.
type reading struct {
	// text is the content of the file, or err why it cannot be read.
	text []byte
	err  error
}

func read(path string) reading {
	text, err := fsutil.ReadFile(path, stax.MaxBytes)
	return reading{text, err}
}

func (r reading) equal(other reading) bool {
	if r.err != nil || other.err != nil {
		return r.err != nil && other.err != nil && r.err.Error() == other.err.Error()
	}
	return bytes.Equal(r.text, other.text)
}

package sitewriter

import (
	"context"
	"io/fs"
)

// Output is the destination of a site: [Dir], [ZipFile], [TarFile], [Zip], [Tar] or a
// [Memory].
type Output interface {
	// begin verifies that the output can be used, before any other work.
	begin(*Options) (target, error)
}

// target is an output during one write.
type target interface {
	// dir returns a folder for temporary files, or "".
	dir() string
	// commit writes everything that w has prepared to the output.
	commit(ctx context.Context, w *writer) error
	close()
}

// progress reports progress at intervals, and the last file.
func (w *writer) progress(stage string, done, total int, bytes int64) {
	if done%progressStep == 0 || done == total {
		w.opts.Progress(Progress{
			Stage: stage,
			Done:  done,
			Total: total,
			Bytes: bytes,
		})
	}
}

// note records an actual or planned change to a file.
func (r *Result) note(action Action, path string) {
	switch action {
	case Create:
		r.Created++
	case Update:
		r.Changed++
	case Delete:
		r.Deleted++
	}
	if len(r.Changes) < maxChanges {
		r.Changes = append(r.Changes, Change{action, path})
	}
}

func pathError(op, path string, err error) error {
	return &fs.PathError{
		Op:   op,
		Path: path,
		Err:  err,
	}
}

package build

import "context"

// Output is where a site is written to: [Dir], [ZipFile], [Zip], [Tar] or a
// [Memory].
type Output interface {
	// begin makes sure, before any work is done, that the output can be used.
	begin(*Options) (target, error)
}

// target is an output during one write.
type target interface {
	// dir is where a temporary file may be, or empty.
	dir() string
	// commit brings all that w has prepared into the output.
	commit(ctx context.Context, w *writer) error
	close()
}

// progress tells of every file, but not too often.
func (w *writer) progress(stage string, done, total int, bytes int64) {
	if done%progressStep == 0 || done == total {
		w.opts.Progress(Progress{Stage: stage, Done: done, Total: total, Bytes: bytes})
	}
}

// note records what happened, or would happen, to a file.
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

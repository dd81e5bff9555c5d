// Package lock restricts Sources to approved definitions.
//
// A lock records what sources offer: tools, prompts, resources, templates, instructions,
// and how each source is started or reached. A user reviews it and keeps it with the
// project. [Record] captures a source, [File] is the lock, and [Restrict] hides and
// refuses whatever differs from it, so that a server cannot change a tool that was
// trusted.
//
//	now, report, err := lock.Record(ctx, "shop", src, "")
//	file := &lock.File{Sources: map[string]*lock.Entry{"shop": now}}
//	src = lock.Restrict("shop", src, lock.NewGuard(file, nil), "")
//
// [Compare] and [File.Approve] show the differences and accept them.
//
// A lock contains a source's own names, so apply Restrict before compose.Edit and
// compose.Union.
package lock

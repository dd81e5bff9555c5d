package sitelint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// roundSize is how many files are checked before their findings are put in order.
const roundSize = 4096

// readFiles checks the contents of files, several at a time.
func (c *checker) readFiles(ctx context.Context, f *site.Folder, jobs []job) error {
	results := make([]*fileReport, roundSize)
	for len(jobs) > 0 {
		round := jobs[:min(roundSize, len(jobs))]
		jobs = jobs[len(round):]
		var next atomic.Int64
		var workers sync.WaitGroup
		for range 4 * runtime.GOMAXPROCS(0) {
			workers.Go(func() {
				o := opener{folder: f}
				defer o.close()
				for i := next.Add(1) - 1; int(i) < len(round) && ctx.Err() == nil; i = next.Add(1) - 1 {
					results[i] = c.readFile(ctx, &o, &round[i])
				}
			})
		}
		workers.Wait()
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, s := range results[:len(round)] {
			c.take(s)
		}
	}
	return nil
}

// readFile checks the content of one file.
func (c *checker) readFile(ctx context.Context, o *opener, j *job) *fileReport {
	s := c.newFileReport(j.path, nil)
	data, err := o.answer(j, c.opts.MaxFileBytes)
	var large site.TooLarge
	switch {
	case ctx.Err() != nil:
		return s
	case errors.As(err, &large):
		s.At(0).Add(ruleTooLarge, "", "split the answer: readers reject it",
			"the file is larger than %d bytes", large.Limit)
		return s
	case err != nil:
		s.At(0).Add(ruleUnreadable, "", "",
			"the file cannot be read: %s", fsutil.Reason(err))
		return s
	}
	s.setText(data)
	c.compareIndex(s)
	c.content(s, j)
	if j.twin != "" {
		c.compareTwin(o, s, j)
	}
	s.setText(nil) // the findings have their positions
	return s
}

// opener opens the files of a folder. Many of them are next to each other, so it keeps
// the folder of the last one open. It is not safe for concurrent use.
type opener struct {
	// folder is the site; at is dir, kept open because neighbouring files are read one
	// after the other.
	folder *site.Folder
	dir    string
	at     *os.Root
}

// close closes the folder that is kept open.
func (o *opener) close() {
	if o.at != nil {
		_ = o.at.Close()
		o.at = nil
	}
}

// open opens a file of the site, through its folder if that is possible.
func (o *opener) open(file string) (fs.File, error) {
	dir, name := path.Split(file)
	if o.folder.Root == nil || dir == "" {
		return o.folder.FS.Open(file)
	}
	if o.at == nil || dir != o.dir {
		o.close()
		at, err := o.folder.Root.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		o.at = at
		o.dir = dir
	}
	opened, err := o.at.Open(name)
	if err != nil {
		// It may be a link that points outside this folder but stays within the site.
		return o.folder.FS.Open(file)
	}
	return opened, nil
}

// answer returns the file of a job, or its part of a pack.
func (o *opener) answer(j *job, limit int64) ([]byte, error) {
	if j.leaf == nil || j.leaf.pack == "" {
		return o.read(j.path, limit)
	}
	size := int64(j.leaf.end - j.leaf.start)
	if size > limit {
		return nil, site.TooLarge{Limit: limit}
	}
	opened, err := o.open(j.leaf.pack)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	data := make([]byte, size)
	if at, ok := opened.(io.ReaderAt); ok {
		_, err = at.ReadAt(data, int64(j.leaf.start))
		return data, err
	}
	if _, err = io.CopyN(io.Discard, opened, int64(j.leaf.start)); err == nil {
		_, err = io.ReadFull(opened, data)
	}
	return data, err
}

// read returns the file at a path that is known to be a regular file or a link to one.
func (o *opener) read(file string, limit int64) ([]byte, error) {
	opened, err := o.open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil {
		return nil, err
	}
	return site.ReadLimited(opened, info.Size(), limit)
}

// compareTwin compares an answer under another reader's name with the one under the
// standard's name.
func (c *checker) compareTwin(o *opener, s *fileReport, j *job) {
	other, err := o.read(j.twin, c.opts.MaxFileBytes)
	if err == nil && !bytes.Equal(other, s.text) {
		s.At(0).Add(ruleCollision, "", "remove the outdated one",
			"the file differs from %s, which is the standard's name for it", j.twin)
	}
}

// largeAnswer is the size, in bytes, above which a model cannot use an answer.
const largeAnswer = 1 << 20

// content checks the content of a file.
func (c *checker) content(s *fileReport, j *job) {
	if len(s.text) > largeAnswer {
		s.At(0).Add(ruleLargeAnswer, "", "split it into pages",
			"the file has %.1f MB", float64(len(s.text))/1e6)
	}
	root, ok := s.whole()
	if !ok {
		return
	}
	c.secrets(s, root.at)
	f := &contents{
		fileReport: s,
		job:        j,
		root:       root,
		members:    root.members(),
	}
	switch dir, _, _ := strings.Cut(j.path, "/"); dir {
	case site.ResourcesDir:
		c.resourceFile(f)
	case site.ToolsDir:
		c.answerFile(f)
	case site.PromptsDir:
		c.promptFile(f)
	case site.CompletionsDir:
		c.completionFile(f)
	}
}

// contents is the single JSON value in a file.
type contents struct {
	*fileReport
	*job
	// root is the whole value.
	root    located
	members members // of root
}

// isListing reports whether the file's name marks it as a listing rather than an answer.
func (f *contents) isListing() bool { return site.IsListing(f.job.path) }

// listingName returns the name without its extension, for messages.
func (f *contents) listingName() string {
	return strings.TrimSuffix(path.Base(f.job.path), site.Extension)
}

// others returns the places of the path in which the answers that share this file differ.
func (f *contents) others() []int {
	meta := f.members.get("_meta")
	if meta.missing() {
		return nil
	}
	return site.SharedPlaces(meta.value)
}

// checkShared reports a file that represents several answers when those are not stored next
// to it.
func (c *checker) checkShared(f *contents) {
	places := f.others()
	if places == nil || c.tree == nil {
		return
	}
	parts := strings.Split(strings.TrimSuffix(f.job.path, site.Extension), "/")
	first := len(parts) - max(1, len(f.job.parts))
	for _, place := range places {
		at := first + place
		if place < 0 {
			at = len(parts) - 1
		}
		if at < len(parts) &&
			at > 0 &&
			c.tree.distinctBeside(strings.Join(parts[:at], "/"), parts[at]) {
			return
		}
	}
	f.At(f.members.get("_meta").at).Add(ruleDisambiguation, "/_meta/"+jsonscan.EscapeToken(site.MetaDisambiguation),
		"name them with the first 183 characters of this name, an underscore and a hash",
		"the file represents several answers, and none of them is next to it")
}

// distinctBeside reports whether a folder has a name that differs from the given one by a
// hash.
func (t *tree) distinctBeside(dir, name string) bool {
	b := t.branches[dir]
	if b == nil {
		return false
	}
	prefix := name[:min(len(name), site.LongPrefix)] + "_"
	for _, other := range append(b.filesWith(prefix), b.foldersWith(prefix)...) {
		if len(other) == len(prefix)+16 && isDistinct(other) {
			return true
		}
	}
	return false
}

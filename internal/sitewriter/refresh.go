package sitewriter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/packs"
	"github.com/slipway-mcp/slipway/internal/pagecache"
)

// Patcher is an [Input] that can tell what a change of it changes in its site.
type Patcher interface {
	Input
	// Records returns the folder of a page cache for records of sites, and what identifies the
	// input, its options and the program, or "" if there are none.
	Records() (dir, name string)
	// RecordedSite is Site. The function returns, after the site was written, what Patch needs to
	// know about it, or nil if it can never be patched.
	RecordedSite(ctx context.Context) (*Site, func() [][]byte, error)
	// Patch returns what has changed since a site was written, or nil if it must be built as a
	// whole. The error is that of ctx.
	Patch(ctx context.Context, old *Recorded) (*Patch, error)
}

// Patch is a change of a site: answers and other files with new contents. The site has all of
// them already, and neither more nor fewer of its files are about what has changed.
type Patch struct {
	// Site has the definitions of the site, as far as the names of files depend on them, and
	// Answers are the changed ones.
	Site    *Site
	Answers []*Answer
	// Parts replace those of [Recorded], and Stored what it has stored.
	Parts  [][]byte
	Stored map[pagecache.Key][]byte
}

// Recorded is what is known about a site that was written.
type Recorded struct {
	// Parts are those of the last patch, or of [Patcher.RecordedSite].
	Parts [][]byte
	// Read returns a file of the site.
	Read func(path string) ([]byte, error)
	// Stored returns what an earlier patch stored.
	Stored func(key pagecache.Key) ([]byte, bool)
}

// recordParts is how many parts of the entry of a record are those of the writer.
const recordParts = 1

// tick is longer than the clock of a file system stands still.
const tick = 20 * time.Millisecond

// patchable is the site in an output, with the record of it.
type patchable interface {
	// load returns the record, or nil if there is none, or the site is not as it was written.
	load() (*written, [][]byte)
	// stored returns what an earlier patch stored.
	stored(key pagecache.Key) ([]byte, bool)
	// read returns a file of the site.
	read(path string) ([]byte, error)
	// commit writes the changed files, at least one.
	commit(ctx context.Context, m *mender) error
	// store stores the record of the site as it is now. fresh reports which files were just
	// written, and is nil if none was. Without a record, the next build is a whole one.
	store(n *written, fresh func(i int) bool, parts [][]byte, stored map[pagecache.Key][]byte)
	close()
}

// Refresh brings the site of an input in a folder or a [Memory] up to date, like its Site method and
// [Write], with the same result, which is nil if the input cannot be read. If in is a [Patcher] that
// has changed little since Refresh wrote the site, and the output has not changed at all, it writes
// only what changes, without reading the rest.
func Refresh(ctx context.Context, in Input, out Output, opts *Options) (*Result, error) {
	o := opts.withDefaults()
	p, ok := in.(Patcher)
	if !ok || !o.recordable() {
		return build(ctx, in, out, opts)
	}
	old := openPatchable(p, out, o)
	if old == nil {
		return build(ctx, in, out, opts)
	}
	defer old.close()
	if result, err := patch(ctx, p, old, out, o); result != nil || err != nil {
		return result, err
	}
	site, recorded, err := p.RecordedSite(ctx)
	if err != nil {
		return nil, err
	}
	w, err := write(ctx, site, out, opts, []fsutil.Stamp{})
	if err == nil {
		keep(old, w, recorded())
	}
	return w.result, err
}

// build builds a site as a whole.
func build(ctx context.Context, in Input, out Output, opts *Options) (*Result, error) {
	site, err := in.Site(ctx)
	if err != nil {
		return nil, err
	}
	return Write(ctx, site, out, opts)
}

// recordable reports whether a site with these options can be patched.
func (o *Options) recordable() bool {
	return !o.DryRun && !o.OmitUnanswered && !o.Adopt && o.SiteRoot == "" && len(o.Precompress) == 0 &&
		o.Record == nil
}

// openPatchable returns the site of an input in an output, or nil if it cannot have a record.
func openPatchable(p Patcher, out Output, o *Options) patchable {
	dir, name := p.Records()
	if dir == "" {
		return nil
	}
	name += fmt.Sprintf("\n%t %q %t %t %q %q %t %d", o.NoIndex, o.Collisions, o.NoAliases, o.Compact, o.Layout, o.Host,
		o.Lenient, o.MaxAnswerBytes)
	switch out := out.(type) {
	case *Memory:
		return &patchedMemory{out, name, o}
	case *directory:
		abs, err := filepath.Abs(out.path)
		if err != nil || o.NoIndex {
			return nil
		}
		cache, err := pagecache.Open(dir, fmt.Sprintf("%s\n%q", name, abs), nil)
		if err != nil {
			return nil
		}
		return &records{cache: cache, dir: out}
	}
	return nil
}

// records is a site in a folder, whose record is in a part of a page cache.
type records struct {
	cache *pagecache.Cache
	key   pagecache.Key
	dir   *directory
	root  *os.Root // the folder, once it was loaded
}

func (r *records) close() {
	r.cache.Close()
	if r.root != nil {
		r.root.Close()
	}
}

func (r *records) read(path string) ([]byte, error) { return r.root.ReadFile(filepath.FromSlash(path)) }

// written is what a record says about the files of a site.
type written struct {
	// answers is the number of answers, and findings are those that do not depend on the sizes of
	// files.
	answers  int
	findings []check.Finding
	// files are those of the site, then those below .staticmcp.
	files []writtenFile
	site  int // how many of them are of the site
	// packed are the answers in packs, sorted by number, in packs with these starts.
	packed []packs.Item
	table  packs.Table
}

// writtenFile is a file of a site that was written.
type writtenFile struct {
	path  string
	stamp fsutil.Stamp
}

// keep stores the record of a site that was written.
func keep(site patchable, w *writer, parts [][]byte) {
	if parts == nil || w.merges || w.result.Report.Omitted() > 0 {
		return
	}
	now := &written{
		answers:  w.result.Answers,
		findings: w.before,
		site:     len(w.files),
		table:    w.table,
		packed:   w.items,
	}
	for _, list := range [][]file{w.files, w.inner} {
		for i := range list {
			stamp := fsutil.Stamp{Size: list[i].size}
			if n := len(now.files); n < len(w.stamps) {
				stamp = w.stamps[n]
			}
			now.files = append(now.files, writtenFile{path: list[i].path, stamp: stamp})
		}
	}
	site.store(now, func(int) bool { return true }, parts, nil)
}

// settled reports whether files still have the stamps that they were written with, and whether
// these tell any later change.
func (n *written) settled(dir string, wanted func(i int) bool) bool {
	time.Sleep(tick)
	last := time.Now().Add(-tick / 2).UnixNano()
	coarse := true
	for i := range n.files {
		if !wanted(i) {
			continue
		}
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(n.files[i].path)))
		if err != nil || !info.Mode().IsRegular() || fsutil.StampOf(info) != n.files[i].stamp {
			return false
		}
		coarse = coarse && n.files[i].stamp.Time%int64(time.Second) == 0
		if n.files[i].stamp.Time > last {
			return false
		}
	}
	return !coarse
}

// unchanged reports whether the folder has the files as they were written. A journal means that
// a write was interrupted.
func (n *written) unchanged(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(journalName))); !isAbsent(err) {
		return false
	}
	for i := range n.files {
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(n.files[i].path)))
		if err != nil || !info.Mode().IsRegular() || fsutil.StampOf(info) != n.files[i].stamp {
			return false
		}
	}
	return true
}

func (r *records) store(n *written, fresh func(i int) bool, parts [][]byte, stored map[pagecache.Key][]byte) {
	if fresh != nil && !n.settled(r.dir.path, fresh) {
		return
	}
	data, err := n.encode()
	if err != nil {
		return
	}
	for key, value := range stored {
		if _, ok := r.cache.Get(key); ok {
			continue
		}
		if _, err := r.cache.Put(key, value); err != nil {
			return
		}
	}
	if _, err := r.cache.Put(r.key, append([][]byte{data}, parts...)...); err == nil {
		_ = r.cache.Commit() // without it, the next build is a whole one
	}
}

func (r *records) load() (*written, [][]byte) {
	e, ok := r.cache.Get(r.key)
	if !ok || e.Parts() <= recordParts {
		return nil, nil
	}
	parts := make([][]byte, e.Parts())
	for i := range parts {
		var err error
		if parts[i], err = e.Part(i); err != nil {
			return nil, nil
		}
	}
	n := &written{}
	if n.decode(parts[0]) != nil {
		return nil, nil
	}
	r.cache.Release(r.key)
	if !n.unchanged(r.dir.path) {
		return nil, nil
	}
	var err error
	if r.root, err = os.OpenRoot(r.dir.path); err != nil {
		return nil, nil
	}
	return n, parts[recordParts:]
}

func (r *records) stored(key pagecache.Key) ([]byte, bool) {
	e, ok := r.cache.Get(key)
	if !ok {
		return nil, false
	}
	data, err := e.Part(0)
	return data, err == nil
}

// patch patches the site, or returns nil if it must be written as a whole.
func patch(ctx context.Context, p Patcher, site patchable, out Output, o *Options) (*Result, error) {
	n, parts := site.load()
	if n == nil {
		return nil, ctx.Err()
	}
	change, err := p.Patch(ctx, &Recorded{Parts: parts, Read: site.read, Stored: site.stored})
	if change == nil || err != nil {
		return nil, err
	}
	m := newMender(n, change, o)
	m.w.spool.most = mostInMemory(out)
	defer m.w.spool.close()
	err = m.prepare(site.read)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, nil // a whole build says why
	}
	var fresh func(int) bool
	if len(m.written) > 0 {
		switch err := site.commit(ctx, m); {
		case errors.Is(err, errAnother):
			return nil, nil
		case err != nil:
			return m.w.result, err
		}
		fresh = func(i int) bool { return m.written[n.files[i].path] }
	}
	o.Progress(Progress{
		Stage: "done",
		Done:  m.w.result.Files,
		Total: m.w.result.Files,
		Bytes: m.w.result.Bytes,
	})
	if fresh != nil || !slices.EqualFunc(parts, change.Parts, bytes.Equal) {
		site.store(n, fresh, change.Parts, change.Stored)
	}
	return m.w.result, nil
}

// errAnother means that a patch does not fit the site.
var errAnother = errors.New("the site is not the one that the record describes")

// storedFinding is a finding with its whole rule.
type storedFinding struct {
	Rule      plainRule
	Severity  int
	File      string
	Line      int
	Column    int
	EndColumn int
	Pointer   string
	Message   string
	Hint      string
}

// plainRule is a rule that encodes with all its members.
type plainRule struct {
	ID, Title, Hint string
	Severity        int
	Fixable         bool
}

// storedRecord is the form of written that is stored.
type storedRecord struct {
	Answers  int
	Site     int
	Findings []storedFinding
	Table    packs.Table
	Files    int
	Packed   int
}

// encode returns what decode reads.
func (n *written) encode() ([]byte, error) {
	head := storedRecord{Answers: n.answers, Site: n.site, Table: n.table, Files: len(n.files), Packed: len(n.packed)}
	for _, f := range n.findings {
		r := f.Rule
		rule := plainRule{r.ID, r.Title, r.Hint, int(r.Severity), r.Fixable}
		head.Findings = append(head.Findings, storedFinding{rule, int(f.Severity), f.File, f.Line, f.Column, f.EndColumn,
			f.Pointer, f.Message, f.Hint})
	}
	text, err := json.Marshal(&head)
	if err != nil {
		return nil, err
	}
	const numbers = 3*8 + 4 // of a file, in most cases
	size := len(text) + len(n.packed)*2*8
	for i := range n.files {
		size += len(n.files[i].path) + numbers
	}
	out := appendBlock(make([]byte, 0, size), text)
	for i := range n.files {
		f := &n.files[i]
		out = appendBlock(out, []byte(f.path))
		out = appendNumbers(out, uint64(f.stamp.Size), uint64(f.stamp.Time), f.stamp.Number)
	}
	for _, item := range n.packed {
		out = appendNumbers(out, item.Key, uint64(item.Size))
	}
	return out, nil
}

// decode decodes a record.
func (n *written) decode(data []byte) error {
	text, data, ok := cutBlock(data)
	var head storedRecord
	if !ok || json.Unmarshal(text, &head) != nil || head.Files < 0 || head.Packed < 0 ||
		head.Files > len(data) || head.Packed > len(data) || head.Site > head.Files || head.Site < 0 {
		return errAnother
	}
	n.answers = head.Answers
	n.site = head.Site
	n.table = head.Table
	for _, f := range head.Findings {
		r := f.Rule
		rule := check.Rule{ID: r.ID, Severity: check.Severity(r.Severity), Title: r.Title, Hint: r.Hint, Fixable: r.Fixable}
		n.findings = append(n.findings, check.Finding{
			Rule:      rule,
			Severity:  check.Severity(f.Severity),
			File:      f.File,
			Line:      f.Line,
			Column:    f.Column,
			EndColumn: f.EndColumn,
			Pointer:   f.Pointer,
			Message:   f.Message,
			Hint:      f.Hint,
		})
	}
	n.files = make([]writtenFile, head.Files)
	for i := range n.files {
		var path []byte
		if path, data, ok = cutBlock(data); !ok {
			return errAnother
		}
		n.files[i].path = string(path)
		if !fs.ValidPath(n.files[i].path) {
			return errAnother
		}
		var numbers [3]uint64
		if data, ok = cutNumbers(data, numbers[:]); !ok {
			return errAnother
		}
		n.files[i].stamp = fsutil.Stamp{Size: int64(numbers[0]), Time: int64(numbers[1]), Number: numbers[2]}
	}
	n.packed = make([]packs.Item, head.Packed)
	for i := range n.packed {
		var numbers [2]uint64
		if data, ok = cutNumbers(data, numbers[:]); !ok {
			return errAnother
		}
		n.packed[i] = packs.Item{Key: numbers[0], Size: int64(numbers[1])}
	}
	return nil
}

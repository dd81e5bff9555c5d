// Package pagecache keeps what was computed from files between two builds, such as parsed
// pages. [Open] opens what earlier builds of one source left, [Cache.Get] finds an entry by the
// hash of all that it depends on, [Cache.Put] adds one, and [Cache.Commit] stores the added ones
// and removes those that the build did not use.
//
// The cache is a folder with a marker; nothing else is ever deleted. Each source has a folder
// in it, with segments that are never modified: each is written under a temporary name and
// renamed. Processes that use a cache at the same time thus cannot disturb each other. A
// segment that is damaged, or of another format, is ignored.
package pagecache

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/order"
)

// Key identifies an entry: a hash of everything that its contents depend on.
type Key [sha256.Size]byte

// Options configure a cache. The zero value and nil are the defaults.
type Options struct {
	// MaxBytes bounds the size of the whole folder; the sources that were not used for the
	// longest time are removed first. A source that is larger is not stored. Default: 1 GiB.
	MaxBytes int64
	// MaxAge is how long a source is kept that is not built. Default: 30 days.
	MaxAge time.Duration
	// Unchecked opens segments without verifying their checksum, which reads them: what is read
	// from an entry must be verified then.
	Unchecked bool
}

const (
	markerName = "CACHEDIR.TAG"
	// marker is the file that marks the folder as a cache, for backups too.
	marker = "Signature: 8a477f597d28d172789f06886806bc55\n# Parsed pages, kept by slipway between builds.\n"

	magic      = "slipway pages 1\n"
	extension  = ".pages"
	temporary  = ".partial"
	partialAge = 24 * time.Hour // after which a partial segment is not written any more

	maxEntries = 4_000_000 // of a segment
	// maxSegments is how many segments a source may have before they are merged.
	maxSegments = 8
)

// ErrForeign is the error for a folder that is not a cache and not empty.
var ErrForeign = errors.New("the folder is not empty, and is not a page cache")

// Prepare creates the folder of a cache and marks it, unless it is one already. It returns
// ErrForeign for a folder with other contents.
func Prepare(dir string) error {
	if isMarked(dir) {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, markerName)
	if len(list) > 0 && !isMarked(dir) { // another process may have marked it
		text, err := os.ReadFile(name)
		if err != nil || len(list) > 1 || !strings.HasPrefix(marker, string(text)) {
			return fmt.Errorf("%s: %w", dir, ErrForeign)
		}
	}
	// The marker is written over, so that no other process ever sees it shorter than it was.
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(marker)
	return cmp.Or(err, file.Close())
}

// isMarked reports whether a folder is a cache.
func isMarked(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, markerName))
	return err == nil && string(text) == marker
}

// Cache is the part of a cache for one source. It is for one build and one goroutine at a time,
// except for [Entry.Part].
type Cache struct {
	root, dir string
	opts      Options
	segments  []*segment
	entries   map[Key]*Entry
	added     *segment // nil until something is added
	out       *bufio.Writer
	crc       uint32
	size      int64
	order     []Key // of added
	failed    error // of writing
	// generation is that of the newest segment, with which its name begins.
	generation uint64
}

// Entry is what is stored for a key.
type Entry struct {
	in    *segment
	at    int64
	sizes []uint32
	used  bool
}

// segment is a file with entries.
type segment struct {
	name string
	file *os.File
	size int64
	live int64
	keys []Key
}

// Open opens the entries of a source in the cache dir. name identifies the source and what
// reads it: its folder, the options, the version of the program. Problems of earlier builds are
// no error; their entries are missing.
func Open(dir, name string, opts *Options) (*Cache, error) {
	c := &Cache{root: dir, entries: make(map[Key]*Entry)}
	if opts != nil {
		c.opts = *opts
	}
	c.opts.MaxBytes = cmp.Or(c.opts.MaxBytes, 1<<30)
	c.opts.MaxAge = cmp.Or(c.opts.MaxAge, 30*24*time.Hour)
	if err := Prepare(dir); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(name))
	c.dir = filepath.Join(dir, hex.EncodeToString(sum[:16]))
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	list, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, err
	}
	// An entry that was added again is that of the newest segment.
	slices.SortStableFunc(list, func(a, b os.DirEntry) int {
		return cmp.Compare(generationOf(a.Name()), generationOf(b.Name()))
	})
	for _, e := range list {
		if strings.HasSuffix(e.Name(), extension) && e.Type().IsRegular() {
			c.read(filepath.Join(c.dir, e.Name()))
			c.generation = max(c.generation, generationOf(e.Name()))
		}
	}
	return c, nil
}

// segmentName returns a name for a segment, which is after those of earlier generations.
func segmentName(generation uint64) string {
	return fmt.Sprintf("%016x-%s%s", generation, rand.Text(), extension)
}

// generationOf returns the generation of the segment with a name, or 0.
func generationOf(name string) uint64 {
	first, _, _ := strings.Cut(name, "-")
	n, err := strconv.ParseUint(first, 16, 64)
	if err != nil {
		return 0
	}
	return n
}

// The end of a segment: the offset of its directory, the checksum of everything before, and the
// magic text.
const trailerSize = 8 + 4 + int64(len(magic))

// read adds the entries of a segment. One that is damaged is ignored; it is removed by Commit
// like one whose entries are not used.
func (c *Cache) read(name string) {
	file, err := os.Open(name)
	if err != nil {
		return
	}
	s := &segment{name: name, file: file}
	c.segments = append(c.segments, s)
	directory, err := s.verify(&c.opts)
	if err != nil {
		return
	}
	end := s.size - trailerSize - int64(len(directory))
	found := make(map[Key]*Entry)
	for len(directory) > 0 {
		if len(directory) < len(Key{}) || len(found) == maxEntries {
			return
		}
		key := Key(directory)
		directory = directory[len(key):]
		var numbers [2]uint64
		for i := range numbers {
			value, n := binary.Uvarint(directory)
			if n <= 0 {
				return
			}
			numbers[i] = value
			directory = directory[n:]
		}
		e := &Entry{in: s, at: int64(numbers[0])}
		if numbers[1] > 16 || e.at < 0 || e.at > end {
			return
		}
		for range numbers[1] {
			size, n := binary.Uvarint(directory)
			if n <= 0 || size > uint64(end) {
				return
			}
			e.sizes = append(e.sizes, uint32(size))
			directory = directory[n:]
		}
		if e.at+e.size() > end {
			return
		}
		found[key] = e
		s.keys = append(s.keys, key)
	}
	for key, e := range found {
		c.entries[key] = e
	}
}

// verify reads the whole segment, compares its checksum unless o says otherwise, and returns its
// directory.
func (s *segment) verify(o *Options) ([]byte, error) {
	info, err := s.file.Stat()
	if err != nil {
		return nil, err
	}
	s.size = info.Size()
	if s.size < int64(len(magic))+trailerSize || s.size > o.MaxBytes {
		return nil, errors.New("wrong size")
	}
	trailer := make([]byte, trailerSize)
	if _, err := s.file.ReadAt(trailer, s.size-trailerSize); err != nil {
		return nil, err
	}
	at := int64(binary.BigEndian.Uint64(trailer))
	if string(trailer[12:]) != magic || at < int64(len(magic)) || at > s.size-trailerSize {
		return nil, errors.New("wrong end")
	}
	if !o.Unchecked {
		if err := s.check(binary.BigEndian.Uint32(trailer[8:])); err != nil {
			return nil, err
		}
	}
	directory := make([]byte, s.size-trailerSize-at)
	_, err = s.file.ReadAt(directory, at)
	return directory, err
}

// check compares the checksum of the whole segment.
func (s *segment) check(want uint32) error {
	sum := crc32.New(castagnoli())
	body := io.NewSectionReader(s.file, 0, s.size-trailerSize+8)
	if _, err := io.CopyBuffer(struct{ io.Writer }{sum}, struct{ io.Reader }{body}, make([]byte, 1<<18)); err != nil {
		return err
	}
	if sum.Sum32() != want {
		return errors.New("wrong checksum")
	}
	return nil
}

// Sum returns the checksum of data that was read from a cache that is not checked.
func Sum(data []byte) uint32 { return crc32.Checksum(data, castagnoli()) }

// castagnoli returns the table of the checksums. Making it takes 0.2 ms, which programs without a cache do not need.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// size returns the number of bytes of an entry.
func (e *Entry) size() int64 {
	var sum int64
	for _, n := range e.sizes {
		sum += int64(n)
	}
	return sum
}

// Parts returns the number of parts.
func (e *Entry) Parts() int { return len(e.sizes) }

// Size returns the size of a part.
func (e *Entry) Size(i int) int { return int(e.sizes[i]) }

// Part reads a part of an entry. It fails only for errors of the file system. It is safe for
// concurrent use, but not while entries are added.
func (e *Entry) Part(i int) ([]byte, error) { return e.AppendPart(nil, i) }

// AppendPart is like [Entry.Part], and appends the part.
func (e *Entry) AppendPart(data []byte, i int) ([]byte, error) {
	at := e.at
	for _, n := range e.sizes[:i] {
		at += int64(n)
	}
	start, size := len(data), int(e.sizes[i])
	data = slices.Grow(data, size)[:start+size]
	if _, err := e.in.file.ReadAt(data[start:], at); err != nil {
		return nil, fmt.Errorf("read the page cache: %w", err)
	}
	return data, nil
}

// Get returns the entry for a key. It is used by this build then, and kept.
func (c *Cache) Get(key Key) (*Entry, bool) {
	e, ok := c.entries[key]
	if ok && !e.used {
		e.used = true
		e.in.live += e.size()
	}
	return e, ok
}

// Release undoes Get: the next Commit need not keep the entry. It stays readable until then.
func (c *Cache) Release(key Key) {
	if e := c.entries[key]; e != nil && e.used {
		e.used = false
		e.in.live -= e.size()
	}
}

// Put adds an entry. Its parts cannot be read before the next call of Flush or Commit.
func (c *Cache) Put(key Key, parts ...[]byte) (*Entry, error) {
	if err := c.begin(); err != nil {
		return nil, err
	}
	e := &Entry{in: c.added, at: c.size, used: true}
	for _, part := range parts {
		e.sizes = append(e.sizes, uint32(len(part)))
		c.write(part)
	}
	c.entries[key] = e
	c.order = append(c.order, key)
	return e, c.failed
}

// begin starts a segment, unless that was done.
func (c *Cache) begin() error {
	if c.added != nil {
		return c.failed
	}
	file, err := os.CreateTemp(c.dir, "*"+temporary)
	if err != nil {
		return err
	}
	c.added = &segment{name: file.Name(), file: file}
	c.out = bufio.NewWriterSize(file, 1<<18)
	c.crc = 0
	c.size = 0
	c.order = nil
	c.write([]byte(magic))
	return c.failed
}

// write appends to the segment that is being written.
func (c *Cache) write(data []byte) {
	if c.failed != nil {
		return
	}
	c.crc = crc32.Update(c.crc, castagnoli(), data)
	c.size += int64(len(data))
	_, c.failed = c.out.Write(data)
}

// Flush makes the parts of added entries readable.
func (c *Cache) Flush() error {
	if c.added == nil || c.failed != nil {
		return c.failed
	}
	c.failed = c.out.Flush()
	return c.failed
}

// Commit stores the added entries, and removes segments whose entries this build did not use,
// sources that were not built for a long time, and those beyond the size limit. The entries of
// the build stay readable, and others can be added after that.
func (c *Cache) Commit() error {
	if err := c.merge(); err != nil {
		return err
	}
	if c.added != nil {
		if err := c.finish(); err != nil {
			return err
		}
	}
	kept := c.segments[:0]
	for _, s := range c.segments {
		if s.live > 0 {
			kept = append(kept, s)
			continue
		}
		s.file.Close()
		_ = os.Remove(s.name) // another process may have it open, or have removed it
	}
	c.segments = kept
	now := time.Now()
	_ = os.Chtimes(c.dir, now, now) // the time of the last use
	c.evict(now)
	return nil
}

// merge copies entries to the segment that is being written: those of small segments, if there
// are many, and those of segments that mostly have unused ones.
func (c *Cache) merge() error {
	var largest int64
	for _, s := range c.segments {
		largest = max(largest, s.live)
	}
	for _, s := range c.segments {
		small := len(c.segments) >= maxSegments && s.live < largest
		if s.live == 0 || !small && s.live >= s.size/2 {
			continue
		}
		for _, key := range s.keys {
			e := c.entries[key]
			if e.in != s || !e.used {
				continue
			}
			var parts [][]byte
			for i := range e.sizes {
				part, err := e.Part(i)
				if err != nil {
					return err
				}
				parts = append(parts, part)
			}
			moved, err := c.Put(key, parts...)
			if err != nil {
				return err
			}
			// Those who have the entry read it in its new place after this.
			defer func() { *e = *moved }()
		}
		s.live = 0
	}
	return nil
}

// finish completes the segment that is being written.
func (c *Cache) finish() error {
	s := c.added
	c.added = nil
	directory := c.size
	var text []byte
	for _, key := range c.order {
		e := c.entries[key]
		text = append(text, key[:]...)
		text = binary.AppendUvarint(text, uint64(e.at))
		text = binary.AppendUvarint(text, uint64(len(e.sizes)))
		for _, n := range e.sizes {
			text = binary.AppendUvarint(text, uint64(n))
		}
		s.live += e.size()
	}
	c.write(text)
	c.write(binary.BigEndian.AppendUint64(nil, uint64(directory)))
	end := append(binary.BigEndian.AppendUint32(nil, c.crc), magic...)
	c.write(end)
	s.size = c.size
	s.keys = c.order
	partial := s.name
	err := cmp.Or(c.failed, c.out.Flush(), s.file.Close())
	if err == nil {
		// Once it has its name, another process, which has no use for it, may remove it.
		s.file, err = fsutil.OpenShared(partial, os.O_RDONLY, 0)
	}
	if err == nil {
		c.generation++
		s.name = filepath.Join(c.dir, segmentName(c.generation))
		err = os.Rename(partial, s.name)
	}
	if err != nil {
		s.file.Close() // nothing if it is not open
		_ = os.Remove(partial)
		return err
	}
	c.segments = append(c.segments, s)
	if c.size > c.opts.MaxBytes {
		_ = os.Remove(s.name) // it stays readable for this build
	}
	return nil
}

// Close ends the use of the cache. What was added since the last Commit is discarded.
func (c *Cache) Close() {
	if c.added != nil {
		c.added.file.Close()
		_ = os.Remove(c.added.name)
		c.added = nil
	}
	for _, s := range c.segments {
		s.file.Close()
	}
}

// source is the folder of a source, for evict.
type source struct {
	dir  string
	used time.Time
	size int64
}

// evict removes old sources, and those beyond the size limit. Only folders with the names of
// sources are removed, and of them only segments.
func (c *Cache) evict(now time.Time) {
	if !isMarked(c.root) {
		return
	}
	list, err := os.ReadDir(c.root)
	if err != nil {
		return
	}
	var sources []source
	var total int64
	for _, e := range list {
		if raw, err := hex.DecodeString(e.Name()); err != nil || len(raw) != 16 || !e.IsDir() {
			continue
		}
		s := source{dir: filepath.Join(c.root, e.Name())}
		if info, err := e.Info(); err == nil {
			s.used = info.ModTime()
		}
		s.size = c.sweep(s.dir, now)
		total += s.size
		if s.dir != c.dir {
			sources = append(sources, s)
		}
	}
	order.By(sources, func(a, b source) int { return a.used.Compare(b.used) })
	for _, s := range sources {
		if total <= c.opts.MaxBytes && now.Sub(s.used) <= c.opts.MaxAge {
			continue
		}
		total -= s.size
		c.removeSource(s.dir)
	}
}

// sweep removes abandoned partial segments, and returns the size of the others.
func (c *Cache) sweep(dir string, now time.Time) (size int64) {
	list, _ := os.ReadDir(dir) // one that is removed meanwhile has no size
	for _, e := range list {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if strings.HasSuffix(e.Name(), temporary) && now.Sub(info.ModTime()) > partialAge {
			_ = os.Remove(filepath.Join(dir, e.Name()))
			continue
		}
		size += info.Size()
	}
	return size
}

// removeSource removes the segments of a source, and its folder if nothing else is in it.
func (c *Cache) removeSource(dir string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if strings.HasSuffix(e.Name(), extension) && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	_ = os.Remove(dir)
}

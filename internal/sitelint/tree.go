package sitelint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/internal/site"
	"github.com/slipway-mcp/slipway/staticmcp"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/packs"
)

// tree is the names in the folders of a site, read once.
type tree struct {
	branches map[string]*branch // by path; "" is the root
	left     int                // how many more names are allowed
	// hidden is set if a name begins with "_".
	hidden bool
}

// branch is a folder.
type branch struct {
	// dir is the path from the root of the site, without a slash at the end.
	dir    string
	dirs   []string // sorted
	leaves []leaf   // sorted by name
	// encoded maps encodings to names; built on first use.
	encoded map[string][]string
}

// sameName returns the first other name in the folder that has the same encoding as name,
// or "". Names with and without extension never match.
func (b *branch) sameName(name string) string {
	if b.encoded == nil {
		b.encoded = make(map[string][]string)
		note := func(name string) {
			key := encodedFile(name)
			b.encoded[key] = append(b.encoded[key], name)
		}
		for _, d := range b.dirs {
			note(d)
		}
		for _, l := range b.leaves {
			note(l.name)
		}
	}
	for _, other := range b.encoded[encodedFile(name)] {
		if other != name {
			return other
		}
	}
	return ""
}

// filesWith returns the files whose names begin with prefix, without extension.
func (b *branch) filesWith(prefix string) []string {
	first, _ := slices.BinarySearchFunc(b.leaves, prefix,
		func(l leaf, name string) int { return strings.Compare(l.name, name) })
	var names []string
	for _, l := range b.leaves[first:] {
		if !strings.HasPrefix(l.name, prefix) {
			break
		}
		if stem, isJSON := strings.CutSuffix(l.name, site.Extension); isJSON {
			names = append(names, stem)
		}
	}
	return names
}

// foldersWith returns the folders whose names begin with prefix.
func (b *branch) foldersWith(prefix string) []string {
	return site.StartingWith(b.dirs, prefix)
}

// encodedFile encodes the name of a file or a folder.
func encodedFile(name string) string {
	if stem, ok := strings.CutSuffix(name, site.Extension); ok {
		return site.EncodeName(stem) + site.Extension
	}
	return site.EncodeName(name)
}

// leaf is a file.
type leaf struct {
	// name is the file name, or for an answer in a pack the last part of its path.
	name string
	mode fs.FileMode // the type bits
	// claimed reports whether a manifest entry leads to it; resource is the number of that
	// resource, counted from 1.
	claimed  bool
	resource int
	// pack is the pack that contains the answer, from start to end, or "".
	pack       string
	start, end int
}

// plant reads the names in the folders of the site.
func (c *checker) plant(ctx context.Context, f *site.Folder) (*tree, error) {
	t := &tree{
		branches: make(map[string]*branch),
		left:     c.opts.MaxEntries,
	}
	entries, err := fs.ReadDir(f.FS, ".")
	if err != nil {
		return nil, &staticmcp.SiteError{
			Op:  "check site",
			Err: err,
		}
	}
	root := &branch{}
	t.branches[""] = root
	for _, e := range entries {
		switch {
		case !e.IsDir() && !site.IsSitePart(e.Name()):
			root.leaves = append(root.leaves, leaf{
				name: e.Name(),
				mode: e.Type(),
			})
		case site.IsSitePart(e.Name()):
			root.dirs = append(root.dirs, e.Name())
			if err := c.grow(ctx, f, t, e.Name(), 1); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// largeFolder is the number of entries from which folders are slow on some systems.
const largeFolder = 10_000

// maxTreeDepth bounds how deep folders are read, because links can form cycles.
const maxTreeDepth = 64

// grow reads the folder dir and its subfolders.
func (c *checker) grow(ctx context.Context, f *site.Folder, t *tree, dir string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b := &branch{dir: dir}
	t.branches[dir] = b
	err := f.Entries(dir, func(e fs.DirEntry) bool {
		t.left--
		c.plantEntry(f, t, b, e)
		return t.left >= 0
	})
	switch {
	case t.left < 0:
		return &staticmcp.SiteError{
			Op:  "check site",
			Err: fmt.Errorf("more than %d files", c.opts.MaxEntries),
		}
	case errors.Is(err, site.ErrMissing):
		c.in(dir).Add(ruleSpecialFile, "", "", "it is not a folder")
		return nil
	case err != nil:
		c.in(dir).Add(ruleUnreadable, "", "",
			"the folder cannot be read: %s", fsutil.Reason(err))
		return nil
	}
	if n := len(b.dirs) + len(b.leaves); n > largeFolder {
		c.in(dir).Add(ruleLargeFolder, "",
			"the standard has one folder for a tool, so it cannot be split; git and some hosts are slow with it",
			"the folder has %d entries", n)
	}
	slices.Sort(b.dirs)
	order.By(b.leaves, func(a, b leaf) int {
		return strings.Compare(a.name, b.name)
	})
	c.sameButForCase(b)
	if depth == maxTreeDepth && len(b.dirs) > 0 {
		c.in(dir).Add(ruleSpecialFile, "", "find the symbolic link that points back to a parent folder",
			"the folders are nested more than %d deep", maxTreeDepth)
		return nil
	}
	for _, name := range b.dirs {
		err := c.grow(ctx, f, t, dir+"/"+name, depth+1)
		if err != nil {
			return err
		}
	}
	return nil
}

// plantPacks adds the answers in packs, as if each were a file.
func (c *checker) plantPacks(ctx context.Context, f *site.Folder) error {
	if c.site == nil || c.site.packs == nil {
		return nil
	}
	for i, start := range c.site.packs {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := packs.File(start)
		loaded, err := f.Load(ctx, name, nil, c.opts.MaxFileBytes)
		if err != nil {
			c.in(name).Add(rulePack, "", "run slipway site build again, and publish all of its output",
				"the pack cannot be read: %s", fsutil.Reason(err))
			continue
		}
		err = packs.Each(loaded.Data, func(path string, start, end int) bool {
			key, ok := packs.Key(path)
			switch {
			case !ok:
				c.in(name).Add(rulePack, "", "", "%q is not the path of an answer that a pack can contain", path)
				return true
			case c.site.packs.Pack(key) != i:
				c.in(name).Add(rulePack, "", "build the site again: no reader looks for it here",
					"the answer %s belongs to the pack %s", path, packs.File(c.site.packs[c.site.packs.Pack(key)]))
			}
			c.tree.left--
			c.tree.plantPacked(leaf{
				name:  path,
				pack:  name,
				start: start,
				end:   end,
			})
			return c.tree.left >= 0
		})
		if err != nil {
			c.in(name).Add(rulePack, "", "build the site again", "%s", err.Error())
		}
		if c.tree.left < 0 {
			return &staticmcp.SiteError{
				Op:  "check site",
				Err: fmt.Errorf("more than %d files", c.opts.MaxEntries),
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(c.tree.branches)) {
		b := c.tree.branches[dir]
		slices.Sort(b.dirs)
		// Of an answer that is also a file, readers use the one in the pack.
		order.StableBy(b.leaves, func(a, b leaf) int {
			return cmp.Or(strings.Compare(a.name, b.name), -strings.Compare(a.pack, b.pack))
		})
		b.leaves = slices.CompactFunc(b.leaves, func(a, b leaf) bool {
			if a.name == b.name {
				c.in(cmp.Or(a.pack, b.pack)).Add(rulePack, "", "build the site again",
					"the answer %s/%s exists twice", dir, a.name)
			}
			return a.name == b.name
		})
	}
	return nil
}

// plantPacked adds an answer, whose name is its path, without sorting the branch.
func (t *tree) plantPacked(l leaf) {
	dir, name := path.Split(l.name)
	l.name = name
	b := t.branch(strings.TrimSuffix(dir, "/"))
	b.leaves = append(b.leaves, l)
}

// branch returns the branch of a folder, which is added if it is not there.
func (t *tree) branch(dir string) *branch {
	b := t.branches[dir]
	if b == nil {
		b = &branch{dir: dir}
		t.branches[dir] = b
		if dir != "" {
			parent, name := path.Split(dir)
			up := t.branch(strings.TrimSuffix(parent, "/"))
			up.dirs = append(up.dirs, name)
		}
	}
	return b
}

// plantEntry adds a name to a branch.
func (c *checker) plantEntry(f *site.Folder, t *tree, b *branch, e fs.DirEntry) {
	name := e.Name()
	mode := e.Type()
	t.hidden = t.hidden || strings.HasPrefix(name, "_")
	where := b.dir + "/" + name
	if mode&fs.ModeSymlink != 0 {
		info, err := fs.Stat(f.FS, where)
		if err != nil {
			c.in(where).Add(ruleSpecialFile, "", "put the file itself there",
				"a symbolic link that is broken or points outside the site")
			return
		}
		mode = info.Mode().Type()
	}
	switch {
	case mode.IsDir():
		b.dirs = append(b.dirs, name)
	case !mode.IsRegular():
		c.in(where).Add(ruleSpecialFile, "", "", "not a regular file")
	default:
		b.leaves = append(b.leaves, leaf{
			name: name,
			mode: e.Type(),
		})
	}
	c.portable(where, strings.TrimSuffix(name, site.Extension))
}

// portable reports names that some systems cannot store.
func (c *checker) portable(where, stem string) {
	device := strings.ToLower(stem)
	if before, _, dotted := strings.Cut(device, "."); dotted {
		device = before
	}
	numbered := len(device) == 4 &&
		(strings.HasPrefix(device, "com") || strings.HasPrefix(device, "lpt")) &&
		'1' <= device[3] &&
		device[3] <= '9'
	if numbered || slices.Contains([]string{"con", "prn", "aux", "nul"}, device) {
		c.in(where).Add(ruleWindowsName, "", "a zip can contain it, but a folder on Windows cannot",
			"Windows reserves the name %q for a device", device)
	}
}

// sameButForCase reports names that are identical on case-insensitive systems.
func (c *checker) sameButForCase(b *branch) {
	upper := func(name string) bool { return strings.ToLower(name) != name }
	if !slices.ContainsFunc(b.dirs, upper) && !slices.ContainsFunc(b.leaves, func(l leaf) bool {
		return upper(l.name)
	}) {
		return
	}
	first := make(map[string]string)
	see := func(name string) {
		lower := strings.ToLower(name)
		if other, twice := first[lower]; twice {
			c.in(b.dir+"/"+name).Add(ruleCase, "", "macOS and Windows keep one of the two",
				"the name differs from %q only in upper and lower case", other)
			return
		}
		first[lower] = name
	}
	for _, name := range b.dirs {
		see(name)
	}
	for _, l := range b.leaves {
		see(l.name)
	}
}

// find returns the file at a path, or nil.
func (t *tree) find(file string) *leaf {
	dir, name := path.Split(file)
	b := t.branches[strings.TrimSuffix(dir, "/")]
	if b == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(b.leaves, name,
		func(l leaf, name string) int { return strings.Compare(l.name, name) })
	if !ok {
		return nil
	}
	return &b.leaves[i]
}

// compressed reports whether a file is the compressed form of the answer next to it,
// which hosts send instead.
func (t *tree) compressed(file string) bool {
	for _, form := range []string{".gz", ".br"} {
		plain, ok := strings.CutSuffix(file, form)
		if ok && strings.HasSuffix(plain, site.Extension) {
			return t.find(plain) != nil
		}
	}
	return false
}

// hasAt reports whether a file or folder of that name exists depth folders below dir.
func (t *tree) hasAt(dir string, depth int, name string) bool {
	b := t.branches[dir]
	if b == nil {
		return false
	}
	if depth > 0 {
		return slices.ContainsFunc(b.dirs, func(below string) bool {
			return t.hasAt(dir+"/"+below, depth-1, name)
		})
	}
	return t.has(dir+"/"+name) || t.find(dir+"/"+name+site.Extension) != nil
}

// has reports whether the folder exists.
func (t *tree) has(dir string) bool { return t.branches[dir] != nil }

// longTwin returns the path of the only file that differs from the given one just in the
// hashes of its long names, or "".
func (t *tree) longTwin(file string) string {
	parts := strings.Split(strings.TrimSuffix(file, site.Extension), "/")
	for i, part := range parts {
		prefix, long := site.LongNamePrefix(part)
		if !long {
			continue
		}
		b := t.branches[strings.Join(parts[:i], "/")]
		if b == nil {
			return ""
		}
		candidates := b.foldersWith(prefix)
		if i == len(parts)-1 {
			candidates = b.filesWith(prefix)
		}
		var found []string
		for _, name := range candidates {
			if len(name) == site.MaxName {
				found = append(found, name)
			}
		}
		if len(found) != 1 {
			return ""
		}
		parts[i] = found[0]
	}
	twin := strings.Join(parts, "/") + site.Extension
	if twin != file && t.find(twin) != nil {
		return twin
	}
	return ""
}

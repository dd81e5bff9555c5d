package docs

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
)

// File is a single document.
type File struct {
	// name is the path of the document.
	name string
	opts Options
}

var _ sitewriter.Input = (*File)(nil)

// IsDocument reports whether name is that of a document: Markdown (.md, .mdx or .markdown),
// HTML (.html or .htm), a notebook (.ipynb), a Word document (.docx) or PDF.
func IsDocument(name string) bool {
	return isDocument(name) || isConverted(name) || isRendered(name)
}

// OneFile returns the document in the file called name, for which [IsDocument] is true. Files
// next to it are not read.
func OneFile(name string, opts *Options) (*File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", name)
	}
	f := &File{name: name}
	if opts != nil {
		f.opts = *opts
	}
	return f, nil
}

// Paths implements [sitewriter.Input].
func (f *File) Paths() []string { return []string{f.name} }

// Site implements [sitewriter.Input].
func (f *File) Site(ctx context.Context) (*sitewriter.Site, error) {
	dir, base := filepath.Split(f.name)
	root, err := os.OpenRoot(filepath.Clean(dir))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	set, err := Read(ctx, &oneFile{root.FS(), base},
		filepath.ToSlash(filepath.Clean(dir)), &f.opts)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.name, err)
	}
	if len(set.Pages) == 0 && len(set.Report.Findings()) > 0 {
		return nil, set.empty(f.name)
	}
	if len(set.Pages) == 0 {
		return nil, fmt.Errorf("%s has no text, or is marked as a draft", f.name)
	}
	set.place = strings.TrimSuffix(base, filepath.Ext(base))
	return set.Site(ctx, &f.opts)
}

// oneFile is a folder in which only one file is visible.
type oneFile struct {
	fs.FS
	name string
}

// Open implements fs.FS.
func (o *oneFile) Open(name string) (fs.File, error) {
	if name != "." && name != o.name {
		return nil, &fs.PathError{
			Op:   "open",
			Path: name,
			Err:  fs.ErrNotExist,
		}
	}
	return o.FS.Open(name)
}

// ReadDir implements fs.ReadDirFS.
func (o *oneFile) ReadDir(name string) ([]fs.DirEntry, error) {
	if name != "." {
		return nil, &fs.PathError{
			Op:   "readdir",
			Path: name,
			Err:  fs.ErrNotExist,
		}
	}
	info, err := fs.Stat(o.FS, o.name)
	if err != nil {
		return nil, err
	}
	return []fs.DirEntry{fs.FileInfoToDirEntry(info)}, nil
}

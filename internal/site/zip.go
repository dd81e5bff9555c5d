package site

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// OpenZipFile opens the zip file called name.
func OpenZipFile(name string, o *Options) (*Folder, error) {
	opened, err := fsutil.OpenRegular(name)
	if err != nil {
		return nil, err
	}
	f, err := zipFolder(opened, o)
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	base := filepath.Base(name)
	f.Title = strings.TrimSuffix(base, filepath.Ext(base))
	f.close = opened.Close
	return f, nil
}

func zipFolder(opened *os.File, o *Options) (*Folder, error) {
	info, err := opened.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	return ReadZip(opened, info.Size(), o)
}

// ReadZip returns the files of a zip as a store. If they are all in one folder, as in an
// archive made by packing a folder, that folder is the site.
func ReadZip(r io.ReaderAt, size int64, o *Options) (*Folder, error) {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return nil, err
	}
	if len(archive.File) > o.MaxEntries {
		return nil, fmt.Errorf("%d files are more than the limit of %d",
			len(archive.File), o.MaxEntries)
	}
	top, err := zipTop(archive.File)
	if err != nil {
		return nil, err
	}
	f := &Folder{
		FS:     archive,
		Title:  "site",
		Frozen: true,
	}
	if top != "" {
		if f.FS, err = fs.Sub(archive, top); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// zipTop checks the names in a zip and returns the folder that the site is in, or "" for
// the root of the archive.
func zipTop(files []*zip.File) (string, error) {
	tops := make(map[string]bool) // whether it is a folder
	for _, f := range files {
		name, err := zipName(f.Name)
		if err != nil {
			return "", err
		}
		first, _, inside := strings.Cut(name, "/")
		if name != "." && !isDebris(first) {
			tops[first] = tops[first] || inside || strings.HasSuffix(f.Name, "/")
		}
	}
	if len(tops) != 1 {
		return "", nil
	}
	for name, isDir := range tops {
		if isDir && !IsSitePart(name) {
			return name, nil
		}
	}
	return "", nil
}

// zipName returns the path of an entry. A name that points outside the archive rejects the
// whole archive: such a name is never a mistake.
func zipName(name string) (string, error) {
	slashed := strings.ReplaceAll(name, `\`, "/")
	clean := path.Clean(slashed)
	if !fs.ValidPath(clean) || strings.Contains("/"+slashed+"/", "/../") ||
		strings.Contains(name, "\x00") {
		return "", fmt.Errorf("the zip has a file with the name %.200q, which points outside it", name)
	}
	return clean, nil
}

// isDebris reports whether a top-level name is one that operating systems add to
// archives.
func isDebris(name string) bool {
	return name == "__MACOSX" || name == ".DS_Store" || name == "Thumbs.db" ||
		name == "desktop.ini"
}

// IsSitePart reports whether a top-level folder is a part of a site rather than a site.
func IsSitePart(name string) bool {
	switch name {
	case ResourcesDir, ToolsDir, PromptsDir, CompletionsDir:
		return true
	}
	return false
}

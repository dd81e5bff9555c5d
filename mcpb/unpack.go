package mcpb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// UnpackOptions are the options of [Unpack]. Nil and the zero value mean the defaults.
type UnpackOptions struct {
	// Limits restricts the content of the archive. Nil means [DefaultLimits].
	Limits *Limits
	// Progress is called after every file with the bytes written so far and the
	// bytes of all files. It may be nil.
	Progress func(done, all int64)
}

// UnpackReport is the result of [Unpack].
type UnpackReport struct {
	// Dir is the created folder.
	Dir string `json:"dir"`
	// Files is the number of files in it, Bytes their total size.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Executable are the executable files.
	Executable []string `json:"executable"`
}

// Unpack unpacks the packed bundle at name into the folder dir, which must be new or
// empty. A new folder appears completely or not at all; an empty one gets its content at the end, by
// renames. An empty dir means a new folder in the current one, named after the name and version of
// the bundle.
//
// The archive is first checked against every rule of [OpenArchive]; if it violates one,
// the error is an [*ArchiveError]. Files get mode 0755 or 0644 less the umask, regardless
// of the archive, and nothing is written outside the folder. Unpack does not verify a
// signature; use [Verify] for that. If the folder is not empty, the error matches
// [fs.ErrExist].
func Unpack(
	ctx context.Context,
	name, dir string,
	opts *UnpackOptions,
) (*UnpackReport, error) {
	o := valueOf(opts)
	a, err := OpenArchive(name, o.Limits)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if dir == "" {
		m, err := ReadManifest(a.FS())
		if err != nil {
			return nil, fmt.Errorf("the archive has no usable name, specify a folder: %w", err)
		}
		dir = strings.TrimSuffix(m.FileName(), ".mcpb")
	}
	report := &UnpackReport{
		Dir:        dir,
		Executable: []string{},
	}
	err = fsutil.CreateDir(dir, func(tmp string) error {
		return extract(ctx, a, tmp, nil, o.Progress, report)
	})
	if err != nil {
		return nil, err
	}
	return report, nil
}

// modeFunc returns the mode of the written file or folder at a path in the archive, where
// it has the given mode.
type modeFunc func(name string, mode fs.FileMode) fs.FileMode

// extract writes every file below the empty folder dir. mode returns the exact modes of
// everything except dir itself; nil means the modes of the archive less the umask.
func extract(ctx context.Context, a *Archive, dir string, mode modeFunc,
	progress func(done, all int64), report *UnpackReport) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	x := &extraction{
		fsys:   a.FS(),
		mode:   mode,
		folder: &lastFolder{root: root},
		buffer: make([]byte, 64<<10),
	}
	defer x.folder.close()
	for e := range a.Entries() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.Mode.IsDir() {
			if err := root.MkdirAll(e.Name, 0o755); err != nil {
				return err
			}
			continue
		}
		if err := x.write(&e); err != nil {
			return err
		}
		report.Files++
		report.Bytes += e.Size
		if e.Mode&0o100 != 0 {
			report.Executable = append(report.Executable, e.Name)
		}
		if progress != nil {
			progress(report.Bytes, a.Size())
		}
	}
	if mode == nil {
		return nil
	}
	x.folder.close()
	// Folders get their modes last, because some of them become read-only.
	return fs.WalkDir(x.fsys, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() || name == "." {
			return err
		}
		return root.Chmod(name, mode(name, fs.ModeDir).Perm())
	})
}

// extraction writes the files of an archive.
type extraction struct {
	fsys fs.FS
	mode modeFunc
	// folder is the last folder that was opened, and buffer is for copying.
	folder *lastFolder
	buffer []byte
}

// write writes a file, which must not exist. The size and checksum of its data are verified
// while it is read.
func (x *extraction) write(e *Entry) error {
	dir := path.Dir(e.Name)
	if dir != x.folder.name {
		if err := x.folder.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	folder, err := x.folder.open(dir)
	if err != nil {
		return err
	}
	in, err := x.fsys.Open(e.Name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := folder.OpenFile(path.Base(e.Name),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL, e.Mode.Perm())
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, in, x.buffer)
	if x.mode != nil {
		err = errors.Join(err, out.Chmod(x.mode(e.Name, e.Mode)))
	}
	return errors.Join(err, out.Close())
}

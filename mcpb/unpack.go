package mcpb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

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
// empty. The folder appears completely or not at all. An empty dir means a new folder in
// the current one, named after the name and version of the bundle.
//
// The archive is first checked against every rule of [OpenArchive]; if it violates one,
// the error is an [*ArchiveError]. Files get mode 0755 or 0644 less the umask, regardless
// of the archive, and nothing is written outside the folder. Unpack does not verify a
// signature; use [Verify] for that. If the folder is not empty, the error matches
// [fs.ErrExist].
func Unpack(ctx context.Context, name, dir string, opts *UnpackOptions) (*UnpackReport, error) {
	if opts == nil {
		opts = &UnpackOptions{}
	}
	a, err := OpenArchive(name, opts.Limits)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	return a.unpack(ctx, dir, opts)
}

func (a *Archive) unpack(ctx context.Context, dir string, opts *UnpackOptions) (*UnpackReport, error) {
	var err error
	if dir == "" {
		if dir, err = a.folderName(); err != nil {
			return nil, err
		}
	}
	report := &UnpackReport{Dir: dir, Executable: []string{}}
	err = fsutil.CreateDir(dir, func(tmp string) error { return a.extract(ctx, tmp, nil, opts.Progress, report) })
	if err != nil {
		return nil, err
	}
	return report, nil
}

// folderName returns the name of the folder for the content.
func (a *Archive) folderName() (string, error) {
	m, err := ReadManifest(a.FS())
	if err != nil {
		return "", fmt.Errorf("the archive does not say how it is called, name a folder: %w", err)
	}
	name := m.FileName()
	return name[:len(name)-len(path.Ext(name))], nil
}

// extract writes every file below the empty folder dir. mode returns the exact mode of
// each written file and folder except dir itself; nil means the modes of the archive less
// the umask.
func (a *Archive) extract(ctx context.Context, dir string, mode func(n *treeNode) fs.FileMode,
	progress func(done, all int64), report *UnpackReport) error {
	x := &extraction{archive: a, mode: mode, buffer: make([]byte, 64<<10), made: map[string]bool{".": true}}
	var err error
	if x.root, err = os.OpenRoot(dir); err != nil {
		return err
	}
	defer x.root.Close()
	defer x.leave()
	for i := range a.entries {
		e := &a.entries[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.Mode.IsDir() {
			if err := x.mkdir(e.Name); err != nil {
				return err
			}
			continue
		}
		if err := x.file(i, e); err != nil {
			return err
		}
		report.Files++
		report.Bytes += e.Size
		if e.Mode&0o100 != 0 {
			report.Executable = append(report.Executable, e.Name)
		}
		if progress != nil {
			progress(report.Bytes, a.bytes)
		}
	}
	return x.closeFolders()
}

// extraction is the state of one unpacking. The folder of the last file stays open,
// because the next file is usually in it, too.
type extraction struct {
	archive *Archive
	mode    func(n *treeNode) fs.FileMode // nil for the modes of the archive
	root    *os.Root
	buffer  []byte
	made    map[string]bool

	in     string // the path of folder, or empty
	folder *os.Root
}

func (x *extraction) leave() {
	if x.folder != nil {
		x.folder.Close()
	}
	x.folder, x.in = nil, ""
}

func (x *extraction) mkdir(name string) error {
	if x.made[name] {
		return nil
	}
	if err := x.mkdir(path.Dir(name)); err != nil {
		return err
	}
	x.made[name] = true
	return x.root.Mkdir(name, 0o755)
}

// enter returns the opened folder of a file.
func (x *extraction) enter(dir string) (*os.Root, error) {
	if dir == "." {
		return x.root, nil
	}
	if dir == x.in {
		return x.folder, nil
	}
	if err := x.mkdir(dir); err != nil {
		return nil, err
	}
	x.leave()
	folder, err := x.root.OpenRoot(dir)
	if err == nil {
		x.folder, x.in = folder, dir
	}
	return folder, err
}

func (x *extraction) file(index int, e *Entry) error {
	folder, err := x.enter(path.Dir(e.Name))
	if err != nil {
		return err
	}
	out, err := folder.OpenFile(path.Base(e.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, e.Mode.Perm())
	if err != nil {
		return err
	}
	in := x.archive.open(index)
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, in, x.buffer)
	if x.mode != nil {
		err = errors.Join(err, out.Chmod(x.mode(x.archive.tree.nodes[e.Name])))
	}
	return errors.Join(err, in.Close(), out.Close())
}

// closeFolders sets the modes of the folders. It runs last, because some of them become
// read-only.
func (x *extraction) closeFolders() error {
	if x.mode == nil {
		return nil
	}
	x.leave()
	for name := range x.made {
		if name == "." {
			continue
		}
		if err := x.root.Chmod(name, x.mode(x.archive.tree.nodes[name]).Perm()); err != nil {
			return err
		}
	}
	return nil
}

package sitewriter

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/internal/barrier"
	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// ZipFile returns an output that writes a zip file, atomically. It replaces an existing
// file only if that is an archive written by Slipway, or with [Options.Adopt].
func ZipFile(name string) Output {
	return &archiveFile{
		name: name,
		pack: packZip,
	}
}

// TarFile is like [ZipFile] for a tar file.
func TarFile(name string) Output {
	return &archiveFile{
		name: name,
		pack: packTar,
	}
}

// Zip returns an output that writes a zip archive to w.
func Zip(w io.Writer) Output { return &archive{w, packZip} }

// Tar returns an output that writes a tar archive to w.
func Tar(w io.Writer) Output { return &archive{w, packTar} }

// packer starts an archive.
type packer func(io.Writer) packing

// packing is an archive that is being written.
type packing interface {
	// add starts a file; its contents are then written to the returned writer.
	add(name string, size int64) (io.Writer, error)
	Close() error
}

type archive struct {
	// out receives the archive; pack makes its form, zip or tar.
	out  io.Writer
	pack packer
}

func (a *archive) begin(*Options) (target, error) { return a, nil }
func (a *archive) dir() string                    { return "" }
func (a *archive) close()                         {}

func (a *archive) commit(ctx context.Context, w *writer) error {
	out := a.out
	if w.opts.DryRun {
		out = io.Discard
	}
	return w.pack(ctx, a.pack(out))
}

// pack writes all files: the manifest first, for streaming readers, then the others in
// path order.
func (w *writer) pack(ctx context.Context, p packing) error {
	all := w.all()
	rank := func(f *file) int {
		if f.path == manifestName {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b file) int {
		return cmp.Compare(rank(&a), rank(&b))
	})
	var bytes int64
	for i := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		f := &all[i]
		into, err := p.add(f.path, f.size)
		if err != nil {
			return err
		}
		from, err := w.spool.reader(f.at, f.size)
		if err != nil {
			return err
		}
		if _, err := io.Copy(into, from); err != nil {
			return err
		}
		bytes += f.size
		w.result.Created++
		w.progress("writing", i+1, len(all), bytes)
	}
	return p.Close()
}

// epoch is the modification time of every file in an archive, so that the same site
// yields the same archive. It is the earliest time a zip can represent.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

type zipPacking struct{ *zip.Writer }

func packZip(w io.Writer) packing { return zipPacking{zip.NewWriter(w)} }

func (z zipPacking) add(name string, _ int64) (io.Writer, error) {
	return z.CreateHeader(&zip.FileHeader{
		Name:     name,
		Method:   zip.Deflate,
		Modified: epoch,
	})
}

type tarPacking struct{ *tar.Writer }

func packTar(w io.Writer) packing { return tarPacking{tar.NewWriter(w)} }

// add adds a file with a fixed time, so that equal sites are equal archives.
func (t tarPacking) add(name string, size int64) (io.Writer, error) {
	err := t.WriteHeader(&tar.Header{
		Name:     name,
		Size:     size,
		Mode:     0o644,
		ModTime:  epoch,
		Typeflag: tar.TypeReg,
	})
	return t, err
}

type archiveFile struct {
	// name is the path of the archive.
	name string
	pack packer
}

// begin refuses to overwrite a file that this package has not written.
func (a *archiveFile) begin(o *Options) (target, error) {
	info, err := os.Lstat(a.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return a, nil
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, pathError("write", a.name, errors.New("it is a folder"))
	case !o.Adopt && !o.DryRun && !isOurs(a.name):
		return nil, &ForeignError{Path: a.name}
	}
	return a, nil
}

// isOurs reports whether the archive called name contains a Slipway index.
func isOurs(name string) bool {
	if z, err := zip.OpenReader(name); err == nil {
		defer z.Close()
		f, err := z.Open(indexName)
		if err != nil {
			return false
		}
		f.Close()
		return true
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	t := tar.NewReader(f)
	for {
		h, err := t.Next()
		if err != nil {
			return false
		}
		if h.Name == indexName {
			return true
		}
	}
}

func (a *archiveFile) dir() string { return filepath.Dir(a.name) }
func (a *archiveFile) close()      {}

// commit replaces the file only once the new one is complete.
func (a *archiveFile) commit(ctx context.Context, w *writer) error {
	if w.opts.DryRun {
		return a.compare(ctx, w)
	}
	err := fsutil.Replace(a.name, 0o644, func(out io.Writer) error {
		return w.pack(ctx, a.pack(out))
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", a.name, err)
	}
	return nil
}

// compare compares the archive with what would be written.
func (a *archiveFile) compare(ctx context.Context, w *writer) error {
	made, wrote := io.Pipe()
	go func() {
		wrote.CloseWithError(barrier.Run("write "+a.name, func() error {
			return w.pack(ctx, a.pack(wrote))
		}))
	}()
	defer made.Close()
	there, err := os.Open(a.name)
	same := false
	if err == nil {
		defer there.Close()
		if same, err = new(comparison).equal(made, there); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !same {
		if _, err := io.Copy(io.Discard, made); err != nil {
			return err
		}
	}
	files := w.result.Created
	w.result.Created = 0
	switch {
	case same:
		w.result.Unchanged = files
	case there == nil:
		w.result.note(Create, a.name)
	default:
		w.result.note(Update, a.name)
	}
	return nil
}

// comparison compares streams. Its buffers are used for all of them.
type comparison struct{ one, two []byte }

// equal reports whether two streams are equal. It reads a to its end if they are.
func (c *comparison) equal(a, b io.Reader) (bool, error) {
	const size = 1 << 15
	if c.one == nil {
		c.one = make([]byte, size)
		c.two = make([]byte, size)
	}
	for {
		n, errA := io.ReadFull(a, c.one)
		m, errB := io.ReadFull(b, c.two)
		endA := errors.Is(errA, io.EOF) || errors.Is(errA, io.ErrUnexpectedEOF)
		endB := errors.Is(errB, io.EOF) || errors.Is(errB, io.ErrUnexpectedEOF)
		switch {
		case errA != nil && !endA:
			return false, errA
		case errB != nil && !endB:
			return false, errB
		case n != m || string(c.one[:n]) != string(c.two[:m]):
			return false, nil
		case endA || endB:
			return endA == endB, nil
		}
	}
}

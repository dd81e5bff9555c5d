package mcpb

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path"
	"sync"

	"github.com/slipway-mcp/slipway/mcpb/internal/zip"
)

// flow passes the files of a selection through the workers into an archive. The reader
// and each worker are goroutines; the caller's goroutine is the writer. A fixed number of
// pieces circulates between them, which bounds the memory.
type flow struct {
	// selection is what to pack.
	selection *Selection
	programs  map[string]bool // executable regardless of the file system
	// folder is the last folder that was opened: files of one folder mostly follow each other.
	folder lastFolder

	// free, work and order pass pieces from the reader to the workers and to the writer,
	// which takes them in the order of the archive.
	free    chan *piece
	work    chan *piece
	order   chan *piece
	readErr error // reader's error; valid after order is closed
}

// newFlow returns a flow with two pieces more than workers: one being read and one being
// written.
func newFlow(s *Selection, workers int) *flow {
	n := workers + 2
	f := &flow{
		selection: s,
		free:      make(chan *piece, n),
		work:      make(chan *piece, n),
		order:     make(chan *piece, n),
	}
	for range n {
		f.free <- newPiece()
	}
	return f
}

// run packs all files into z. It calls done after every file.
func (f *flow) run(ctx context.Context, z *zip.Writer, workers int,
	done func(index int, packed int64) error) (err error) {
	if f.folder.root, err = os.OpenRoot(f.selection.dir); err != nil {
		return err
	}
	defer f.folder.root.Close()
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	// Deferred calls run in reverse order: cancel, then wait, then close the root.
	defer group.Wait()
	defer cancel()
	for range workers {
		k, err := newPacker()
		if err != nil {
			return err
		}
		group.Go(func() {
			for {
				select {
				case p, ok := <-f.work:
					if !ok {
						return
					}
					p.done <- k.pack(p)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	group.Go(func() {
		defer close(f.order)
		defer close(f.work)
		f.readErr = f.readAll(ctx)
	})
	return f.writeAll(ctx, z, done)
}

// writeAll writes the pieces in order.
func (f *flow) writeAll(
	ctx context.Context,
	z *zip.Writer,
	done func(index int, packed int64) error,
) error {
	var sum zip.Sum
	for p := range f.order {
		select {
		case err := <-p.done:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		data := p.packed.Bytes()
		if p.stored {
			data = p.data()
		}
		if p.first {
			sum = zip.Sum{}
		}
		sum.Size += int64(p.n)
		sum.Packed += int64(len(data))
		sum.CRC32 = p.crc
		if p.first {
			if err := z.Begin(f.header(p, &sum)); err != nil {
				return err
			}
		}
		if _, err := z.Write(data); err != nil {
			return err
		}
		if p.last {
			z.End(&sum)
			if err := done(p.file, sum.Packed); err != nil {
				return err
			}
		}
		f.free <- p
	}
	return f.readErr
}

// header returns the header of the file that begins with p. sum is known if p is all of it.
func (f *flow) header(p *piece, sum *zip.Sum) *zip.File {
	file := &f.selection.Files[p.file]
	h := &zip.File{
		Name:       file.Name,
		Executable: file.executable || p.executable || f.programs[file.Name],
		Deflated:   !p.stored,
	}
	if p.last {
		h.Known = sum
	}
	return h
}

// readAll reads the files into pieces.
func (f *flow) readAll(ctx context.Context) error {
	defer f.folder.close()
	for i := range f.selection.Files {
		if err := f.readFile(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// open opens a file through its folder.
func (f *flow) open(name string) (*os.File, error) {
	folder, err := f.folder.open(path.Dir(name))
	if err != nil {
		return nil, err
	}
	file, err := folder.Open(path.Base(name))
	if err != nil {
		return f.folder.root.Open(name) // a link to another folder of the bundle
	}
	return file, nil
}

// readFile reads a file into pieces, each with the end of the preceding one as its window.
// A file without data has one empty piece.
func (f *flow) readFile(ctx context.Context, index int) error {
	file := &f.selection.Files[index]
	in, err := f.open(cmp.Or(file.source, file.Name))
	if err != nil {
		return err
	}
	defer in.Close()
	left := file.Size
	crc := uint32(0)
	var before *piece
	for first := true; first || left > 0; first = false {
		p, err := f.next(ctx)
		if err != nil {
			return err
		}
		p.file = index
		p.first = first
		p.window = 0
		if before != nil {
			// A worker is still reading the preceding piece, but does not change it.
			p.window = copy(p.buffer[:packWindow],
				before.buffer[packWindow+before.n-packWindow:packWindow+before.n])
		}
		if p.n, err = readPiece(in, p.buffer[packWindow:], left); err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
		left -= int64(p.n)
		crc = crc32.Update(crc, crc32.IEEETable, p.data())
		p.crc = crc
		p.last = left == 0
		p.executable = first && bytes.HasPrefix(p.data(), []byte("#!"))
		f.order <- p
		f.work <- p
		before = p
	}
	return nil
}

// next waits for a free piece.
func (f *flow) next(ctx context.Context) (*piece, error) {
	select {
	case p := <-f.free:
		return p, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// errChanged reports a file with another size than at its selection. The archive would contain a
// mix of two versions.
var errChanged = errors.New("it changed while it was packed")

// readPiece fills b with the next of the left bytes of in, and verifies that the file
// still has the size it had when it was selected.
func readPiece(in io.Reader, b []byte, left int64) (int, error) {
	n, err := io.ReadFull(in, b[:min(int64(len(b)), left)])
	if errors.Is(err, io.ErrUnexpectedEOF) || (errors.Is(err, io.EOF) && left > 0) {
		return n, errChanged
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, err
	}
	if int64(n) == left {
		var more [1]byte
		if m, _ := in.Read(more[:]); m > 0 {
			return n, errChanged
		}
	}
	return n, nil
}

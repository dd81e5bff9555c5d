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
)

// flow passes the files of a selection through the workers into an archive. The reader
// and each worker are goroutines; the caller's goroutine is the writer. A fixed number of
// pieces circulates between them, which bounds the memory.
type flow struct {
	selection *Selection
	programs  map[string]bool // executable regardless of the file system
	root      *os.Root

	free  chan *piece
	work  chan *piece
	order chan *piece

	readErr error // reader's error; valid after order is closed
	in      string
	folder  *os.Root
}

func newFlow(s *Selection, workers int) *flow {
	n := workers + 2
	f := &flow{selection: s, free: make(chan *piece, n), work: make(chan *piece, n), order: make(chan *piece, n)}
	for range n {
		f.free <- newPiece()
	}
	return f
}

// run packs all files into z. It calls done after every file.
func (f *flow) run(ctx context.Context, z *zipWriter, workers int, done func(index int, packed int64)) (err error) {
	if f.root, err = os.OpenRoot(f.selection.dir); err != nil {
		return err
	}
	defer f.root.Close()
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
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
func (f *flow) writeAll(ctx context.Context, z *zipWriter, done func(index int, packed int64)) error {
	size := int64(0)
	for p := range f.order {
		select {
		case err := <-p.done:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		if p.first {
			z.begin(f.header(p))
			size = 0
		}
		size += int64(p.n)
		if p.stored {
			z.write(p.data())
		} else {
			z.write(p.packed.Bytes())
		}
		if p.last {
			z.end(p.crc, size)
			done(p.file, z.at-z.start)
		}
		if z.err != nil {
			return z.err
		}
		f.free <- p
	}
	return f.readErr
}

// header returns the header of the file that begins with p.
func (f *flow) header(p *piece) zipHeader {
	file := &f.selection.Files[p.file]
	h := zipHeader{
		name:       file.Name,
		executable: file.executable || p.executable || f.programs[file.Name],
		method:     methodDeflate,
		later:      !p.last,
		size:       file.Size,
	}
	if p.last {
		h.crc, h.size, h.packed = p.crc, int64(p.n), int64(p.packed.Len())
	}
	if p.stored {
		h.method, h.packed = methodStore, int64(p.n)
	}
	return h
}

// readAll reads the files into pieces.
func (f *flow) readAll(ctx context.Context) error {
	defer f.leave()
	for i := range f.selection.Files {
		if err := f.readFile(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (f *flow) leave() {
	if f.folder != nil {
		f.folder.Close()
	}
	f.folder, f.in = nil, ""
}

// open opens a file through its folder, which stays open for the next file. Both are
// opened within the root, so that no link leads outside.
func (f *flow) open(name string) (*os.File, error) {
	dir := path.Dir(name)
	if dir == "." {
		return f.root.Open(name)
	}
	if dir != f.in {
		f.leave()
		folder, err := f.root.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		f.folder, f.in = folder, dir
	}
	file, err := f.folder.Open(path.Base(name))
	if err != nil {
		return f.root.Open(name) // a link to another folder of the bundle
	}
	return file, nil
}

func (f *flow) readFile(ctx context.Context, index int) error {
	file := &f.selection.Files[index]
	in, err := f.open(cmp.Or(file.source, file.Name))
	if err != nil {
		return err
	}
	defer in.Close()
	left, crc := file.Size, uint32(0)
	var before *piece
	for first := true; first || left > 0; first = false {
		p, err := f.next(ctx)
		if err != nil {
			return err
		}
		p.file, p.first, p.window = index, first, 0
		if before != nil {
			// A worker is still reading the preceding piece, but does not change it.
			p.window = copy(p.buffer[:packWindow], before.buffer[packWindow+before.n-packWindow:packWindow+before.n])
		}
		if p.n, err = readPiece(in, p.buffer[packWindow:], left); err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
		left -= int64(p.n)
		crc = crc32.Update(crc, crc32.IEEETable, p.data())
		p.crc, p.last = crc, left == 0
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

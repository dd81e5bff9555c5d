package mcpb

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/flate"
)

const (
	// packBlock is how many bytes are packed as one piece. Where the pieces of a
	// file begin is fixed by this number and never by how many work at once, so that
	// the same input makes the same bytes everywhere.
	packBlock = 256 << 10
	// packWindow is how far back deflate can refer: what a piece gets to see of the
	// one before it.
	packWindow = 32 << 10
	// packLevel is the least that makes bundles smaller than the reference CLI does;
	// levels above it take two to three times as long for 2 % more.
	packLevel = 7
)

// piece is a part of a file on its way: read, packed by one of the workers, and
// written in order.
type piece struct {
	file        int // in the selection
	first, last bool
	buffer      []byte // the window, then the data
	window      int    // how many bytes of the window are there
	n           int    // how many bytes of data
	crc         uint32 // of the file up to the end of this piece
	packed      bytes.Buffer
	stored      bool // packed is not smaller and not to be used
	executable  bool // the data begins as that of a program
	done        chan error
}

func newPiece() *piece {
	return &piece{buffer: make([]byte, packWindow+packBlock), done: make(chan error, 1)}
}

func (p *piece) data() []byte { return p.buffer[packWindow : packWindow+p.n] }

// packer packs pieces, one after the other.
type packer struct{ w *flate.Writer }

func newPacker() (*packer, error) {
	w, err := flate.NewWriter(io.Discard, packLevel)
	return &packer{w}, err
}

// pack packs one piece. The pieces of a file make up one deflate stream: all but
// the last end at a byte, and each refers to what was before it.
func (k *packer) pack(p *piece) error {
	p.packed.Reset()
	w := k.w
	w.ResetDict(&p.packed, p.buffer[packWindow-p.window:packWindow])
	if _, err := w.Write(p.data()); err != nil {
		return err
	}
	end := w.Flush
	if p.last {
		end = w.Close
	}
	err := end()
	p.stored = p.first && p.last && p.packed.Len() >= p.n
	return err
}

package mcpb

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/flate"
)

const (
	// packBlock is the size of the pieces that are compressed separately. Only this
	// number determines where the pieces of a file begin, regardless of the number of
	// workers, so that the same input results in the same bytes everywhere.
	packBlock = 256 << 10
	// packWindow is the maximum distance of back references in deflate: how much a piece
	// can use of the preceding one.
	packWindow = 32 << 10
	// packLevel is the lowest level at which bundles are smaller than those of the
	// reference CLI; higher levels take two to three times as long for 2 %.
	packLevel = 7
)

// piece is a part of a file: it is read, compressed by one of the workers, and written in
// order.
type piece struct {
	file        int // index in the selection
	first, last bool
	buffer      []byte // the window, followed by the data
	window      int    // length of the window
	n           int    // length of the data
	crc         uint32 // of the file, up to the end of this piece
	packed      bytes.Buffer
	stored      bool // stored uncompressed, because packed is not smaller
	executable  bool // the data begins like an executable file
	// done receives the outcome of the worker. Its capacity of 1 lets the worker go on at once.
	done chan error
}

// newPiece returns a piece with buffers for any block. Pieces are reused, so their number limits
// the memory of a whole pack.
func newPiece() *piece {
	return &piece{
		buffer: make([]byte, packWindow+packBlock),
		done:   make(chan error, 1),
	}
}

// data returns the uncompressed data, without the window before it.
func (p *piece) data() []byte {
	return p.buffer[packWindow : packWindow+p.n]
}

// packer compresses one piece at a time.
type packer struct{ w *flate.Writer }

// newPacker returns the compressor of one worker. It is reset for each piece.
func newPacker() (*packer, error) {
	w, err := flate.NewWriter(io.Discard, packLevel)
	return &packer{w}, err
}

// pack compresses one piece. The pieces of a file form one deflate stream: all but the
// last are flushed to a byte boundary, and each refers to the data before it.
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

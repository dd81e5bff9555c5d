package zip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A signature block follows the zip: header, length (four bytes, little-endian), PKCS#7
// in DER, footer.
const (
	blockHeader = "MCPB_SIG_V1"
	blockFooter = "MCPB_SIG_END"

	// BlockFrame is the size of a block without the signature.
	BlockFrame = len(blockHeader) + 4 + len(blockFooter)
	// MaxBlock is the maximum size of a block: far more than any certificate chain needs.
	MaxBlock = 1 << 20
	// MaxComment is the maximum size of the comment of an archive, which includes the block.
	MaxComment = maxComment
)

// Block is the signature block at the end of a file.
type Block struct {
	// Begin is where the block begins: the end of the file if there is none.
	Begin int64
	// DER is the signature. It is nil if there is no block, and not nil if it is empty.
	DER []byte

	size int64 // of the file
}

// FindBlock returns the block at the end of the first size bytes of r. The markers
// anywhere else are ignored. A block that is ambiguous, or that another archive is hidden
// in, is refused, and so is one after another, as readers disagree on which one counts.
func FindBlock(r io.ReaderAt, size int64) (*Block, error) {
	b, err := lastBlock(r, size)
	if err != nil || b.DER == nil {
		return b, err
	}
	if before, err := lastBlock(r, b.Begin); err != nil || before.DER == nil {
		return b, err
	}
	return nil, &Error{
		Rule:   RuleSignature,
		Reason: "it is signed more than once",
		Unsafe: true,
		Repair: "removes all signatures; then sign it again",
	}
}

// lastBlock is [FindBlock] for a file that may have several blocks.
func lastBlock(r io.ReaderAt, size int64) (*Block, error) {
	b := &Block{
		Begin: size,
		size:  size,
	}
	if size < int64(BlockFrame) {
		return b, nil
	}
	// Most archives have no block, so the end is read alone first.
	footer, _, err := readTail(r, size, int64(len(blockFooter)))
	if err != nil || string(footer) != blockFooter {
		return b, err
	}
	tail, begin, err := readTail(r, size, MaxBlock)
	if err != nil {
		return nil, err
	}
	for i := 0; ; i++ {
		n := bytes.Index(tail[i:], []byte(blockHeader))
		if n < 0 {
			break
		}
		i += n
		if b.DER != nil {
			return nil, unsafef(RuleAmbiguous, "", "its signature block has another one inside")
		}
		if der := decodeBlock(tail[i:]); der != nil {
			b.Begin = begin + int64(i)
			b.DER = der
		}
	}
	if hasEndRecord(b.DER) {
		return nil, unsafef(RuleAmbiguous, "", "its signature block has another archive inside")
	}
	return b, nil
}

// hasEndRecord reports whether b contains the signature of an end record, at which another reader
// could start.
func hasEndRecord(b []byte) bool {
	return bytes.Contains(b, []byte(endSignature))
}

// decodeBlock returns the signature in the block that begins at b, or nil if the block
// does not end there.
func decodeBlock(b []byte) []byte {
	if len(b) < BlockFrame {
		return nil
	}
	length := binary.LittleEndian.Uint32(b[len(blockHeader):])
	if uint64(length) != uint64(len(b)-BlockFrame) {
		return nil
	}
	return b[len(blockHeader)+4 : len(b)-len(blockFooter)]
}

// EncodeBlock adds the frame to a signature. It returns nil if a reader would find the
// marker of an archive or of another block in the signature.
func EncodeBlock(der []byte) []byte {
	if hasEndRecord(der) || bytes.Contains(der, []byte(blockHeader)) {
		return nil
	}
	out := binary.LittleEndian.AppendUint32([]byte(blockHeader), uint32(len(der)))
	return append(append(out, der...), blockFooter...)
}

// HasLostBlock reports whether a block is in the file but not at its end: it was cut, or
// bytes were added.
func HasLostBlock(r io.ReaderAt, size int64) (bool, error) {
	tail, _, err := readTail(r, size, MaxBlock)
	i := bytes.LastIndex(tail, []byte(blockHeader))
	return i >= 0 && hasEndRecord(tail[:i]), err
}

// Signed returns the bytes that the signature in the block may cover: those before it, and
// the same with a declared comment that ends where the block begins. The latter is nil if
// the archive does not declare the block as its comment.
func (b *Block) Signed(r io.ReaderAt) (before, undeclared io.Reader, err error) {
	before = io.NewSectionReader(r, 0, b.Begin)
	tail, begin, err := readTail(r, b.Begin, endLen+maxComment)
	if err != nil {
		return nil, nil, err
	}
	i := bytes.LastIndex(tail, []byte(endSignature))
	if i < 0 || len(tail)-i < endLen {
		return before, nil, nil
	}
	var end endRecord
	decode(tail[i:], &end)
	at := begin + int64(i) + endLen
	if int64(end.CommentLen) != b.size-at {
		return before, nil, nil
	}
	return before, withComment(r, at, b.Begin, int(b.Begin-at)), nil
}

// withComment returns the first size bytes of an archive with another declared length of
// its comment, which begins at the offset at.
func withComment(r io.ReaderAt, at, size int64, length int) io.Reader {
	field := binary.LittleEndian.AppendUint16(nil, uint16(length))
	return io.MultiReader(io.NewSectionReader(r, 0, at-2), bytes.NewReader(field),
		io.NewSectionReader(r, at, size-at))
}

// CommentLen returns the length of the comment of the archive without a signature block.
func (a *Archive) CommentLen() int {
	return int(a.block.Begin - a.end - endLen)
}

// Content returns the bytes of the archive without a signature block, with a declared
// comment of n bytes.
func (a *Archive) Content(n int) io.Reader {
	return withComment(a.r, a.end+endLen, a.block.Begin, n)
}

// NewUnsigned is [New] without any signature blocks: some programs append one after the
// other. If a part of a block was cut off, the rest of it is not part of the archive, and
// signed is true.
func NewUnsigned(
	r io.ReaderAt,
	size int64,
	limits *Limits,
) (a *Archive, signed bool, err error) {
	const most = 8 // signatures
	var first error
	for range most {
		if a, err = New(r, size, limits); err == nil {
			return a, signed || a.Signed(), nil
		}
		if first == nil {
			first = err
		}
		var cut *cutError
		if errors.As(err, &cut) {
			a, err = New(&cutReader{r, cut}, cut.zipSize, limits)
			return a, true, err
		}
		block, err := lastBlock(r, size)
		if err != nil || block.DER == nil {
			break
		}
		size = block.Begin
		signed = true
	}
	return nil, false, first
}

// cutError means that a signature was cut off, completely or in part.
type cutError struct {
	refused *Error
	end     int64 // end of the directory record, whose last field is the comment length
	comment int64 // comment length without the signature
	zipSize int64 // size of the zip, without the rest of a signature
}

// Error implements the error interface.
func (e *cutError) Error() string { return e.refused.Error() }

// Unwrap makes it an [*Error] for callers.
func (e *cutError) Unwrap() error { return e.refused }

// findCut reports a signature that was cut off, and returns nil for other problems.
// behind are the bytes after the directory, from the offset at; comment is their declared
// length. A program that does not know that the zip comment is the signature leaves none
// of it, an interrupted download leaves a part.
func findCut(behind []byte, comment, at int64) error {
	missing := comment - int64(len(behind))
	begin := bytes.Index(behind, []byte(blockHeader))
	if begin < 0 && missing > 0 && len(behind) > 0 &&
		bytes.HasPrefix([]byte(blockHeader), behind) {
		begin = 0 // only a part of the header is left
	}
	what := "part of its signature was cut off"
	switch {
	case begin < 0 && missing < int64(BlockFrame):
		return nil
	case begin < 0:
		begin, what = len(behind), fmt.Sprintf("its signature was cut off: %d bytes are missing at its end", missing)
	case missing < 0 && comment != int64(begin):
		return nil
	}
	refused := &Error{
		Rule:   RuleSignature,
		Reason: what,
		Unsafe: true,
		Repair: "removes what is left of the signature, if you trust the file without one",
	}
	return &cutError{refused, at, int64(begin), at + int64(begin)}
}

// cutReader is a file whose declared comment length is corrected to the actual one.
type cutReader struct {
	io.ReaderAt
	cut *cutError
}

// ReadAt implements io.ReaderAt.
func (r *cutReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(p, off)
	field := binary.LittleEndian.AppendUint16(nil, uint16(r.cut.comment))
	for i, b := range field {
		at := r.cut.end - int64(len(field)) + int64(i) - off
		if 0 <= at && at < int64(n) {
			p[at] = b
		}
	}
	return n, err
}

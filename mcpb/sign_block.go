package mcpb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// A signature block follows the zip: header, length (four bytes, little-endian), PKCS#7
// in DER, footer.
const (
	blockHeader = "MCPB_SIG_V1"
	blockFooter = "MCPB_SIG_END"

	// blockFrame is the size of a block without the signature.
	blockFrame = len(blockHeader) + 4 + len(blockFooter)
	// maxBlock is the maximum size of a block: far more than any certificate chain needs.
	maxBlock = 1 << 20
)

// block is the signature block at the end of a file. If there is none, begin is the end
// of the file.
type block struct {
	found bool
	begin int64
	der   []byte
}

// findBlock returns the block at the end of the file. The markers anywhere else are
// ignored. A block that is ambiguous, or that another archive is hidden in, is refused.
func findBlock(r io.ReaderAt, size int64) (*block, error) {
	none := &block{begin: size}
	if size < int64(blockFrame) {
		return none, nil
	}
	footer := make([]byte, len(blockFooter))
	if err := readFull(r, footer, size-int64(len(footer))); err != nil || string(footer) != blockFooter {
		return none, err
	}
	tail, begin, err := readTail(r, size, maxBlock)
	if err != nil {
		return nil, err
	}
	var b *block
	for i := 0; ; i++ {
		n := bytes.Index(tail[i:], []byte(blockHeader))
		if n < 0 {
			break
		}
		i += n
		if b != nil {
			return nil, unsafef(ruleAmbiguous, "", "its signature block has another one inside")
		}
		if der := blockAt(tail[i:]); der != nil {
			b = &block{found: true, begin: begin + int64(i), der: der}
		}
	}
	if b == nil {
		return none, nil
	}
	if bytes.Contains(b.der, []byte(endSignature)) {
		return nil, unsafef(ruleAmbiguous, "", "its signature block has another archive inside")
	}
	return b, nil
}

// refuseTwice refuses a file with another signature before block: readers disagree on
// which one counts.
func refuseTwice(r io.ReaderAt, b *block) error {
	if !b.found {
		return nil
	}
	before, err := findBlock(r, b.begin)
	if err != nil || !before.found {
		return err
	}
	return &ArchiveError{
		Rule: ruleSignature, Reason: "it is signed more than once", Unsafe: true,
		Repair: "removes all signatures; then sign it again",
	}
}

// cutError means that a signature was cut off, completely or in part.
type cutError struct {
	*ArchiveError
	end     int64 // end of the directory record, whose last field is the comment length
	comment int64 // comment length without the signature
	zipSize int64 // size of the zip, without the rest of a signature
}

// Unwrap makes it an [*ArchiveError] for callers.
func (e *cutError) Unwrap() error { return e.ArchiveError }

// findCut reports a signature that was cut off, and returns nil for other problems.
// behind are the bytes after the directory, from the offset at; comment is their declared
// length. A program that does not know that the zip comment is the signature leaves none
// of it, an interrupted download leaves a part.
func findCut(behind []byte, comment, at int64) error {
	missing := comment - int64(len(behind))
	begin := bytes.Index(behind, []byte(blockHeader))
	if begin < 0 && missing > 0 && len(behind) > 0 && bytes.HasPrefix([]byte(blockHeader), behind) {
		begin = 0 // only a part of the header is left
	}
	what := "part of its signature was cut off"
	switch {
	case begin < 0 && missing < int64(blockFrame):
		return nil
	case begin < 0:
		begin, what = len(behind), fmt.Sprintf("its signature was cut off: %d bytes are missing at its end", missing)
	case missing < 0 && comment != int64(begin):
		return nil
	}
	refused := &ArchiveError{
		Rule: ruleSignature, Reason: what, Unsafe: true,
		Repair: "removes what is left of the signature, if you trust the file without one",
	}
	return &cutError{refused, at, int64(begin), at + int64(begin)}
}

// blockAt returns the signature in the block at the start of tail, or nil if the block
// does not have its declared length.
func blockAt(tail []byte) []byte {
	if len(tail) < blockFrame {
		return nil
	}
	length := binary.LittleEndian.Uint32(tail[len(blockHeader):])
	if uint64(length) != uint64(len(tail)-blockFrame) {
		return nil
	}
	return tail[len(blockHeader)+4 : len(tail)-len(blockFooter)]
}

// encodeBlock adds the frame to a signature.
func encodeBlock(der []byte) []byte {
	out := make([]byte, 0, len(der)+blockFrame)
	out = append(out, blockHeader...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(der)))
	out = append(out, der...)
	return append(out, blockFooter...)
}

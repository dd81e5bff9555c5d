package mcpb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// A signature stands behind the zip: header, four bytes of length (little-endian),
// that many bytes of PKCS#7 in DER, footer.
const (
	blockHeader = "MCPB_SIG_V1"
	blockFooter = "MCPB_SIG_END"

	// blockFrame is what a block has besides the signature.
	blockFrame = len(blockHeader) + 4 + len(blockFooter)
	// maxBlock is the longest block that is looked for: far more than any chain of
	// certificates takes.
	maxBlock = 1 << 20
)

// block is the signature block at the end of a file. Without one, begin is where
// the file ends.
type block struct {
	found bool
	begin int64
	der   []byte
}

// findBlock looks for the block that ends with the file. What only mentions the
// marks, wherever it stands, is none. A block that could be read in two ways, or in
// which another archive is hidden, is refused.
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

// refuseTwice refuses a file that has another signature in front of block: readers
// disagree on which of them counts.
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

// cutError is the refusal of an archive whose signature was cut off, also in part.
type cutError struct {
	*ArchiveError
	end     int64 // where the directory ends, with the length of the comment last
	comment int64 // how long the comment is without the signature
	zipSize int64 // what is left of the zip, without the rest of a signature
}

// Unwrap makes it an [*ArchiveError] for callers.
func (e *cutError) Unwrap() error { return e.ArchiveError }

// findCut reports a signature that was cut off: behind are the bytes that follow the
// directory, from the offset at on, comment is how many there should be. It returns nil
// if something else is wrong. A program that does not know that the comment of the zip
// is the signature leaves nothing behind, an interrupted download a part.
func findCut(behind []byte, comment, at int64) error {
	missing := comment - int64(len(behind))
	begin := bytes.Index(behind, []byte(blockHeader))
	if begin < 0 && missing > 0 && len(behind) > 0 && bytes.HasPrefix([]byte(blockHeader), behind) {
		begin = 0 // not even the whole header is left
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

// blockAt returns the signature in the block that tail begins with, or nil if
// it is not as long as it says.
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

// encodeBlock puts the frame around a signature.
func encodeBlock(der []byte) []byte {
	out := make([]byte, 0, len(der)+blockFrame)
	out = append(out, blockHeader...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(der)))
	out = append(out, der...)
	return append(out, blockFooter...)
}

package mcpb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"sync"
)

// snapshot reads a file whose bytes others may change. Every read returns the bytes
// that were there when the snapshot was taken, or fails: what is hashed, verified
// and unpacked is one content, without a copy of it. It is safe for concurrent use.
type snapshot struct {
	r      io.ReaderAt
	size   int64
	sha256 string // of the whole file, in hexadecimal

	sums [][sha256.Size]byte // of each chunk

	recentMu sync.Mutex
	recent   [recentChunks]chunk // by the index of the chunk modulo the length
}

// chunk is a part of the file that matched its sum. Its bytes are never written to.
type chunk struct {
	index int
	data  []byte
}

const (
	// chunkBytes is how much is read and compared at once: 32 bytes of memory for
	// each of them, so 512 KiB for the largest archive.
	chunkBytes = 128 << 10
	// recentChunks are kept. Packed files are mostly smaller than a chunk, and read
	// in their order by a few workers.
	recentChunks = 32
)

var errChangedWhileRead = errors.New("the file changed while it was read")

// takeSnapshot reads the whole file once.
func takeSnapshot(ctx context.Context, f *os.File) (*snapshot, error) {
	s := &snapshot{r: f}
	whole := sha256.New()
	buffer := make([]byte, chunkBytes)
	for in := (cancelable{ctx, io.NewSectionReader(f, 0, 1<<62)}); ; {
		n, err := io.ReadFull(in, buffer)
		if n > 0 {
			whole.Write(buffer[:n])
			s.sums = append(s.sums, sha256.Sum256(buffer[:n]))
			s.size += int64(n)
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			s.sha256 = hex.EncodeToString(whole.Sum(nil))
			return s, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// ReadAt implements [io.ReaderAt].
func (s *snapshot) ReadAt(p []byte, at int64) (n int, err error) {
	if at < 0 {
		return 0, errors.New("negative offset")
	}
	for n < len(p) {
		if at >= s.size {
			return n, io.EOF
		}
		data, err := s.chunk(int(at / chunkBytes))
		if err != nil {
			return n, err
		}
		m := copy(p[n:], data[at%chunkBytes:])
		n += m
		at += int64(m)
	}
	return n, nil
}

// chunk returns a part of the file as it was.
func (s *snapshot) chunk(index int) ([]byte, error) {
	slot := &s.recent[index%recentChunks]
	s.recentMu.Lock()
	kept := *slot
	s.recentMu.Unlock()
	if kept.data != nil && kept.index == index {
		return kept.data, nil
	}

	begin := int64(index) * chunkBytes
	data := make([]byte, min(chunkBytes, s.size-begin))
	if n, err := s.r.ReadAt(data, begin); n < len(data) {
		if err == io.EOF {
			err = errChangedWhileRead
		}
		return nil, err
	}
	if sha256.Sum256(data) != s.sums[index] {
		return nil, errChangedWhileRead
	}
	s.recentMu.Lock()
	*slot = chunk{index, data}
	s.recentMu.Unlock()
	return data, nil
}

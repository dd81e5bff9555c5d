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

// snapshot reads a file that others may change. Every read returns the bytes from the
// time of the snapshot or fails, so that hashing, verifying and unpacking use the same
// content without a copy of it. It is safe for concurrent use.
type snapshot struct {
	r      io.ReaderAt
	size   int64
	sha256 string // of the whole file, in hexadecimal

	// sums are computed by the first pass. A chunk with another sum has changed.
	sums [][sha256.Size]byte // of each chunk

	// recentMu guards recent, the chunks that were read and verified last.
	recentMu sync.Mutex
	recent   [recentChunks]chunk // by the index of the chunk modulo the length
}

// chunk is a part of the file that matched its sum. Its bytes are never modified.
type chunk struct {
	index int
	data  []byte
}

const (
	// chunkBytes is how much is read and verified at once. Each chunk needs 32 bytes of
	// memory, 512 KiB for the largest archive.
	chunkBytes = 128 << 10
	// recentChunks is the number of cached chunks. Packed files are mostly smaller than a
	// chunk, and a few workers read them in order.
	recentChunks = 32
)

// errChangedWhileRead reports a file that was written to while it was read: what was verified may
// not be what is used.
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

// chunk returns a part of the file as it was at the time of the snapshot.
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

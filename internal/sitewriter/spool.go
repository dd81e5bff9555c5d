package sitewriter

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// spool stores written data, in memory up to a limit and then in a temporary file.
type spool struct {
	// limit is how many bytes stay in memory, before everything moves to a file in dir.
	limit int64
	dir   string
	// most is the limit if no file can be created, in dir or in the system's temporary folder.
	// By default, that is an error.
	most int64

	memory []byte
	file   *os.File // nil while everything is in memory
	out    *bufio.Writer
	size   int64
	buffer []byte // of view
}

// write appends data and returns its offset.
func (s *spool) write(data []byte) (at int64, err error) {
	at = s.size
	s.size += int64(len(data))
	if s.file == nil && s.size <= s.limit {
		s.memory = append(s.memory, data...)
		return at, nil
	}
	if s.file == nil {
		err := s.spill()
		if err != nil && s.file == nil && s.size <= s.most {
			s.limit = s.most
			s.memory = append(s.memory, data...)
			return at, nil
		}
		if err != nil {
			return 0, err
		}
	}
	if _, err := s.out.Write(data); err != nil {
		return 0, fmt.Errorf("write temporary file: %w", err)
	}
	return at, nil
}

// spill moves the contents from memory to a temporary file.
func (s *spool) spill() error {
	f, err := TempFile(cmp.Or(s.dir, os.TempDir()))
	if err != nil && s.most > 0 {
		f, err = TempFile(os.TempDir())
	}
	if err != nil {
		return fmt.Errorf("make temporary file: %w", err)
	}
	s.file, s.out = f, bufio.NewWriterSize(f, 1<<18)
	_, err = s.out.Write(s.memory)
	s.memory = nil
	return err
}

// TempFile creates a file in a folder, and removes its name where possible, so that a killed process
// leaves nothing. The caller closes the file, and removes its name again.
func TempFile(dir string) (*os.File, error) {
	f, err := fsutil.OpenShared(filepath.Join(dir, ".slipway-build-"+rand.Text()), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_ = os.Remove(f.Name())
	}
	return f, err
}

// read returns size bytes from offset at.
func (s *spool) read(at, size int64) ([]byte, error) {
	if s.file == nil {
		return s.memory[at : at+size : at+size], nil
	}
	data := make([]byte, size)
	if err := s.settle(); err != nil {
		return nil, err
	}
	if _, err := s.file.ReadAt(data, at); err != nil {
		return nil, fmt.Errorf("read temporary file: %w", err)
	}
	return data, nil
}

// view is read, but what it returns is valid only until the next call.
func (s *spool) view(at, size int64) ([]byte, error) {
	if s.file == nil {
		return s.read(at, size)
	}
	if err := s.settle(); err != nil {
		return nil, err
	}
	if int64(cap(s.buffer)) < size {
		s.buffer = make([]byte, size+size/4)
	}
	data := s.buffer[:size]
	if _, err := s.file.ReadAt(data, at); err != nil {
		return nil, fmt.Errorf("read temporary file: %w", err)
	}
	return data, nil
}

// reader returns size bytes from offset at as a stream.
func (s *spool) reader(at, size int64) (io.Reader, error) {
	if s.file == nil {
		data, err := s.read(at, size)
		return bytes.NewReader(data), err
	}
	if err := s.settle(); err != nil {
		return nil, err
	}
	return io.NewSectionReader(s.file, at, size), nil
}

func (s *spool) settle() error {
	if s.out.Buffered() == 0 {
		return nil
	}
	return s.out.Flush()
}

// release returns the temporary file, or nil if everything is in memory. The caller owns it
// then: it is closed when it is not used any more, and has no name. Nothing can be written after
// that.
func (s *spool) release() (*os.File, error) {
	if s.file == nil {
		return nil, nil
	}
	if err := s.settle(); err != nil {
		return nil, err
	}
	file := s.file
	s.file = nil
	return file, nil
}

// close releases the memory and the temporary file.
func (s *spool) close() {
	s.memory = nil
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}

package fsutil

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"unicode/utf16"
)

// TooLargeError means that a file or stream has more than Limit bytes.
type TooLargeError struct{ Limit int64 }

// Error implements the error interface.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the file is too large: more than %d bytes", e.Limit)
}

// ReadLimited reads r to its end. If it has more than limit bytes, the error is a
// [*TooLargeError], and the text is the first limit+1 bytes.
func ReadLimited(r io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = &TooLargeError{limit}
	}
	return text, err
}

// errNotRegular is the cause of the error for a pipe, a socket or a device.
var errNotRegular = errors.New("not a regular file")

// MaxPEM limits a file with a key or certificates in PEM, in bytes. All public authorities take a
// quarter of it.
const MaxPEM = 1 << 20

// OpenRegular opens the file at path for reading. A pipe could block forever, already when it is
// opened, and a device never end: all but regular files and folders are an [*fs.PathError].
func OpenRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{
			Op:   "open",
			Path: path,
			Err:  errNotRegular,
		}
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// ReadFile is [ReadLimited] for the regular file at path, as [OpenRegular] opens it, or for an
// open file of the process, such as /dev/stdin and the pipe that a shell passes for <(command).
// The error is an [*fs.PathError].
func ReadFile(path string, limit int64) ([]byte, error) {
	open := OpenRegular
	if isDescriptor(path) {
		open = openDescriptor
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	return readClose(f, path, limit)
}

// openDescriptor opens an open file of the process again. On Linux, that would wait for a writer of
// a named pipe whose writers have ended; elsewhere it duplicates the descriptor.
func openDescriptor(path string) (*os.File, error) {
	flags := os.O_RDONLY
	if runtime.GOOS == "linux" {
		flags |= nonBlocking
	}
	return os.OpenFile(path, flags, 0)
}

// isDescriptor reports whether path names an open file of the process.
func isDescriptor(path string) bool {
	path = filepath.Clean(path)
	folder := filepath.Dir(path)
	return path == "/dev/stdin" || folder == "/dev/fd" || folder == "/proc/self/fd"
}

// ErrNotText means that a file contains zero bytes, and so is binary, or text in UTF-16
// without a byte order mark.
var ErrNotText = errors.New("the file is not UTF-8 text")

// ReadText is [ReadLimited] for text that editors and shells of any system write: a byte order
// mark is removed, and UTF-16 with one, which PowerShell 5 writes, is converted to UTF-8.
// Other text with zero bytes is [ErrNotText]. It reads any pipe, as [ReadSecret] does.
func ReadText(path string, limit int64) ([]byte, error) {
	text, err := ReadSecret(path, limit)
	if err != nil {
		return nil, err
	}
	if text = decodeText(text); bytes.IndexByte(text, 0) >= 0 {
		return nil, &fs.PathError{
			Op:   "read",
			Path: path,
			Err:  ErrNotText,
		}
	}
	return text, nil
}

// ReadSecret is [ReadLimited] for a file at path. Unlike [ReadFile], it reads any pipe, through which
// password managers and shells pass secrets, and waits for its writer.
func ReadSecret(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return readClose(f, path, limit)
}

// decodeText returns UTF-8 without a byte order mark. Editors on Windows may write UTF-16.
func decodeText(text []byte) []byte {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		return text[3:]
	case bytes.HasPrefix(text, []byte("\xfe\xff")):
		order = binary.BigEndian
	case !bytes.HasPrefix(text, []byte("\xff\xfe")):
		return text
	}
	units := make([]uint16, (len(text)-2)/2)
	for i := range units {
		units[i] = order.Uint16(text[2+2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

// ReadRegular is [ReadFile] for a file in fsys. Reading a pipe or a device could block
// forever, so all but regular files are an error.
func ReadRegular(fsys fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{
			Op:   "read",
			Path: name,
			Err:  errNotRegular,
		}
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	return readClose(f, name, limit)
}

// readClose reads f up to the limit, and closes it.
func readClose(f io.ReadCloser, name string, limit int64) ([]byte, error) {
	defer f.Close()
	text, err := ReadLimited(f, limit)
	if large := (*TooLargeError)(nil); errors.As(err, &large) {
		err = &fs.PathError{
			Op:   "read",
			Path: name,
			Err:  err,
		}
	}
	return text, err
}

// ProgressReader returns a reader that reports after each read how many of all bytes were
// read; all is -1 if unknown. At the end it reports (n, n). A nil report returns r.
func ProgressReader(r io.Reader, all int64, report func(done, all int64)) io.Reader {
	if report == nil {
		return r
	}
	return &progressReader{
		r:      r,
		all:    all,
		report: report,
	}
}

type progressReader struct {
	r io.Reader
	// done and all are in bytes; all may be an estimate.
	done, all int64
	report    func(done, all int64)
}

// Read reports all as read at the end, even if the file was shorter than expected.
func (p *progressReader) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.done += int64(n)
	if err == nil {
		p.report(p.done, p.all)
	} else {
		p.report(p.done, p.done)
	}
	return n, err
}

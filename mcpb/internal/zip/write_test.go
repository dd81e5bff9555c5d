package zip

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"time"
)

// TestZip64Count needs the zip64 records because there are more files than 16 bits can
// count.
func TestZip64Count(t *testing.T) {
	var b bytes.Buffer
	z := NewWriter(&b, time.Time{})
	const n = 66_000
	for i := range n {
		if err := z.Begin(&File{Name: fmt.Sprint(i), Known: &Sum{}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	standard, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(standard.File) != n {
		t.Fatalf("archive/zip: %v, %d files", err, len(standard.File))
	}
	a, err := New(bytes.NewReader(b.Bytes()), int64(b.Len()), nil)
	if err != nil || len(a.entries) != n {
		t.Fatalf("got %v", err)
	}
}

// sparse is a long file that stores only its non-zero bytes.
type sparse struct {
	size  int64
	parts map[int64][]byte
}

func (s *sparse) Write(b []byte) (int, error) {
	if len(b) < 1<<16 {
		s.parts[s.size] = bytes.Clone(b)
	}
	s.size += int64(len(b))
	return len(b), nil
}

func (s *sparse) ReadAt(b []byte, at int64) (int, error) {
	clear(b)
	for from, part := range s.parts {
		if from < at+int64(len(b)) && at < from+int64(len(part)) {
			copy(b[max(0, from-at):], part[max(0, at-from):])
		}
	}
	return len(b), nil
}

// TestZip64Sizes has a file whose sizes, and one whose offset, need 64 bits.
func TestZip64Sizes(t *testing.T) {
	s := &sparse{parts: map[int64][]byte{}}
	z := NewWriter(s, time.Time{})
	const size = math.MaxUint32 + 1000
	if err := z.Begin(&File{Name: "large"}); err != nil {
		t.Fatal(err)
	}
	chunk := make([]byte, 1<<20)
	for left := int64(size); left > 0; left -= int64(len(chunk)) {
		if _, err := z.Write(chunk[:min(left, int64(len(chunk)))]); err != nil {
			t.Fatal(err)
		}
	}
	z.End(&Sum{Size: size, Packed: size, CRC32: 7})
	err := errors.Join(z.Begin(&File{Name: "behind", Known: &Sum{CRC32: 1}}), z.Close())
	if err != nil {
		t.Fatal(err)
	}
	standard, err := zip.NewReader(s, s.size)
	if err != nil || standard.File[0].UncompressedSize64 != size {
		t.Fatalf("archive/zip: %v", err)
	}
	a, err := New(s, s.size, &Limits{ArchiveBytes: -1, FileBytes: -1, TotalBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	if a.entries[0].Size != size || a.entries[1].data <= size {
		t.Errorf("got %+v, %+v", a.entries, a.entries[1].data)
	}
}

func TestDOSTime(t *testing.T) {
	for text, want := range map[string]string{
		"2024-02-29T23:59:59Z":      "2024-02-29T23:59:58Z",
		"2024-02-29T23:59:59+05:00": "2024-02-29T18:59:58Z",
		"1970-01-01T00:00:00Z":      "1980-01-01T00:00:00Z",
		"2200-01-01T00:00:00Z":      "2107-12-31T23:59:58Z",
	} {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		w := NewWriter(io.Discard, at)
		d := uint32(w.date)<<16 | uint32(w.clock)
		got := time.Date(int(d>>25)+1980, time.Month(d>>21&15), int(d>>16&31),
			int(d>>11&31), int(d>>5&63), int(d&31)*2, 0, time.UTC)
		if got.Format(time.RFC3339) != want {
			t.Errorf("%s: got %s, want %s", text, got.Format(time.RFC3339), want)
		}
	}
}

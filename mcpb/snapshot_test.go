package mcpb

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestSnapshot(t *testing.T) {
	for _, size := range []int{0, 1, chunkBytes - 1, chunkBytes, 3*chunkBytes + 7} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(i / 3)
		}
		name := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		s, err := takeSnapshot(t.Context(), f)
		if err != nil || s.size != int64(size) {
			t.Fatalf("%d bytes: %d, %v", size, s.size, err)
		}
		got, err := io.ReadAll(io.NewSectionReader(s, 0, s.size))
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: read %d others: %v", size, len(got), err)
		}
		if n, err := s.ReadAt(make([]byte, 2), s.size-1); size > 0 && (n != 1 || err != io.EOF) {
			t.Errorf("%d bytes: at the end %d, %v", size, n, err)
		}
	}
}

// TestSnapshotOfChangedFile changes a file between computing its digest and reading its
// content.
func TestSnapshotOfChangedFile(t *testing.T) {
	for what, change := range map[string]func(f *os.File) error{
		"byte":      func(f *os.File) error { _, err := f.WriteAt([]byte{1}, chunkBytes+5); return err },
		"truncated": func(f *os.File) error { return f.Truncate(chunkBytes + 5) },
	} {
		t.Run(what, func(t *testing.T) {
			f, err := os.Create(filepath.Join(t.TempDir(), "f"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.Write(make([]byte, 2*chunkBytes)); err != nil {
				t.Fatal(err)
			}
			s, err := takeSnapshot(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			if err := change(f); err != nil {
				t.Fatal(err)
			}
			if _, err := s.ReadAt(make([]byte, 10), 0); err != nil {
				t.Errorf("what did not change: %v", err)
			}
			if _, err := s.ReadAt(make([]byte, 10), chunkBytes+100); !errors.Is(err, errChangedWhileRead) {
				t.Errorf("got %v, want %v", err, errChangedWhileRead)
			}
		})
	}
}

package fsutil_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "five"), []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	readers := map[string]func(limit int64) ([]byte, error){
		"ReadLimited": func(limit int64) ([]byte, error) { return fsutil.ReadLimited(strings.NewReader("12345"), limit) },
		"ReadFile":    func(limit int64) ([]byte, error) { return fsutil.ReadFile(filepath.Join(dir, "five"), limit) },
		"ReadRegular": func(limit int64) ([]byte, error) { return fsutil.ReadRegular(os.DirFS(dir), "five", limit) },
	}
	for name, read := range readers {
		t.Run(name, func(t *testing.T) {
			if text, err := read(5); err != nil || string(text) != "12345" {
				t.Errorf("of 5 bytes: %q, %v", text, err)
			}
			text, err := read(3)
			var large *fsutil.TooLargeError
			if string(text) != "1234" || !errors.As(err, &large) || large.Limit != 3 {
				t.Errorf("of 3 bytes: %q, %v, want 1234 and a TooLargeError", text, err)
			}
		})
	}
	if _, err := fsutil.ReadRegular(os.DirFS(dir), ".", 5); err == nil || !strings.Contains(err.Error(),
		"not a regular file") {
		t.Errorf("of a folder: %v", err)
	}
	if _, err := fsutil.ReadFile(filepath.Join(dir, "none"), 5); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
}

func TestReadText(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"UTF-8", "KEY=ä\r\n", "KEY=ä\r\n"},
		{"a byte order mark", "\xef\xbb\xbfKEY=1", "KEY=1"},
		{"UTF-16 of PowerShell", "\xff\xfeK\x00=\x00\xe4\x00", "K=ä"},
		{"UTF-16 with high bytes first", "\xfe\xff\x00K\x00=\xd8\x3d\xde\x00", "K=😀"},
		{"empty", "", ""},
	}
	path := filepath.Join(t.TempDir(), "file")
	for _, tt := range tests {
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := fsutil.ReadText(path, 100); err != nil || string(got) != tt.want {
			t.Errorf("%s: ReadText = %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	for _, text := range []string{"K\x00=\x00", "\x00", "\xff\xfe\x00\x00"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := fsutil.ReadText(path, 100); !errors.Is(err, fsutil.ErrNotText) {
			t.Errorf("ReadText of %q = %q, %v, want ErrNotText", text, got, err)
		}
	}
}

func TestProgressReader(t *testing.T) {
	var calls [][2]int64
	report := func(done, all int64) { calls = append(calls, [2]int64{done, all}) }
	r := fsutil.ProgressReader(iotest.OneByteReader(strings.NewReader("abc")), -1, report)
	if text, err := io.ReadAll(r); string(text) != "abc" || err != nil {
		t.Errorf("ReadAll = %q, %v", text, err)
	}
	want := [][2]int64{{1, -1}, {2, -1}, {3, -1}, {3, 3}}
	if !slices.Equal(calls, want) {
		t.Errorf("reports = %v, want %v", calls, want)
	}
}

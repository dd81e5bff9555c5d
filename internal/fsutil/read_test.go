package fsutil_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

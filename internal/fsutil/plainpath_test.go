package fsutil

import (
	"runtime"
	"testing"
)

func TestPlainPath(t *testing.T) {
	for path, want := range map[string]string{
		`\\?\C:\docs`:              `C:\docs`,
		`\\?\UNC\server\share\x`:   `\\server\share\x`,
		`\\?\Volume{0-1}\docs`:     `\\?\Volume{0-1}\docs`,
		`\\?\C:`:                   `\\?\C:`,
		`\\?\`:                     `\\?\`,
		`\\.\pipe\x`:               `\\.\pipe\x`,
		`C:\docs`:                  `C:\docs`,
		`docs/index.md`:            `docs/index.md`,
		`https://example.com/a?\b`: `https://example.com/a?\b`,
	} {
		if got := withoutPrefix(path); got != want {
			t.Errorf("withoutPrefix(%q) = %q, want %q", path, got, want)
		}
		if runtime.GOOS != "windows" && PlainPath(path) != path {
			t.Errorf("PlainPath(%q) = %q", path, PlainPath(path))
		}
	}
}

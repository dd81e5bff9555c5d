package fsutil

import (
	"strings"
	"testing"
)

func TestLongName(t *testing.T) {
	deep := strings.Repeat(`\folder`, 40)
	for name, want := range map[string]string{
		`C:\short`:              `C:\short`,
		`\\server\share\short`:  `\\server\share\short`,
		`C:` + `\` + deep:       `\\?\C:` + deep,
		`C:/a/../b` + deep:      `\\?\C:\b` + deep,
		`\\server\share` + deep: `\\?\UNC\server\share` + deep,
		`\\?\C:` + deep:         `\\?\C:` + deep,
		`\\?\UNC\s\x` + deep:    `\\?\UNC\s\x` + deep,
		`\\.\pipe` + deep:       `\\.\pipe` + deep,
	} {
		if got, err := longName(name); got != want || err != nil {
			t.Errorf("longName(%q) = %q, %v, want %q", name, got, err, want)
		}
	}
}

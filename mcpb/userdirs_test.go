package mcpb

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestXDGFolders(t *testing.T) {
	home, config := t.TempDir(), t.TempDir()
	text := "# edited\nXDG_DESKTOP_DIR=\"$HOME/Schreib\\\"tisch\"\nXDG_DOWNLOAD_DIR=\"/srv/down\"\n" +
		"XDG_DOCUMENTS_DIR=\"relative\"\nXDG_MUSIC_DIR=$HOME/x\nXDG_DESKTOP_DIR"
	if err := errors.Join(os.MkdirAll(filepath.Join(home, ".config"), 0o755),
		os.WriteFile(filepath.Join(home, ".config", "user-dirs.dirs"), []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		env  map[string]string
		want userFolders
	}{
		"file": {nil, userFolders{home + `/Schreib"tisch`, "", "/srv/down"}},
		"variables": {
			map[string]string{"XDG_DOCUMENTS_DIR": "/d/", "XDG_DESKTOP_DIR": "/x", "XDG_DOWNLOAD_DIR": "no"},
			userFolders{"/x", "/d", "/srv/down"},
		},
		"another folder": {map[string]string{"XDG_CONFIG_HOME": config}, userFolders{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := xdgFolders(home,
				func(n string) string { return test.env[n] }); runtime.GOOS != "windows" && got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

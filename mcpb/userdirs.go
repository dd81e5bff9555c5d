package mcpb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// userFolders are user folders whose names differ between languages. Unknown ones are
// empty.
type userFolders struct {
	desktop, documents, downloads string
}

// maxUserDirs is the maximum size of user-dirs.dirs.
const maxUserDirs = 64 << 10

// xdgFolders returns the folders of a freedesktop.org desktop, from the environment or
// else from the file user-dirs.dirs in the configuration folder.
func xdgFolders(home string, lookup func(string) string) userFolders {
	config := lookup("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(home, ".config")
	}
	written := map[string]string{}
	text, err := fsutil.ReadRegular(os.DirFS(config), "user-dirs.dirs", maxUserDirs)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		written = readUserDirs(string(text), home)
	}
	of := func(name string) string {
		if set := lookup(name); filepath.IsAbs(set) {
			return filepath.Clean(set)
		}
		return written[name]
	}
	return userFolders{of("XDG_DESKTOP_DIR"), of("XDG_DOCUMENTS_DIR"), of("XDG_DOWNLOAD_DIR")}
}

// readUserDirs parses lines such as XDG_DESKTOP_DIR="$HOME/Schreibtisch". In quotes, a
// backslash escapes the next character. A value is absolute or begins with $HOME; others
// are ignored, as the format requires.
func readUserDirs(text, home string) map[string]string {
	found := map[string]string{}
	line := regexp.MustCompile(`(?m)^\s*(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"`)
	escape := regexp.MustCompile(`(?s)\\(.)`)
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		value := escape.ReplaceAllString(m[2], "$1")
		rest, below := strings.CutPrefix(value, "$HOME")
		if below && (rest == "" || rest[0] == '/') {
			value = home + rest
		}
		if filepath.IsAbs(value) {
			found[m[1]] = filepath.Clean(value)
		}
	}
	return found
}

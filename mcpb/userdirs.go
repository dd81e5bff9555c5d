package mcpb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// userFolders are user folders whose names differ between languages. Unknown ones are
// empty.
type userFolders struct{ desktop, documents, downloads string }

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

// readUserDirs parses lines such as XDG_DESKTOP_DIR="$HOME/Schreibtisch". A value is
// absolute or begins with $HOME; others are ignored, as the format requires.
func readUserDirs(text, home string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		value, ok = unquoteShell(value)
		if rest, below := strings.CutPrefix(value, "$HOME"); below && (rest == "" || rest[0] == '/') {
			value = home + rest
		}
		if ok && filepath.IsAbs(value) {
			found[strings.TrimSpace(name)] = filepath.Clean(value)
		}
	}
	return found
}

// unquoteShell unquotes a double-quoted word, in which a backslash escapes the next
// character.
func unquoteShell(word string) (string, bool) {
	word = strings.TrimSpace(word)
	if len(word) < 2 || word[0] != '"' {
		return "", false
	}
	var b strings.Builder
	for i := 1; i < len(word); i++ {
		switch c := word[i]; {
		case c == '"':
			return b.String(), true
		case c == '\\' && i+1 < len(word):
			i++
			b.WriteByte(word[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

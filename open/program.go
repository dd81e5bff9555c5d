package open

import (
	"bytes"
	"io/fs"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/process"
)

// interpreter returns the words that start a program in source form, by the extension of its
// file, or nil.
func interpreter(path string) []string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".py":
		if runtime.GOOS == "windows" {
			return []string{"python"}
		}
		return []string{"python3"}
	case ".js", ".mjs", ".cjs":
		return []string{"node"}
	case ".ts", ".mts", ".cts":
		return []string{"npx", "tsx"}
	case ".go":
		return []string{"go", "run"}
	case ".jar":
		return []string{"java", "-jar"}
	case ".php":
		return []string{"php"}
	case ".rb":
		return []string{"ruby"}
	case ".sh":
		return []string{"sh"}
	}
	return nil
}

// programHint returns the hint for a file that is a program: how to open it as a server. It is ""
// for any other file.
func programHint(path string, info fs.FileInfo) string {
	words := interpreter(path)
	switch {
	case words != nil:
		words = append(words, path)
	case info.Mode()&0o111 != 0 && runtime.GOOS != "windows", hasExt(path, ".exe", ".bat", ".cmd"):
		if !strings.ContainsRune(path, filepath.Separator) {
			path = "." + string(filepath.Separator) + path
		}
		words = []string{path}
	default:
		return ""
	}
	return commandHint(words)
}

// commandHint shows a command as a source.
func commandHint(words []string) string {
	return "a command follows --: slipway ls " + process.SourceWords(append([]string{"--"}, words...))
}

// isInstalled reports whether arg is the name of a program on the PATH.
func isInstalled(arg string) bool {
	if strings.ContainsAny(arg, `/\`) {
		return false
	}
	_, err := exec.LookPath(arg)
	return err == nil
}

// isServerScript reports whether a script is a program rather than definitions, which call
// defineMcp or export an object.
func isServerScript(path string) bool {
	if interpreter(path) == nil {
		return false
	}
	text, err := fsutil.ReadFile(path, maxPeek)
	return err == nil && !bytes.Contains(text, []byte("defineMcp")) && !bytes.Contains(text, []byte("export default"))
}

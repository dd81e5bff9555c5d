package mcpb

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"unicode/utf16"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/mcpb/internal/zip"
)

// maxWindowsPath limits a path in the bundle, in UTF-16 units: Windows allows 260 in
// total, and the folder that hosts unpack into can take up to 100.
const maxWindowsPath = 160

// nameRules checks the names of files and folders against the rules of file systems.
type nameRules struct {
	*checker
	windows bool // whether the bundle supports Windows
	long    int  // number of paths that are too long there
	// longest is the longest path, for the message.
	longest string
	// severity is that of findings about Windows.
	severity check.Severity
}

// newNameRules returns the rules for paths. On Windows, some are errors instead of
// warnings.
func (c *checker) newNameRules() *nameRules {
	declared, _ := c.declared()
	n := &nameRules{
		checker:  c,
		windows:  slices.Contains(declared, "win32"),
		severity: check.Warning,
	}
	if n.windows {
		n.severity = check.Error
	}
	return n
}

// inspect reports a name that no archive may have, and one that is invalid on Windows, as an
// error if the bundle supports Windows. Folders are checked before their content.
func (n *nameRules) inspect(name string) {
	var refused *ArchiveError
	if errors.As(zip.CheckName(name), &refused) {
		n.in(name).Add(refused.Rule, "", "rename it", "%s", refused.Reason)
		return
	}
	if why := zip.WindowsFault(path.Base(name)); why != "" {
		hint := "rename it"
		if n.windows {
			hint = "rename it, exclude it with .mcpbignore, or remove win32 from compatibility.platforms"
		}
		n.in(name).Add(ruleWindowsName.As(n.severity), "", hint, "%s", why)
	}
	length := len(utf16.Encode([]rune(name)))
	if n.windows && length > maxWindowsPath {
		n.long++
		if length > len(utf16.Encode([]rune(n.longest))) {
			n.longest = name
		}
	}
}

// report warns about long paths.
func (n *nameRules) report() {
	if n.long == 0 {
		return
	}
	others := ""
	switch n.long {
	case 1:
	case 2:
		others = ", as is 1 other"
	default:
		others = fmt.Sprintf(", as are %d others", n.long-1)
	}
	n.in(n.longest).Add(ruleWindowsName.As(check.Warning), "",
		fmt.Sprintf("at most %d; bundle the server into one file, or exclude files with .mcpbignore",
			maxWindowsPath), "its path has %d characters, which is too long for Windows in the folder of a host%s",
		len(utf16.Encode([]rune(n.longest))), others)
}

package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// quote returns a text as one word of the shell of the diagnosed system.
func (d *Doctor) quote(text string) string {
	return process.ShellWordFor(d.opts.Place.OS, text)
}

// path returns a path as one word of the shell: in the home folder, with a tilde.
func (d *Doctor) path(name string) string {
	if d.opts.Place.OS == "windows" {
		return d.quote(name)
	}
	if inHome, ok := strings.CutPrefix(clients.ShortPath(name), "~/"); ok {
		return "~/" + d.quote(inHome)
	}
	return d.quote(name)
}

// lineEditors are editors with another syntax for a place than "+LINE FILE".
var lineEditors = map[string]string{
	"code":          "--goto %[1]s:%[2]d:%[3]d",
	"code-insiders": "--goto %[1]s:%[2]d:%[3]d",
	"codium":        "--goto %[1]s:%[2]d:%[3]d",
	"cursor":        "--goto %[1]s:%[2]d:%[3]d",
	"windsurf":      "--goto %[1]s:%[2]d:%[3]d",
	"zed":           "%[1]s:%[2]d:%[3]d",
	"subl":          "%[1]s:%[2]d:%[3]d",
	"hx":            "%[1]s:%[2]d:%[3]d",
	"notepad":       "%[1]s",
}

// edit returns the command that opens a file at a place in the user's editor: $VISUAL,
// $EDITOR, or one that is installed.
func (d *Doctor) edit(file string, line, column int) string {
	file = d.path(file)
	editor := d.editor()
	program := editor
	if words := strings.Fields(editor); len(words) > 0 {
		program = baseName(words[0])
	}
	if form, ok := lineEditors[program]; ok {
		return editor + " " + fmt.Sprintf(form, file, max(line, 1), max(column, 1))
	}
	return fmt.Sprintf("%s +%d %s", editor, max(line, 1), file)
}

// editor returns the command of the user's editor.
func (d *Doctor) editor() string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if value, _ := d.opts.Place.LookupEnv(name); strings.TrimSpace(value) != "" {
			return value
		}
	}
	if d.opts.Place.OS == "windows" {
		return "notepad"
	}
	for _, name := range []string{"nano", "vim"} {
		if d.available(name) {
			return name
		}
	}
	return "vi"
}

// editAt returns the command that opens the place of a reporter.
func (d *Doctor) editAt(r check.Reporter) string {
	f := r.Finding(ruleEntry, "", "", "")
	return d.edit(f.File, f.Line, f.Column)
}

// unlock returns the command that makes a file readable whose reading failed with err.
func (d *Doctor) unlock(file string, err error) string {
	info, statErr := os.Stat(file)
	switch {
	case statErr == nil && info.IsDir():
		return d.setAside(file)
	case errors.Is(err, fs.ErrPermission) && d.opts.Place.OS == "windows":
		return "icacls " + d.path(file) + ` /grant "%USERNAME%:F"`
	case errors.Is(err, fs.ErrPermission):
		return "chmod u+rw " + d.path(file)
	}
	return d.edit(file, 1, 1)
}

// setAside returns the command that renames a file or folder.
func (d *Doctor) setAside(path string) string {
	command := "mv "
	if d.opts.Place.OS == "windows" {
		command = "move "
	}
	return command + d.path(path) + " " + d.path(path+".old")
}

// prependPath returns the command that puts a folder first on the PATH of the shell.
func (d *Doctor) prependPath(folder string) string {
	if d.opts.Place.OS == "windows" {
		return "set PATH=" + folder + ";%PATH%"
	}
	return "export PATH=" + d.quote(folder) + `:"$PATH"`
}

// removeEntry returns how to remove an entry: with Slipway if it wrote the entry, and
// otherwise in the editor.
func (d *Doctor) removeEntry(f *clientFile, name string) string {
	state, err := clients.OpenState(d.opts.StateDir)
	if err == nil && d.opts.StateDir != "" {
		ours := state.Servers(&clients.Selection{
			Clients: []string{f.client.ID},
			Scope:   f.scope,
			Servers: []string{name},
		})
		if len(ours) > 0 {
			return fmt.Sprintf("slipway config remove %s --client %s --scope %s", d.quote(name), f.client.ID, f.scope)
		}
	}
	return f.edit(d, name)
}

// edit returns the command that opens an entry of a client's file.
func (f *clientFile) edit(d *Doctor, name string) string {
	at := slices.IndexFunc(f.Entries, func(e clients.FileEntry) bool { return e.Name == name })
	if at < 0 {
		return d.edit(f.path, 1, 1)
	}
	return d.edit(f.path, f.Entries[at].Line, f.Entries[at].Column)
}

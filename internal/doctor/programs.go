package doctor

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/internal/process"
)

// programsTable lists programs that start servers, and how they are installed. Of the
// commands, the first applies whose "when" is a program on the PATH, or a variable ($NAME)
// that is set. One that is "old" may install an old version.
//
//go:embed programs.json
var programsTable []byte

// product is a row of the table.
type product struct {
	Name     string
	Programs []string
	Page     string
	Install  []struct {
		When, Run string
		Old       bool
	}
}

var products = sync.OnceValue(func() (all []product) {
	if err := json.Unmarshal(programsTable, &all); err != nil {
		panic(err)
	}
	return all
})

// productOf returns the product with a program, or nil.
func productOf(program string) *product {
	for _, p := range products() {
		if slices.Contains(p.Programs, program) {
			return &p
		}
	}
	return nil
}

// install returns how to install a program; upgrade, how to get its newest version.
func (d *Doctor) install(command string, upgrade bool) string {
	program := baseName(command)
	if own := d.opts.Program; own != "" && program == baseName(own) {
		return d.link(own)
	}
	p := productOf(program)
	if p == nil {
		return "install " + process.ShellWord(program) + ", or replace the command by the full path of the program"
	}
	for _, i := range p.Install {
		if d.available(i.When) && !(upgrade && i.Old) {
			return i.Run
		}
	}
	return "install " + p.Name + " from " + p.Page
}

// available reports whether a program is on the PATH, or the variable $NAME is set.
func (d *Doctor) available(when string) bool {
	if name, ok := strings.CutPrefix(when, "$"); ok {
		value, _ := d.opts.Place.LookupEnv(name)
		return value != ""
	}
	_, err := d.lookPath(when, nil)
	return err == nil
}

// link returns the command that makes programs available to all programs of the system.
func (d *Doctor) link(files ...string) string {
	if d.opts.Place.OS == "windows" {
		return "add the folder " + filepath.Dir(files[0]) + " to the Path variable of your account, and log in again"
	}
	words := []string{"sudo ln -s"}
	for _, file := range files {
		words = append(words, process.ShellWord(file))
	}
	return strings.Join(append(words, "/usr/local/bin/"), " ")
}

// desktopFolders are the folders in which apps started by the desktop find programs, without
// those that a login shell adds. On Windows, apps and shells have the same.
var desktopFolders = map[string][]string{
	"darwin": {"/usr/bin", "/bin", "/usr/sbin", "/sbin"},
	"linux": {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/games",
		"/usr/local/games", "/snap/bin"},
}

// onDesktop reports whether desktop apps find a program in its folder.
func (d *Doctor) onDesktop(file string) bool {
	folders := desktopFolders[d.opts.Place.OS]
	return folders == nil || slices.Contains(folders, filepath.Dir(file))
}

// desktopHint returns how to make a program available to a desktop app.
func (d *Doctor) desktopHint(file, client string) string {
	if d.opts.Place.OS == "darwin" {
		return fmt.Sprintf(`launchctl setenv PATH "$PATH", and restart %s; again after each login`, client)
	}
	files := []string{file}
	if p := productOf(baseName(file)); p != nil { // npx needs node, and uvx needs uv
		for _, program := range p.Programs {
			other := filepath.Join(filepath.Dir(file), program)
			if _, err := d.lookPath(other, nil); err == nil && other != file {
				files = append(files, other)
			}
		}
	}
	return d.link(files...)
}

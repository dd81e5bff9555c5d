package doctor

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/check"
)

// programsTable lists programs that start servers, and how they are installed. Of the
// commands, the first applies whose "when" is a program on the PATH, or a variable ($NAME)
// that is set. One that is "old" may install an old version, and one with "upgrade" needs
// an installed version.
//
//go:embed programs.json
var programsTable []byte

// product is a row of the table.
type product struct {
	// Name is the product, Programs the commands that it installs, and Page its website.
	Name     string
	Programs []string
	Page     string
	// Install are the ways to install it, the first suitable one first.
	Install []struct {
		When, Run    string
		Old, Upgrade bool
	}
}

// products returns the embedded table. It is parsed once, on first use, and a malformed table
// is a mistake of the build.
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

// provide returns how to make a missing program available: the command that installs it, or
// that opens the place with its name.
func (d *Doctor) provide(r check.Reporter, command string) string {
	program := baseName(command)
	if own := d.opts.Program; own != "" && program == baseName(own) {
		return d.link(own)
	}
	if filepath.Base(command) == command { // a path may be wrong; a name is that of a product
		if hint := d.install(program, false); hint != "" {
			return hint
		}
	}
	if r.File != "" {
		return d.editAt(r)
	}
	return "install " + d.quote(program) + ", or type the full path of the program"
}

// install returns how to install a program, or "" if it is unknown; upgrade, how to get its
// newest version.
func (d *Doctor) install(program string, upgrade bool) string {
	p := productOf(program)
	if p == nil {
		return ""
	}
	for _, i := range p.Install {
		if d.available(i.When) &&
			!(upgrade && i.Old) &&
			(upgrade || !i.Upgrade) {
			return d.asRoot(i.Run)
		}
	}
	if p.Page == "" {
		return ""
	}
	return "install " + p.Name + " from " + p.Page
}

// asRoot removes sudo from a command where it is not installed, as in containers.
func (d *Doctor) asRoot(command string) string {
	if d.available("sudo") {
		return command
	}
	return strings.TrimPrefix(command, "sudo ")
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
		const set = `powershell -Command "[Environment]::SetEnvironmentVariable('Path', ` +
			`[Environment]::GetEnvironmentVariable('Path','User') + ';%s', 'User')"`
		return fmt.Sprintf(set, filepath.Dir(files[0]))
	}
	words := []string{"sudo ln -s"}
	for _, file := range files {
		words = append(words, d.quote(file))
	}
	return d.asRoot(strings.Join(append(words, "/usr/local/bin/"), " "))
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

// desktopNote is what to know about the command of desktopHint.
func (d *Doctor) desktopNote() string {
	if d.opts.Place.OS == "darwin" {
		return "; set it again after each login, and restart the app"
	}
	return ""
}

// desktopHint returns the command that makes a program available to desktop apps.
func (d *Doctor) desktopHint(file string) string {
	if d.opts.Place.OS == "darwin" {
		return `launchctl setenv PATH "$PATH"`
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

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/stax/clients"
)

// defaultsHelp explains [defaultFiles].
const defaultsHelp = `Without a FILE, the definitions are those of the project, if the current folder
has a slipway.yaml or mcp.yaml, and otherwise your own, which "slipway add"
writes.`

// projectFile returns the definitions file of the project in the current folder, or "".
func projectFile() string {
	for _, base := range []string{"slipway", "mcp"} {
		for _, ext := range []string{".yaml", ".yml", ".json", ".jsonc", ".toml"} {
			if base == "mcp" && ext == ".json" {
				continue // the manifest of a site, or the file of a client
			}
			info, err := os.Stat(base + ext)
			if err == nil && info.Mode().IsRegular() {
				return base + ext
			}
		}
	}
	return ""
}

// userFile returns the definitions file of the user.
func userFile() (string, error) {
	file, err := clients.DefinitionsFile()
	if err != nil {
		return "", badInput("set HOME", "%v", err)
	}
	return file, nil
}

// stateDir returns the state folder of the user.
func stateDir() (string, error) {
	dir, err := clients.StateDir()
	if err != nil {
		return "", badInput("set HOME, or SLIPWAY_STATE_DIR to a folder", "no state folder: %v", err)
	}
	return dir, nil
}

// clientFileFailure returns the failure for a client whose file has no path: the client has
// none in the scope, or the home folder is unknown.
func clientFileFailure(command string, err error) *failure {
	var path *fs.PathError
	if errors.As(err, &path) {
		return badInput("set HOME", "%s: %v", command, err)
	}
	return usage("slipway config clients lists files and scopes", "%s: %v", command, err)
}

// defaultFiles returns the definitions files of a command: the given ones, or else the file
// of the project or of the user. The scope of client files is that of the definitions,
// unless a flag sets it; with a flag, only the definitions of that scope are used.
func defaultFiles(
	cmd *cobra.Command,
	files []string,
	scope *clients.Scope,
) ([]string, error) {
	if len(files) > 0 {
		return files, nil
	}
	typed := scope != nil && cmd.Flags().Changed("scope")
	own, err := userFile()
	if err != nil {
		return nil, err
	}
	project := projectFile()
	if project != "" && !(typed && *scope == clients.User) {
		return []string{project}, nil
	}
	if _, err := os.Stat(own); err != nil || typed && *scope != clients.User {
		return nil, usage("name one, or add a server: slipway add SOURCE",
			"%s: no definitions in this folder or in %s", cmd.Name(), filepath.Dir(own))
	}
	if scope != nil {
		*scope = clients.User
	}
	return []string{own}, nil
}

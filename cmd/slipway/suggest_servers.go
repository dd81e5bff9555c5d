package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// definedServers returns the sorted names of the servers in definitions files. Scripts are
// not run for it.
func definedServers(files ...string) []string {
	var all []string
	for _, file := range files {
		format := stax.FormatOf(file)
		if format == 0 || format == stax.Script {
			continue
		}
		doc, _, err := stax.ReadFile(file)
		if err != nil {
			continue // the command reports it
		}
		all = append(all, names(doc.Config.Servers, func(s stax.Server) string {
			return s.Name
		})...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// writtenServers returns the names of the selected entries in files of clients.
func writtenServers(s *clients.Selection) []string {
	state, err := openState()
	if err != nil {
		return nil // the command reports it
	}
	return state.Servers(s)
}

// fromLedger completes the names of entries that Slipway wrote, of the chosen clients.
func fromLedger(
	cmd *cobra.Command,
	args []string,
	prefix string,
) ([]string, cobra.ShellCompDirective) {
	scope := clients.Scope(cmd.Flags().Lookup("scope").Value.String())
	list := func(*cobra.Command, []string) []string {
		return writtenServers(&clients.Selection{Scope: scope})
	}
	return eachOnce(list)(cmd, args, prefix)
}

// removable completes the name of a server that was added in the scope of the flag.
func removable(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, offerWords
	}
	file := projectFile()
	if cmd.Flags().Lookup("scope").Value.String() == string(clients.User) {
		own, err := userFile()
		if err != nil {
			return nil, offerWords
		}
		file = own
	}
	if file == "" {
		return nil, offerWords
	}
	all := definedServers(file)
	if path, err := filepath.Abs(file); err == nil {
		all = append(all, writtenServers(&clients.Selection{Sources: []string{path}})...)
	}
	slices.Sort(all)
	return slices.Compact(all), offerWords
}

// filesOrServer completes [FILE...] SERVER: files, and the servers of the files so far or
// of the default definitions.
func filesOrServer(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	files, err := defaultFiles(cmd, args, nil)
	if err != nil {
		return nil, offerFiles
	}
	return definedServers(files...), offerFiles
}

// serversOfFiles completes --server with the servers of the definitions among the
// arguments.
func serversOfFiles(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return definedServers(args...), offerWords
}

// optionsOfBundle completes --set with the options of the bundle among the arguments.
func optionsOfBundle(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var keys []string
	for _, arg := range args {
		m := manifestOf(arg)
		if m == nil {
			continue
		}
		for _, o := range m.UserConfig {
			if !o.Sensitive { // its value does not belong on a command line
				keys = append(keys, o.Key+"=")
			}
		}
	}
	return keys, offerStarts
}

// manifestOf returns the manifest of a bundle or its folder, or nil.
func manifestOf(path string) *mcpb.Manifest {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if info.IsDir() {
		return readManifest(os.DirFS(path))
	}
	archive, err := mcpb.OpenArchive(path, nil)
	if err != nil {
		return nil
	}
	defer archive.Close()
	return readManifest(archive.FS())
}

// readManifest returns the manifest of a bundle, or nil if it has no valid one.
func readManifest(fsys fs.FS) *mcpb.Manifest {
	m, err := mcpb.ReadManifest(fsys)
	if err != nil {
		return nil // the command reports it
	}
	return m
}

package open

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/sitebuild/docs"
	"github.com/slipway-mcp/slipway/sitebuild/gopkg"
	"github.com/slipway-mcp/slipway/sitebuild/mapping"
	"github.com/slipway-mcp/slipway/sitebuild/openapi"
	"github.com/slipway-mcp/slipway/sitebuild/table"
)

// sniffBytes is the number of bytes read to detect the type of a file.
const sniffBytes = 64 << 10

// beginning returns the first bytes of a file, or fewer if it cannot be read.
func beginning(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, sniffBytes)) // unreadable files are not recognized
	return text
}

func regular(info fs.FileInfo) bool { return info != nil && info.Mode().IsRegular() }

// hasExt reports whether a file name has one of the extensions.
func hasExt(name string, extensions ...string) bool {
	for _, ext := range extensions {
		if strings.EqualFold(filepath.Ext(name), ext) {
			return true
		}
	}
	return false
}

// isAPI reports whether arg is an OpenAPI document.
func isAPI(arg string, info fs.FileInfo) bool {
	return regular(info) && hasExt(arg, ".json", ".yaml", ".yml") && openapi.Reads(beginning(arg))
}

func openAPI(arg string, _ *BuildOptions) (sitebuild.Input, error) { return openapi.New(arg, nil) }

// isGo reports whether arg is a folder with Go packages that is not itself a site.
func isGo(arg string, info fs.FileInfo) bool {
	if info == nil || !info.IsDir() {
		return false
	}
	if _, err := os.Stat(filepath.Join(arg, manifest)); err == nil {
		return false
	}
	return gopkg.Reads(arg)
}

func openGo(arg string, _ *BuildOptions) (sitebuild.Input, error) { return gopkg.New(arg, nil) }

// isMapping reports whether arg is a slipway.site.yaml, or a folder with one.
func isMapping(arg string, info fs.FileInfo) bool {
	_, ok := mapping.Find(arg)
	return info != nil && ok
}

func openMapping(arg string, _ *BuildOptions) (sitebuild.Input, error) {
	file, ok := mapping.Find(arg)
	if !ok {
		file = arg // given explicitly as one
	}
	return mapping.New(file)
}

// Settings returns the output settings in a slipway.site.yaml, or nil if arg is not one.
func Settings(arg string) (*mapping.Settings, error) {
	file, ok := mapping.Find(arg)
	if !ok {
		return nil, nil
	}
	in, err := mapping.New(file)
	if err != nil {
		return nil, unreadable(arg, err)
	}
	settings, err := in.Settings()
	if err != nil {
		return nil, unreadable(arg, err)
	}
	return settings, nil
}

// isBuilt reports whether a site is built in memory when arg is opened.
func isBuilt(arg string, info fs.FileInfo) bool {
	if info.IsDir() {
		if _, err := os.Stat(filepath.Join(arg, manifest)); err == nil {
			return false
		}
	}
	for _, fits := range []func(string, fs.FileInfo) bool{isMapping, isGo, isDocuments, isAPI, servesTable} {
		if fits(arg, info) {
			return true
		}
	}
	return false
}

// memoryRows is the maximum number of table rows served from memory.
const memoryRows = 200_000

// inMemory returns the input for arg, for a site that only Slipway's own reader reads.
func inMemory(arg string, info fs.FileInfo) (sitebuild.Input, error) {
	switch {
	case isMapping(arg, info), isGo(arg, info):
	case isDocuments(arg, info):
		// Slipway's reader answers searches from the index; files for single words are
		// for other readers, which have no access to this memory.
		return documents(arg, &docs.Options{TermFiles: -1})
	case !isAPI(arg, info) && isTable(arg, info):
		return table.New(arg, &table.Options{MaxRows: memoryRows})
	}
	return Builder(arg, nil)
}

// isTable reports whether arg is a table file.
func isTable(arg string, info fs.FileInfo) bool { return regular(info) && table.Reads(arg) }

func openTable(arg string, o *BuildOptions) (sitebuild.Input, error) {
	return table.New(arg, &table.Options{Table: table.Table{Key: o.Key}})
}

// servesTable reports whether a file that is given as a source is a table: a JSON object
// is more likely to be server definitions.
func servesTable(arg string, info fs.FileInfo) bool {
	if !isTable(arg, info) || !hasExt(arg, ".json") {
		return isTable(arg, info)
	}
	return bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(beginning(arg), []byte("\ufeff")), " \t\r\n"), []byte("["))
}

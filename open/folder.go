package open

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

func openFolder(ctx context.Context, arg string, opts *Options) (mcp.Source, error) {
	site, err := staticmcp.OpenDir(ctx, arg, opts.Site)
	if err == nil {
		return site, nil
	}
	entries, readErr := os.ReadDir(arg)
	hasManifest := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == manifest })
	if readErr != nil || hasManifest {
		return nil, unreadable(arg, err)
	}
	return nil, &Error{
		Arg:  arg,
		Why:  "the folder has no mcp.json, " + describe(entries),
		Hint: siteBelow(arg, entries),
		Err:  err,
	}
}

// manifest is the file that makes a folder a site.
const manifest = "mcp.json"

// describe lists the first few entries of a folder.
func describe(entries []os.DirEntry) string {
	if len(entries) == 0 {
		return "it is empty"
	}
	const few = 5
	names := make([]string, 0, few)
	for _, e := range entries[:min(few, len(entries))] {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	text := "only " + strings.Join(names, ", ")
	if more := len(entries) - few; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// maxLooks limits the number of folders searched for a hint.
const maxLooks = 1000

// siteBelow returns a hint that names a site one or two folders below, where generators
// put their output.
func siteBelow(dir string, entries []os.DirEntry) string {
	looks := 0
	found := ""
	var look func(dir string, entries []os.DirEntry, depth int)
	look = func(dir string, entries []os.DirEntry, depth int) {
		for _, e := range entries {
			if found != "" || looks >= maxLooks || !e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" {
				continue
			}
			looks++
			sub := filepath.Join(dir, e.Name())
			if info, err := os.Stat(filepath.Join(sub, manifest)); err == nil && info.Mode().IsRegular() {
				found = sub
				return
			}
			if depth > 1 {
				continue
			}
			if below, err := os.ReadDir(sub); err == nil {
				look(sub, below, depth+1)
			}
		}
	}
	look(dir, entries, 1)
	if found == "" {
		return reads
	}
	return "did you mean " + found + "?"
}

// notFound returns the error for a missing path, with a similar existing name as the
// hint.
func notFound(arg string, err error) *Error {
	e := &Error{Arg: arg, Why: "no such file or folder", Err: err}
	path := filepath.Clean(arg)
	dir := filepath.Dir(path)
	entries, readErr := os.ReadDir(dir)
	if readErr != nil {
		e.Hint = firstMissing(path)
		if authority, _, _ := strings.Cut(arg, "/"); strings.Contains(authority, ":") && looksLikeHost(arg) {
			e.Hint = "did you mean https://" + arg + "?"
		}
		return e
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if near := nearest.DidYouMean(filepath.Base(path), names); near != "" {
		e.Hint = "did you mean " + filepath.Join(dir, near) + "?"
	} else if looksLikeHost(arg) {
		e.Hint = "did you mean https://" + arg + "?"
	}
	return e
}

// firstMissing returns a hint that names the first missing folder in path.
func firstMissing(path string) string {
	missing := ""
	for p := filepath.Dir(path); ; p = filepath.Dir(p) {
		if _, err := os.Stat(p); err == nil || p == filepath.Dir(p) {
			break
		}
		missing = p
	}
	if missing == "" {
		return ""
	}
	return "there is no folder " + missing
}

// looksLikeHost reports whether arg could be a URL without a scheme.
func looksLikeHost(arg string) bool {
	host, _, _ := strings.Cut(arg, "/")
	return strings.Contains(host, ".") &&
		!strings.HasPrefix(host, ".") &&
		!strings.HasSuffix(host, ".") &&
		fs.ValidPath(host) &&
		!slices.Contains([]string{".zip", ".json", ".mcpb", ".dxt"}, strings.ToLower(filepath.Ext(host)))
}

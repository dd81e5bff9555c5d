package open

import (
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/sitebuild/docs"
)

// isDocuments reports whether arg is a Markdown folder that is not itself a site, a
// Markdown file, or an llms.txt.
func isDocuments(arg string, info fs.FileInfo) bool {
	if info == nil || !info.IsDir() {
		return isLLMS(arg) || regular(info) && docs.IsDocument(arg)
	}
	folder := os.DirFS(arg)
	if _, err := fs.Stat(folder, manifest); err == nil {
		return false
	}
	for _, answers := range []string{"tools/*.json", "tools/*/*.json", "resources/*.json"} {
		if found, _ := fs.Glob(folder, answers); len(found) > 0 {
			return false // a site that lost its manifest
		}
	}
	return docs.HasDocuments(folder)
}

// isLLMS reports whether arg is an llms.txt or llms-full.txt, as a file or URL.
func isLLMS(arg string) bool {
	switch strings.ToLower(path.Base(strings.ReplaceAll(arg, `\`, "/"))) {
	case "llms.txt", "llms-full.txt":
		return true
	}
	return false
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func openDocuments(arg string, o *BuildOptions) (sitebuild.Input, error) {
	opts := &docs.Options{
		Name: o.Name, Title: o.Title, Version: o.Version, Instructions: o.Instructions,
		Language: o.Language, BaseURL: o.BaseURL, Drafts: o.Drafts, TermFiles: o.WordFiles,
		NoSections: o.NoSections,
	}
	if o.NoPictures {
		opts.MaxImageBytes = -1
	}
	return documents(arg, opts)
}

func documents(arg string, opts *docs.Options) (sitebuild.Input, error) {
	if isLLMS(arg) {
		return docs.LLMS(arg, opts)
	}
	if docs.IsDocument(arg) && !isFolder(arg) {
		return docs.OneFile(arg, opts)
	}
	return docs.Dir(arg, opts)
}

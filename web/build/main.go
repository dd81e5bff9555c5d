// Command build bundles the page of slipway inspect from web/src into inspect/dist, and copies axe-core
// into internal/axe. It also bundles the search widget of sites into internal/edge/widget.
//
//	npm ci --prefix web
//	go run -C web/build .
//	go run -C web/build . -check
//
// The same source gives the same bytes on every machine: esbuild is pinned by go.mod, the npm
// packages by package-lock.json, and the compressed files have no name and no time.
//
// What esbuild has bundled goes through a second minifier and a slow compressor, which are npm packages and run in
// Node.js: the page is 6 % smaller than without them.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// maxPage limits what is loaded before the page is usable: HTML, script and styles together,
// compressed. maxTotal includes the rooms that are loaded later.
const (
	maxPage  = 56_000
	maxTotal = 83_000
)

// page is what the bundle is built from and where it goes. Each is a folder or file.
type page struct {
	web string // source, with node_modules
	// dist is the folder of the bundle, which is committed.
	dist string
}

func main() {
	check := flag.Bool("check", false, "compare with the files in inspect/dist, and write nothing")
	root := flag.String("root", "../..", "the repository")
	flag.Parse()
	if flag.NArg() > 0 {
		fail(fmt.Errorf("unexpected argument %q", flag.Arg(0)))
	}
	p := &page{
		web:  filepath.Join(*root, "web"),
		dist: filepath.Join(*root, "inspect", "dist"),
	}
	files, err := p.bundle()
	if err != nil {
		fail(err)
	}
	if *check {
		err = p.compare(files)
	} else {
		err = p.write(files)
	}
	if err == nil {
		err = p.report()
	}
	err = errors.Join(err,
		newAxe(*root).update(*check),
		newWidget(*root).update(*check))
	if err != nil {
		fail(err)
	}
}

// fail prints an error and exits.
func fail(err error) {
	fmt.Fprintln(os.Stderr, "build:", err)
	os.Exit(1)
}

// bundle returns the files of the page by name, not compressed.
func (p *page) bundle() (map[string][]byte, error) {
	if _, err := os.Stat(filepath.Join(p.web, "node_modules", "preact")); err != nil {
		return nil, errors.New("the npm packages are missing\nhint: npm ci --prefix web")
	}
	web, err := filepath.Abs(p.web)
	if err != nil {
		return nil, err
	}
	result := api.Build(api.BuildOptions{
		EntryPoints:       []string{"src/main.tsx"},
		AbsWorkingDir:     web,
		Outdir:            web,
		EntryNames:        "entry",
		ChunkNames:        "[name]",
		Splitting:         true,
		Bundle:            true,
		Write:             false,
		Format:            api.FormatESModule,
		Target:            api.ES2023,
		Charset:           api.CharsetUTF8,
		LegalComments:     api.LegalCommentsNone,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		NodePaths:         []string{filepath.Join(web, "node_modules")}, // for files outside web
		// Its calls are shorter than those of the automatic one.
		JSX:         api.JSXTransform,
		JSXFactory:  "createElement",
		JSXFragment: "Fragment",
		Inject:      []string{filepath.Join(web, "src", "jsx.ts")},
		TsconfigRaw: `{}`,
		LogLevel:    api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		return nil, fmt.Errorf("%d errors in web/src", len(result.Errors))
	}
	files := map[string][]byte{}
	for _, f := range result.OutputFiles {
		name := filepath.Base(f.Path)
		if _, twice := files[name]; twice {
			return nil, fmt.Errorf("two files are named %s", name)
		}
		files[name] = f.Contents
	}
	if err := renameEntry(files); err != nil {
		return nil, err
	}
	for name, content := range files {
		if !strings.HasSuffix(name, ".js") {
			continue
		}
		if files[name], err = smaller(p.web, "script", content); err != nil {
			return nil, err
		}
	}
	index, err := os.ReadFile(filepath.Join(p.web, "index.html"))
	if err != nil {
		return nil, err
	}
	files["index.html"] = index
	return files, nil
}

// renameEntry gives the files their names in index.html. With a part that is loaded later,
// esbuild puts the code into a file named chunk, and the entry only imports it.
func renameEntry(files map[string][]byte) error {
	files["app.css"] = files["entry.css"]
	delete(files, "entry.css")
	chunk := files["chunk.js"]
	if chunk == nil {
		files["app.js"] = files["entry.js"]
		delete(files, "entry.js")
		return nil
	}
	if len(files["entry.js"]) > 200 {
		return errors.New("more.ts must import main.tsx, so that the page is one file")
	}
	delete(files, "entry.js")
	delete(files, "chunk.js")
	delete(files, "more.css") // the same as app.css
	files["app.js"] = chunk
	for name, content := range files {
		if strings.HasSuffix(name, ".js") {
			files[name] = bytes.ReplaceAll(content, []byte(`"./chunk.js"`), []byte(`"./app.js"`))
		}
	}
	return nil
}

// report prints the size of each file in inspect/dist, and fails if the page is too large.
func (p *page) report() error {
	have, err := p.present()
	if err != nil {
		return err
	}
	first, later := 0, 0
	for _, stored := range slices.Sorted(maps.Keys(have)) {
		packed, err := os.ReadFile(filepath.Join(p.dist, stored))
		if err != nil {
			return err
		}
		if !strings.HasSuffix(stored, ".gz") {
			if packed, err = smaller(p.web, "gzip", packed); err != nil {
				return err
			}
		}
		name := strings.TrimSuffix(stored, ".gz")
		fmt.Printf("%-12s %7d bytes, %6d compressed\n", name, len(have[stored]), len(packed))
		if name == "app.js" || name == "app.css" || name == "index.html" {
			first += len(packed)
		} else {
			later += len(packed)
		}
	}
	fmt.Printf("at first %d, in all %d bytes compressed\n", first, first+later)
	if first > maxPage || first+later > maxTotal {
		return fmt.Errorf("the page may have %d bytes compressed at first, and %d in all", maxPage, maxTotal)
	}
	return nil
}

// write replaces the files in inspect/dist, and removes those that the page no longer has.
func (p *page) write(files map[string][]byte) error {
	have, err := p.present()
	if err != nil {
		return err
	}
	for name := range have {
		_, keep := files[strings.TrimSuffix(name, ".gz")]
		if !keep || name != storedName(name) {
			if err := os.Remove(filepath.Join(p.dist, name)); err != nil {
				return err
			}
		}
	}
	for name, content := range files {
		stored := storedName(name)
		if bytes.Equal(have[stored], content) {
			continue // another version of the compressor may write other bytes
		}
		if stored != name {
			if content, err = smaller(p.web, "gzip", content); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(p.dist, stored), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compare returns an error if inspect/dist is not what the source gives.
func (p *page) compare(files map[string][]byte) error {
	have, err := p.present()
	if err != nil {
		return err
	}
	var different []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		stored := storedName(name)
		if !bytes.Equal(have[stored], files[name]) {
			different = append(different, stored)
		}
		delete(have, stored)
	}
	different = append(different, slices.Sorted(maps.Keys(have))...)
	if len(different) == 0 {
		return nil
	}
	return fmt.Errorf("inspect/dist is not what web/src gives: %s\nhint: run go run -C web/build . and commit its output",
		strings.Join(different, ", "))
}

// present returns the contents of the files in inspect/dist by stored name, unpacked.
func (p *page) present() (map[string][]byte, error) {
	files := map[string][]byte{}
	err := filepath.WalkDir(p.dist, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(p.dist, path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, ".gz") {
			content = unpack(content)
		}
		files[filepath.ToSlash(name)] = content
		return nil
	})
	return files, err
}

// storedName returns the name of a file in inspect/dist. Package inspect fills in index.html,
// so that one is not compressed.
func storedName(name string) string {
	if strings.HasSuffix(name, ".html") || strings.HasSuffix(name, ".gz") {
		return name
	}
	return name + ".gz"
}

// smaller makes a script or a compressed file (verb "script" or "gzip") smaller than Go packages do.
func smaller(web, verb string, content []byte) ([]byte, error) {
	cmd := exec.Command("node", filepath.Join(web, "build", "smaller.mjs"), verb)
	cmd.Stdin = bytes.NewReader(content)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("node smaller.mjs %s: %w\nhint: install Node.js 20 or newer, then npm ci --prefix web",
			verb, err)
	}
	return out, nil
}

// unpack returns nil for a damaged file, which then differs from every other.
func unpack(packed []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	return content
}

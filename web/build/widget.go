package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// unrelated matches the table of related words, which the widget does not have: with it, English
// has 22 kB.
var unrelated = regexp.MustCompile(`related: "(?:[^"\\]|\\.)*"`)

// maxWidget limits the search widget in every language, compressed as hosts do it.
const maxWidget = 20_000

// widget is the search widget of sites: the core, which is the same for every language, and a
// part with the stemmer and the stop words of each. internal/edge joins them.
type widget struct {
	// js is the folder of the sources, and dist that of the result.
	js, dist string
}

// newWidget returns the widget with its paths in the repository.
func newWidget(root string) *widget {
	return &widget{
		js:   filepath.Join(root, "internal", "edge", "js"),
		dist: filepath.Join(root, "internal", "edge", "widget"),
	}
}

// update writes the parts, or compares them with the committed ones.
func (w *widget) update(check bool) error {
	core, err := w.core()
	if err != nil {
		return err
	}
	stems, err := filepath.Glob(filepath.Join(w.js, "stems", "*.js"))
	if err != nil {
		return err
	}
	files := map[string][]byte{"core.js": core}
	for _, stem := range stems {
		part, err := w.language(stem)
		if err != nil {
			return err
		}
		name := filepath.Base(stem)
		files[name] = part
		size, err := compressedSize(append(part, core...))
		if err != nil {
			return err
		}
		if size > maxWidget {
			return fmt.Errorf("the search widget with %s has %d bytes compressed, at most %d", name, size, maxWidget)
		}
	}
	if !check {
		if err := os.MkdirAll(w.dist, 0o755); err != nil {
			return err
		}
	}
	for name, text := range files {
		path := filepath.Join(w.dist, name)
		if !check {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				return err
			}
			continue
		}
		if old, err := os.ReadFile(path); err != nil || !bytes.Equal(old, text) {
			return fmt.Errorf("%s is out of date\nhint: go run -C web/build . writes it", path)
		}
	}
	return nil
}

// core bundles the widget. Its language is in the variable S, which the other part sets.
func (w *widget) core() ([]byte, error) {
	folder, err := filepath.Abs(w.js)
	if err != nil {
		return nil, err
	}
	options := minified()
	options.EntryPoints = []string{filepath.Join(folder, "widget", "widget.js")}
	options.Bundle = true
	options.Plugins = []api.Plugin{{Name: "language", Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: `^\./(stem|tables)\.js$`},
			func(args api.OnResolveArgs) (api.OnResolveResult, error) {
				if args.Namespace == "language" { // the real tables
					return api.OnResolveResult{Path: filepath.Join(folder, args.Path)}, nil
				}
				return api.OnResolveResult{Path: args.Path, Namespace: "language"}, nil
			})
		build.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "language"},
			func(args api.OnLoadArgs) (api.OnLoadResult, error) {
				text := "export const stem = S.stem;"
				if strings.Contains(args.Path, "tables") {
					text = "export * from './tables.js'; export const LANGUAGE = S.LANGUAGE; export const LANGUAGES = {};"
				}
				return api.OnLoadResult{Contents: &text, ResolveDir: folder}, nil
			})
	}}}
	return output(api.Build(options))
}

// language returns the part for one language.
func (w *widget) language(stem string) ([]byte, error) {
	var text strings.Builder
	for _, name := range []string{filepath.Join(w.js, "snowball.js"), stem} {
		part, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		text.Write(unrelated.ReplaceAll(part, []byte(`related: ""`)))
	}
	options := minified()
	options.Stdin = &api.StdinOptions{
		Contents:   strings.ReplaceAll(text.String(), "\nexport ", "\n") + "\nS = { stem, LANGUAGE };\n",
		Sourcefile: filepath.Base(stem),
	}
	return output(api.Build(options))
}

// minified returns the options of scripts that pages load: one file without globals, and the
// comments of licences kept.
func minified() api.BuildOptions {
	return api.BuildOptions{
		Write:             false,
		Format:            api.FormatIIFE,
		Target:            api.ES2022,
		Charset:           api.CharsetUTF8,
		LegalComments:     api.LegalCommentsInline,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		TreeShaking:       api.TreeShakingTrue,
		TsconfigRaw:       `{}`,
		LogLevel:          api.LogLevelWarning,
	}
}

// output returns the only file of a build. Warnings and errors were already printed.
func output(result api.BuildResult) ([]byte, error) {
	if len(result.Errors) > 0 || len(result.OutputFiles) != 1 {
		return nil, errors.New("the search widget cannot be bundled")
	}
	return result.OutputFiles[0].Contents, nil
}

// compressedSize returns the size that a web host sends, which the budget of the widget
// limits.
func compressedSize(text []byte) (int, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return 0, err
	}
	if _, err := z.Write(text); err != nil {
		return 0, err
	}
	err = z.Close()
	return b.Len(), err
}

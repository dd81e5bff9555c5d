package recall

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/bench/install"
)

// Corpus is a documentation that a registry provides.
type Corpus struct {
	// Name names the file with the questions.
	Name string
	// Kind says what sort of documentation it is.
	Kind string
	// Tuned marks a corpus that the weights of the search were chosen with.
	Tuned bool

	from   source
	pkg    string // the package, with its version where the registry keeps old ones
	folder string // of the documents in the package
}

// source downloads a package and returns the folder with its files.
type source func(ctx context.Context, pkg, cache string) (dir string, err error)

// Corpora are the measured documentations.
var Corpora = []Corpus{
	{"fiber", "library reference, 61 pages", true, goModule, "github.com/gofiber/fiber/v3@v3.1.0", "docs"},
	{"ai", "SDK, guides and reference, 238 pages", true, npmPackage, "ai@6.0.326", "package/docs"},
	{"next", "web framework, two editions side by side, 475 pages", false, npmPackage, "next@16.4.6", "package/dist/docs"},
	{"nodejs", "API of a runtime, 64 long pages", false, debianPackage, "nodejs-doc", "usr/share/doc/nodejs/api"},
	{"loki", "operations of a service, 203 pages", false, goModule, "github.com/grafana/loki/v3@v3.7.8", "docs/sources"},
}

// Fetch downloads the documents once and returns their folder.
func (c *Corpus) Fetch(ctx context.Context) (string, error) {
	root, err := install.Root(ctx)
	if err != nil {
		return "", err
	}
	dir, err := c.from(ctx, c.pkg, filepath.Join(root, ".cache", "recall", c.Name))
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", c.pkg, err)
	}
	return filepath.Join(dir, filepath.FromSlash(c.folder)), nil
}

// goModule downloads a module with the go command, and returns its folder in the module
// cache.
func goModule(ctx context.Context, pkg, _ string) (string, error) {
	out, err := install.Output(ctx, os.TempDir(), "go", "mod", "download", "-json", pkg)
	var said struct{ Dir, Error string }
	if json.Unmarshal([]byte(out), &said) == nil && said.Error != "" {
		return "", errors.New(said.Error)
	}
	return said.Dir, err
}

// npmPackage downloads and unpacks an npm package once, and returns its folder.
func npmPackage(ctx context.Context, pkg, cache string) (string, error) {
	return once(cache, func(dir string) error {
		out, err := install.Output(ctx, dir, "npm", "pack", "--silent", pkg)
		if err != nil {
			return err
		}
		archive := filepath.Join(dir, strings.TrimSpace(out))
		return errors.Join(untar(archive, dir), os.Remove(archive))
	})
}

// debianPackage unpacks the version that the machine's distribution has. Documents that
// the package compressed are decompressed.
func debianPackage(ctx context.Context, pkg, cache string) (string, error) {
	return once(cache, func(dir string) error {
		if _, err := install.Output(ctx, dir, "apt-get", "download", pkg); err != nil {
			return err
		}
		archives, err := filepath.Glob(filepath.Join(dir, "*.deb"))
		if err != nil || len(archives) != 1 {
			return fmt.Errorf("apt-get downloaded %d files", len(archives))
		}
		if _, err := install.Output(ctx, dir, "dpkg-deb", "-x", archives[0], dir); err != nil {
			return err
		}
		return filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".md.gz") {
				return err
			}
			return gunzip(name, strings.TrimSuffix(name, ".gz"))
		})
	})
}

// once fills a folder, unless an earlier run has.
func once(dir string, fill func(dir string) error) (string, error) {
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	partial := dir + ".partial"
	if err := errors.Join(os.RemoveAll(partial), os.MkdirAll(partial, 0o755)); err != nil {
		return "", err
	}
	if err := fill(partial); err != nil {
		return "", err
	}
	return dir, os.Rename(partial, dir)
}

// most bounds what is unpacked of one file.
const most = 64 << 20

func gunzip(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	plain, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	return save(to, plain)
}

// untar unpacks the documents of a compressed archive.
func untar(archive, dir string) error {
	in, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer in.Close()
	plain, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if ext := path.Ext(h.Name); ext != ".md" && ext != ".mdx" || !filepath.IsLocal(h.Name) {
			continue
		}
		if err := save(filepath.Join(dir, filepath.FromSlash(h.Name)), r); err != nil {
			return err
		}
	}
}

// save writes at most the limit of a corpus file to name, and creates its folder.
func save(name string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(from, most))
	if err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// Command httpreference generates the StaticMCP site in examples/http-reference from the
// tables in this folder.
//
//	go run ./scripts/httpreference -out examples/http-reference
//
// Files with the right content are left unchanged, and nothing is ever deleted: files in
// the folders of the site that no longer belong to it are listed for review.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:generate go run . -out ../../examples/http-reference

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "httpreference: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("httpreference", flag.ContinueOnError)
	out := flags.String("out", "", "folder of the site")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" || flags.NArg() > 0 {
		return errors.New("usage: httpreference -out FOLDER")
	}
	files, err := build()
	if err != nil {
		return err
	}
	written := 0
	for _, path := range slices.Sorted(maps.Keys(files)) {
		changed, err := write(filepath.Join(*out, filepath.FromSlash(path)), files[path])
		if err != nil {
			return err
		}
		if changed {
			written++
		}
	}
	fmt.Fprintf(stdout, "%d files, %d of them written\n", len(files), written)
	stale, err := strays(os.DirFS(*out), files)
	for _, path := range stale {
		fmt.Fprintf(stdout, "does not belong to the site: %s\n", path)
	}
	return err
}

// write writes a temporary file first, so that readers never see an incomplete file. It
// reports whether the file changed.
func write(path string, data []byte) (changed bool, err error) {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".httpreference-*")
	if err != nil {
		return false, err
	}
	defer os.Remove(temp.Name()) // fails after the rename, as intended
	_, err = temp.Write(data)
	if err := errors.Join(err, temp.Chmod(0o644), temp.Close()); err != nil {
		return false, err
	}
	return true, os.Rename(temp.Name(), path)
}

// strays lists the files in the folders of the site that are not part of it.
func strays(dir fs.FS, files map[string][]byte) ([]string, error) {
	var found []string
	err := fs.WalkDir(dir, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if _, ours := files[path]; !ours && strings.Contains(path, "/") {
			found = append(found, path)
		}
		return nil
	})
	return found, err
}

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
)

// axe is the file of axe-core that goes into the binary, for user interfaces of tools.
type axe struct {
	web    string // with node_modules
	source string // of the npm package
	packed string // in internal/axe
}

// newAxe returns the accessibility checker with its paths in the repository.
func newAxe(root string) *axe {
	return &axe{
		web:    filepath.Join(root, "web"),
		source: filepath.Join(root, "web", "node_modules", "axe-core", "axe.min.js"),
		packed: filepath.Join(root, "internal", "axe", "axe.min.js.gz"),
	}
}

// update writes the file, or only compares it if check is true.
func (a *axe) update(check bool) error {
	want, err := os.ReadFile(a.source)
	if err != nil {
		return err
	}
	have, err := os.ReadFile(a.packed)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	switch {
	case bytes.Equal(unpack(have), want):
		return nil // another version of the compressor may write other bytes
	case check:
		return errors.New("internal/axe is not that of web/package-lock.json\n" +
			"hint: run go run -C web/build . and commit its output")
	}
	packed, err := smaller(a.web, "gzip", want)
	if err != nil {
		return err
	}
	return os.WriteFile(a.packed, packed, 0o644)
}

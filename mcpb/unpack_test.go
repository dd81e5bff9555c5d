package mcpb_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcpb"
)

// smallManifest is a valid manifest for a bundle with the file server/index.js.
const smallManifest = `{"manifest_version": "0.3", "name": "x y", "version": "1.2.3", "description": "d",
"author": {"name": "a"},
  "server": {"type": "node", "entry_point": "server/index.js", "mcp_config": {"command": "node",
"args": ["${__dirname}/server/index.js"]}}}
`

// write writes an archive to a file in a new folder and returns its path.
func write(t *testing.T, a *rawArchive) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.mcpb")
	if err := os.WriteFile(name, a.bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// list returns the files below dir with their modes.
func list(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		rel, _ := filepath.Rel(dir, name)
		got[filepath.ToSlash(rel)] = info.Mode().String()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestUnpack(t *testing.T) {
	name := write(t, &rawArchive{entries: []rawEntry{
		{name: "manifest.json", content: []byte(smallManifest)},
		{name: "server/run", content: []byte("#!/bin/sh\n"), mode: 0o106777 << 16},
		{name: "server/lib/a", content: []byte("a"), mode: 0o100666 << 16},
		{name: "server/b", content: []byte("b")},
		{name: "empty/", mode: 0o040777 << 16},
	}})
	want := map[string]string{
		"manifest.json": "-rw-r--r--",
		"server/run":    "-rwxr-xr-x",
		"server/lib/a":  "-rw-r--r--",
		"server/b":      "-rw-r--r--",
	}
	dir := filepath.Join(t.TempDir(), "new")
	calls, last := 0, int64(0)
	report, err := mcpb.Unpack(t.Context(), name, dir,
		&mcpb.UnpackOptions{Progress: func(done, all int64) { calls++; last = all - done }})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list(t, dir), want); diff != "" {
		t.Error(diff)
	}
	if report.Files != 4 ||
		report.Dir != dir ||
		cmp.Diff(report.Executable, []string{"server/run"}) != "" ||
		calls != 4 ||
		last != 0 {
		t.Errorf("got %+v, %d calls, %d left", report, calls, last)
	}
	if _, err := os.Stat(filepath.Join(dir, "empty")); err != nil {
		t.Error(err)
	}
	if _, err := mcpb.Unpack(t.Context(), name, dir, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("into a folder that is not empty: %v", err)
	}
	t.Chdir(t.TempDir())
	if report, err = mcpb.Unpack(t.Context(), name, "", nil); err != nil || report.Dir != "x-y-1.2.3" {
		t.Errorf("got %+v, %v", report, err)
	}
}

// TestUnpackNothing ensures that refused archives leave no files.
func TestUnpackNothing(t *testing.T) {
	good := files("manifest.json", "{}", "a", "aaaa")
	tests := map[string]*rawArchive{
		"unsafe":         {entries: append(good[:2:2], rawEntry{name: "../x"})},
		"wrong checksum": {entries: append(good[:2:2], rawEntry{name: "b", content: []byte("b"), crc: p(uint32(7))})},
	}
	for name, archive := range tests {
		t.Run(name, func(t *testing.T) {
			above := t.TempDir()
			_, err := mcpb.Unpack(t.Context(), write(t, archive), filepath.Join(above, "new"), nil)
			var refused *mcpb.ArchiveError
			if !errors.As(err, &refused) {
				t.Errorf("got %v", err)
			}
			if got := list(t, above); len(got) > 0 {
				t.Errorf("left behind: %v", got)
			}
		})
	}
}

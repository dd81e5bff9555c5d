package interop_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const bundleManifest = `{
  "manifest_version": "0.3", "name": "foreign", "version": "1.0.0",
  "description": "Goes from one program to another.", "author": {"name": "interop"},
  "server": {"type": "node", "entry_point": "server/index.js",
    "mcp_config": {"command": "node", "args": ["${__dirname}/server/index.js"]}}
}
`

// bundleFolder writes a small server that includes what is easily lost: a script, an
// empty file, a non-ASCII name, and a file too large to be packed in one piece.
func bundleFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"manifest.json":   bundleManifest,
		"server/index.js": "console.log('x')\n",
		"server/run.sh":   "#!/bin/sh\n",
		"server/empty":    "",
		"server/café.txt": "é",
		"server/large.js": strings.Repeat("// a line that says nothing new\n", 50_000),
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// succeed runs a program that must succeed, and returns its output.
func succeed(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// referenceCLI runs the reference CLI for bundles.
func referenceCLI(t *testing.T, args ...string) string {
	t.Helper()
	tools := nodeTools(t)
	return succeed(t, tools.node(), append([]string{tools.module("@anthropic-ai/mcpb/dist/cli/cli.js")}, args...)...)
}

// sameFiles compares the files of two folders.
func sameFiles(t *testing.T, got, want string) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(want, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		rel, err := filepath.Rel(want, path)
		a, errA := os.ReadFile(path)
		b, errB := os.ReadFile(filepath.Join(got, rel))
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs: %d bytes, want %d", rel, len(b), len(a))
		}
		return errors.Join(err, errA, errB)
	})
	if err != nil || n == 0 {
		t.Errorf("%d files, %v", n, err)
	}
}

// TestBundleToReference unpacks a bundle packed by slipway with the reference CLI.
func TestBundleToReference(t *testing.T) {
	dir, tmp := bundleFolder(t), t.TempDir()
	bundle, out := filepath.Join(tmp, "x.mcpb"), filepath.Join(tmp, "out")
	succeed(t, slipway, "bundle", "pack", dir, bundle)
	referenceCLI(t, "unpack", bundle, out)
	sameFiles(t, out, dir)
	if info, err := os.Stat(filepath.Join(out, "server", "run.sh")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("the script cannot be executed: %v, %v", info.Mode(), err)
	}
}

// TestBundleFromReference checks and unpacks a bundle packed by the reference CLI with
// slipway.
func TestBundleFromReference(t *testing.T) {
	dir, tmp := bundleFolder(t), t.TempDir()
	bundle, out := filepath.Join(tmp, "x.mcpb"), filepath.Join(tmp, "out")
	referenceCLI(t, "pack", dir, bundle)
	succeed(t, slipway, "bundle", "validate", bundle)
	succeed(t, slipway, "bundle", "unpack", bundle, out)
	sameFiles(t, out, dir)
}

// TestBundleSignedByReference verifies a bundle signed by the reference CLI, whose own
// verify calls it unsigned, and removes the signature.
func TestBundleSignedByReference(t *testing.T) {
	dir, tmp := bundleFolder(t), t.TempDir()
	bundle := filepath.Join(tmp, "x.mcpb")
	succeed(t, slipway, "bundle", "pack", dir, bundle)
	before, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	referenceCLI(t, "sign", "--self-signed", bundle)
	if said := succeed(t, slipway, "bundle", "verify", bundle); !strings.Contains(said, ": self-signed\n") {
		t.Errorf("verify says %s", said)
	}
	signed, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	signed[40] ^= 1
	changed := filepath.Join(tmp, "changed.mcpb")
	if err := os.WriteFile(changed, signed, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(slipway, "bundle", "verify", changed).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "tampered") {
		t.Errorf("a changed bundle: %v, %s", err, out)
	}
	succeed(t, slipway, "bundle", "unsign", bundle)
	if after, err := os.ReadFile(bundle); err != nil || !bytes.Equal(after, before) {
		t.Errorf("without its signature it is not what it was: %v", err)
	}
}

// TestBundleSignedForStrictReaders opens a bundle signed by slipway with yauzl, a strict
// zip reader, and with the reference CLI.
func TestBundleSignedForStrictReaders(t *testing.T) {
	tools := nodeTools(t)
	dir, tmp := bundleFolder(t), t.TempDir()
	bundle, out := filepath.Join(tmp, "x.mcpb"), filepath.Join(tmp, "out")
	succeed(t, slipway, "bundle", "pack", dir, bundle)
	succeed(t, slipway, "bundle", "sign", bundle, "--self-signed", "--keys", filepath.Join(tmp, "keys"))
	said := succeed(t, tools.node(), "-e", `
const yauzl = require(process.argv[1]);
yauzl.open(process.argv[2], {lazyEntries: true, strictFileNames: true, validateEntrySizes: true}, (err, zip) => {
  if (err) throw err;
  let files = 0;
  zip.on("entry", entry => zip.openReadStream(entry, (err, stream) => {
    if (err) throw err;
    stream.on("end", () => { files++; zip.readEntry(); });
    stream.resume();
  }));
  zip.on("end", () => console.log("files:", files));
  zip.readEntry();
});`, tools.module("yauzl"), bundle)
	if strings.TrimSpace(said) != "files: 6" {
		t.Errorf("yauzl says %s, want files: 6", said)
	}
	referenceCLI(t, "unpack", bundle, out)
	sameFiles(t, out, dir)
}

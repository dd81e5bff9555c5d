package fsutil_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// allow sets the access list of a file or folder, in SDDL.
func allow(t *testing.T, name, list string) {
	t.Helper()
	descriptor, err := windows.SecurityDescriptorFromString(list)
	if err != nil {
		t.Fatal(err)
	}
	acl, _, err := descriptor.DACL()
	if err != nil {
		t.Fatal(err)
	}
	what := windows.SECURITY_INFORMATION(windows.DACL_SECURITY_INFORMATION | windows.PROTECTED_DACL_SECURITY_INFORMATION)
	if err := windows.SetNamedSecurityInfo(name, windows.SE_FILE_OBJECT, what, nil, nil, acl, nil); err != nil {
		t.Fatal(err)
	}
}

func readableBy(t *testing.T, name string) string {
	t.Helper()
	who, err := fsutil.ReadableBy(name)
	if err != nil {
		t.Fatal(err)
	}
	return who
}

// A secret in a folder that everybody can read, as on a second drive, is private.
func TestPrivateFiles(t *testing.T) {
	dir := t.TempDir()
	allow(t, dir, "D:P(A;OICI;FA;;;WD)")
	if who := readableBy(t, dir); who != "Everyone" {
		t.Fatalf("the folder is readable by %q, want Everyone", who)
	}
	name := filepath.Join(dir, "secret")
	if err := fsutil.Create(name, 0o600, text("one")); err != nil {
		t.Fatal(err)
	}
	if who := readableBy(t, name); who != "" {
		t.Errorf("a new secret is readable by %q", who)
	}
	allow(t, name, "D:P(A;;FA;;;WD)")
	if err := fsutil.Replace(name, 0o600, text("two")); err != nil {
		t.Fatal(err)
	}
	if who := readableBy(t, name); who != "" {
		t.Errorf("a replaced secret is readable by %q", who)
	}
	log, err := fsutil.OpenShared(filepath.Join(dir, "log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if who := readableBy(t, log.Name()); who != "" {
		t.Errorf("a log is readable by %q", who)
	}
}

func TestReplaceKeepsAccessList(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(name, []byte("one"), 0o666); err != nil {
		t.Fatal(err)
	}
	allow(t, name, "D:P(A;;FA;;;WD)")
	if err := fsutil.Replace(name, 0o666, text("two")); err != nil {
		t.Fatal(err)
	}
	if who := readableBy(t, name); who != "Everyone" {
		t.Errorf("the replacement is readable by %q, want Everyone, as before", who)
	}
}

// A log is rotated while it is open.
func TestOpenSharedIsRenamed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	f, err := fsutil.OpenShared(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = f.WriteString("one")
	if err := errors.Join(err, os.Rename(name, name+".1")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(" two"); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(name + ".1"); string(got) != "one two" {
		t.Errorf("the log holds %q, %v", got, err)
	}
}

func TestLongNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 120), strings.Repeat("e", 120))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, strings.Repeat("f", 60))
	if err := fsutil.Create(name, 0o600, text("x")); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string]string{filepath.Base(name): "x"})
}

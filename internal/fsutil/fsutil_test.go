package fsutil_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func broken(w io.Writer) error {
	_, err := io.WriteString(w, "half")
	return errors.Join(err, errors.New("no more"))
}

// holds fails t unless dir contains exactly these files, by name and content.
func holds(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		content, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		if w, ok := want[e.Name()]; !ok || w != string(content) {
			t.Errorf("%s holds %q, want %q (%v)", e.Name(), content, w, ok)
		}
	}
	if len(entries) != len(want) {
		t.Errorf("%d entries, want %d", len(entries), len(want))
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	if err := fsutil.Create(name, 0o640, broken); err == nil {
		t.Error("a failed write made a file")
	}
	holds(t, dir, nil)
	if err := fsutil.Create(name, 0o640, text("one")); err != nil {
		t.Fatal(err)
	}
	if err := fsutil.Create(name, 0o640, text("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want that it exists", err)
	}
	if err := fsutil.Replace(name, 0o640, broken); err == nil {
		t.Error("a failed write replaced a file")
	}
	holds(t, dir, map[string]string{"a": "one"})
	if info, err := os.Stat(name); err != nil || hasModes && info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := fsutil.Replace(dir, 0o600, text("three")); err == nil {
		t.Error("a folder was replaced by a file")
	}
}

func TestReplaceFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	err := os.Symlink("a", link)
	if _, unreadable := os.Readlink(link); !hasModes && unreadable != nil {
		t.Skipf("this system, or this user, has no links: %v", errors.Join(err, unreadable))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := fsutil.Replace(link, 0o600, text("two")); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(link); target != "a" || err != nil {
		t.Errorf("the link is gone: %v", err)
	}
	holds(t, dir, map[string]string{"a": "two", "link": "two"})
}

func TestTakenMeanwhile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a")
	err := fsutil.Create(name, 0o600, func(io.Writer) error { return os.WriteFile(name, []byte("theirs"), 0o600) })
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want that it exists", err)
	}
	holds(t, filepath.Dir(name), map[string]string{"a": "theirs"})
}

func TestCreateDir(t *testing.T) {
	fill := func(tmp string) error { return os.WriteFile(filepath.Join(tmp, "f"), []byte("x"), 0o600) }
	dir := t.TempDir()
	err := fsutil.CreateDir(filepath.Join(dir, "n"), func(tmp string) error {
		return errors.Join(fill(tmp), errors.New("no more"))
	})
	if err == nil {
		t.Error("a failed fill made a folder")
	}
	holds(t, dir, nil)
	for name, prepare := range map[string]func(string) error{
		"new":   func(string) error { return nil },
		"empty": func(name string) error { return os.Mkdir(name, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			into := filepath.Join(dir, name)
			if err := errors.Join(prepare(into), fsutil.CreateDir(into, fill)); err != nil {
				t.Fatal(err)
			}
			holds(t, into, map[string]string{"f": "x"})
		})
	}
	if err := fsutil.CreateDir(filepath.Join(dir, "new"), fill); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want that it exists", err)
	}
	taken := filepath.Join(dir, "taken")
	err = fsutil.CreateDir(taken, func(tmp string) error {
		return errors.Join(fill(tmp), os.Mkdir(taken, 0o700), os.WriteFile(filepath.Join(taken, "theirs"), nil, 0o600))
	})
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want that it exists", err)
	}
	holds(t, taken, map[string]string{"theirs": ""})
}

func TestReason(t *testing.T) {
	err := &fs.PathError{Op: "open", Path: "missing", Err: fs.ErrNotExist}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"of a path":  {fmt.Errorf("read: %w", err), "file does not exist"},
		"of no path": {errors.New("it is malformed"), "it is malformed"},
	} {
		if got := fsutil.Reason(c.err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestReplaceIf verifies that the last check of a file comes after everything that takes time, and can keep
// the file.
func TestReplaceIf(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(name, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	stale := errors.New("stale")
	written := false
	write := func(w io.Writer) error {
		written = true
		return text("two")(w)
	}
	err := fsutil.ReplaceIf(name, 0o600, write, func() error {
		if !written {
			t.Error("called before the content is written")
		}
		return stale
	})
	if !errors.Is(err, stale) {
		t.Errorf("got %v, want the error of last", err)
	}
	holds(t, filepath.Dir(name), map[string]string{"a": "one"})
	if err := fsutil.ReplaceIf(name, 0o600, write, func() error { return nil }); err != nil {
		t.Error(err)
	}
	holds(t, filepath.Dir(name), map[string]string{"a": "two"})
}

// TestCreateDirInPlace verifies that an empty folder stays the same one: it may be the current folder of a
// shell, which would be left in a deleted one, or a link to another disk.
func TestCreateDirInPlace(t *testing.T) {
	dir := t.TempDir()
	into := filepath.Join(dir, "into")
	link := filepath.Join(dir, "link")
	broken := filepath.Join(dir, "broken")
	err := errors.Join(os.Mkdir(into, 0o700), os.Symlink(into, link), os.Symlink("missing", broken))
	if err == nil {
		_, err = os.Readlink(link) // Wine makes a folder instead
	}
	if err != nil {
		t.Skip(err)
	}
	before, err := os.Stat(into)
	if err != nil {
		t.Fatal(err)
	}
	fill := func(tmp string) error {
		return errors.Join(os.WriteFile(filepath.Join(tmp, "f"), []byte("x"), 0o600),
			os.Mkdir(filepath.Join(tmp, "below"), 0o755))
	}
	err = fsutil.CreateDir(into, func(tmp string) error { return errors.Join(fill(tmp), errors.New("no more")) })
	if err == nil {
		t.Error("a failed fill is no error")
	}
	holds(t, into, nil)
	if err := fsutil.CreateDir(link, fill); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(into)
	if err != nil || len(entries) != 2 || entries[0].Name() != "below" || entries[1].Name() != "f" {
		t.Errorf("the target of the link has %v, %v, want f and below", entries, err)
	}
	after, err := os.Stat(into)
	if err != nil || !os.SameFile(before, after) || before.Mode() != after.Mode() {
		t.Errorf("it was replaced: %v, %v", after, err)
	}
	if target, err := os.Readlink(link); err != nil || target != into {
		t.Errorf("the link was replaced: %q, %v", target, err)
	}
	if err := fsutil.CreateDir(broken, fill); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a broken link: got %v, want that it exists", err)
	}
	if target, err := os.Readlink(broken); err != nil || target != "missing" {
		t.Errorf("the broken link was replaced: %q, %v", target, err)
	}
}

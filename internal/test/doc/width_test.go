package doc

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"testing"
	"testing/fstest"
)

// maxLine is the largest number of bytes in a line of Go.
const maxLine = 120

// checkWidth reports lines of Go files, tests included, that are too long to read.
func checkWidth(fsys fs.FS) ([]Problem, error) {
	var problems []Problem
	err := walk(fsys, func(name string) error {
		if path.Ext(name) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		number := 0
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			number++
			if len(line) > maxLine {
				problems = append(problems, Problem{name, number, fmt.Sprintf("%d bytes, at most %d", len(line), maxLine)})
			}
		}
		return nil
	})
	return problems, err
}

// TestWidth checks the Go files of this repository.
func TestWidth(t *testing.T) {
	problems, err := checkWidth(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

func TestCheckWidth(t *testing.T) {
	fits := bytes.Repeat([]byte("/"), maxLine)
	problems, err := checkWidth(fstest.MapFS{
		"core/core.go":      {Data: append(append(fits, "\n"...), fits...)},
		"core/core_test.go": {Data: append([]byte("package core\n/"), fits...)},
		"core/page.md":      {Data: append([]byte("/"), fits...)},
	})
	if err != nil || len(problems) != 1 || problems[0].Path != "core/core_test.go" || problems[0].Line != 2 {
		t.Errorf("checkWidth = %v, %v, want line 2 of core/core_test.go", problems, err)
	}
}

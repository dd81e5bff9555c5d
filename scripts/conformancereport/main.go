// Command conformancereport reads the results of a conformance suite run from a folder
// and prints the number of passed checks on one line. It fails if any check failed or
// gave a warning, or if there are no checks.
//
//	go run ./scripts/conformancereport NAME FOLDER
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: conformancereport NAME FOLDER")
		os.Exit(2)
	}
	if err := report(os.Stdout, os.Args[1], os.DirFS(os.Args[2])); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", os.Args[1]+":", err)
		os.Exit(1)
	}
}

// check is one entry of a checks.json.
type check struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"errorMessage"`
}

func report(w io.Writer, name string, results fs.FS) error {
	counts := make(map[string]int)
	scenarios := 0
	var bad []error
	err := fs.WalkDir(results, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "checks.json" {
			return err
		}
		scenarios++
		text, err := fs.ReadFile(results, path)
		if err != nil {
			return err
		}
		var checks []check
		if err := json.Unmarshal(text, &checks); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, c := range checks {
			counts[c.Status]++
			if c.Status != "SUCCESS" && c.Status != "INFO" && c.Status != "SKIPPED" {
				bad = append(bad, fmt.Errorf("%s %s: %s", c.Status, c.ID, c.Message))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%-26s %2d scenarios, %3d checks passed, %d skipped, %d bad\n",
		name, scenarios, counts["SUCCESS"], counts["SKIPPED"], len(bad))
	if counts["SUCCESS"] == 0 {
		return errors.New("no check ran")
	}
	return errors.Join(bad...)
}

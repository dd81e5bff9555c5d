package open

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/sitebuild"
)

// Builder returns the input that builds a site from arg. An error is an [*Error].
func Builder(arg string, opts *sitebuild.InputOptions) (sitebuild.Input, error) {
	arg = normalize(arg)
	input, err := sitebuild.Open(arg, opts)
	if _, missing := os.Stat(arg); errors.Is(missing, fs.ErrNotExist) && !strings.Contains(arg, "://") {
		return nil, notFound(arg, missing)
	}
	if err != nil {
		return nil, noInput(arg, err)
	}
	return input, nil
}

// noInput returns the error for an argument that no site can be built from.
func noInput(arg string, err error) *Error {
	var input *sitebuild.InputError
	if !errors.As(err, &input) {
		return unreadable(arg, err)
	}
	e := &Error{Arg: arg, Why: input.Why, Hint: input.Hint}
	if input.Ambiguous {
		e.Kind = Ambiguous
	}
	return e
}

// Settings returns the output settings in a slipway.site.yaml, or nil if arg is not one.
func Settings(arg string) (*sitebuild.MappingSettings, error) {
	file, ok := sitebuild.FindMapping(arg)
	if !ok {
		return nil, nil
	}
	in, err := sitebuild.OpenMapping(file)
	if err != nil {
		return nil, unreadable(arg, err)
	}
	settings, err := in.Settings()
	if err != nil {
		return nil, unreadable(arg, err)
	}
	return settings, nil
}

// isBuilt reports whether a site is built in memory when arg is opened. A JSON object is
// more likely to be server definitions than a table.
func isBuilt(arg string) bool {
	if _, err := os.Stat(filepath.Join(arg, manifest)); err == nil {
		return false
	}
	kind := sitebuild.KindOf(arg)
	return kind != "" && (kind != "table" || !sitebuild.IsJSONObject(arg))
}

// memoryRows is the maximum number of table rows served from memory.
const memoryRows = 200_000

// inMemory returns the input for arg, for a site that only Slipway's own reader reads. It
// answers searches from the index; files for single words are for other readers, which
// have no access to this memory.
func inMemory(arg string) (sitebuild.Input, error) {
	return sitebuild.Open(arg, &sitebuild.InputOptions{
		Documents: sitebuild.DocumentOptions{TermFiles: -1},
		Table:     sitebuild.TableOptions{MaxRows: memoryRows},
	})
}

package open

import (
	"errors"
	"strings"

	"github.com/slipway-mcp/slipway/sitebuild"
)

// Input is what a site can be built from.
type Input struct {
	sitebuild.Input
	arg string
}

// NewInput returns the input that builds a site from arg. An error is an [*Error].
func NewInput(arg string, opts *sitebuild.InputOptions) (*Input, error) {
	arg = normalize(arg)
	if !strings.Contains(arg, "://") && (opts == nil || opts.As != "crawl") {
		if _, err := stat(arg); err != nil {
			return nil, err
		}
	}
	found, err := sitebuild.Open(arg, opts)
	if err != nil {
		return nil, inputError(arg, err)
	}
	return &Input{found, arg}, nil
}

// Unwrap returns the input that does the work.
func (in *Input) Unwrap() sitebuild.Input { return in.Input }

// inputError returns the error for an argument that no site can be built from.
func inputError(arg string, err error) *Error {
	e := unreadable(arg, err)
	var why *sitebuild.InputError
	if errors.As(err, &why) {
		e.Hint = why.Hint
		if why.Ambiguous {
			e.Kind = Ambiguous
		}
	}
	return e
}

// Settings returns the output settings in a slipway.site.yaml, or nil for another input.
func (in *Input) Settings() (*sitebuild.MappingSettings, error) {
	file, ok := sitebuild.FindMapping(in.arg)
	if !ok {
		return nil, nil
	}
	mapping, err := sitebuild.OpenMapping(file)
	if err != nil {
		return nil, unreadable(in.arg, err)
	}
	settings, err := mapping.Settings()
	if err != nil {
		return nil, unreadable(in.arg, err)
	}
	return settings, nil
}

// isInput reports whether a site is built in memory when arg is opened. A JSON object
// could be a table, but is more likely to be server definitions.
func isInput(arg string) bool {
	kind := sitebuild.KindOf(arg)
	return kind != "" && !hasManifest(arg) &&
		(kind != "table" || !sitebuild.IsJSONObject(arg))
}

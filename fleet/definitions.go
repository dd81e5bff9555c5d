package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/stax"
)

// Definitions are the contents of a definitions file.
type Definitions struct {
	// Merged are the definitions of all files, after their imports.
	Merged  *stax.Merged
	Imports []string         // files that the definitions file imports
	Invalid map[string]error // servers with an invalid definition, and why

	// Secrets are values that the file itself contains, by key, and Skipped the settings
	// that definitions cannot express. Both come from imported files only.
	Secrets map[string]stax.Secret
	Skipped []error
}

// InvalidError is the finding that makes a definitions file unusable.
type InvalidError struct{ Finding check.Finding }

// Error implements the error interface.
func (e *InvalidError) Error() string { return e.Finding.String() }

// read reads and checks a definitions file. An invalid server is not an error unless
// opts.Strict is set.
func read(file string, opts *Options) (*Definitions, error) {
	doc, report, err := stax.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if len(doc.Config.Servers) == 0 && opts.Import != nil {
		if imported := opts.Import(file); imported != nil {
			return imported, nil
		}
	}
	d := &Definitions{
		Merged:  stax.Merge(doc),
		Imports: doc.Imports,
		Invalid: make(map[string]error),
	}
	if err := d.addInvalid(report, opts.Strict); err != nil {
		return nil, err
	}
	return d, d.addInvalid(d.Merged.Check(), opts.Strict)
}

// addInvalid records the invalid servers. It returns an error for findings that are not
// about a single server.
func (d *Definitions) addInvalid(report *check.Report, strict bool) error {
	invalid, whole := stax.ErrorsByServer(report)
	for name, f := range invalid {
		if strict {
			whole = append(whole, f)
		} else if d.Invalid[name] == nil {
			d.Invalid[name] = errors.New(f.String())
		}
	}
	if len(whole) == 0 {
		return nil
	}
	return &InvalidError{slices.MinFunc(whole, func(a, b check.Finding) int {
		return cmp.Compare(a.Line, b.Line)
	})}
}

// names returns the names of all servers in the file, including disabled and invalid
// ones.
func (d *Definitions) names() []string {
	names := make([]string, 0, len(d.Merged.Config.Servers))
	for i := range d.Merged.Config.Servers {
		names = append(names, d.Merged.Config.Servers[i].Name)
	}
	return names
}

// resolver returns r with the secrets in the file itself as the first store.
func (d *Definitions) resolver(r *stax.Resolver) *stax.Resolver {
	if len(d.Secrets) == 0 {
		return r
	}
	return r.With(fileSecrets(d.Secrets))
}

// fileSecrets are the secrets in a definitions file.
type fileSecrets map[string]stax.Secret

var _ stax.SecretStore = fileSecrets(nil)

// Lookup implements [stax.SecretStore].
func (s fileSecrets) Lookup(_ context.Context, key string) (stax.Secret, bool, error) {
	secret, ok := s[key]
	return secret, ok, nil
}

// String implements [stax.SecretStore].
func (s fileSecrets) String() string {
	return fmt.Sprintf("the file itself (%d)", len(s))
}

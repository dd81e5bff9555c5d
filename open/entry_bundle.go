package open

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/slipway-mcp/slipway/internal/registry"
	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/stax"
)

// describe creates a definition that starts a bundle: file is its current path, path its
// final one, source its URL or empty. The entry may already have been created from a
// document.
func (e *entries) describe(
	ctx context.Context,
	a *Addition,
	file, path, sum, source string,
) (*Addition, error) {
	info, err := mcpb.ReadInfo(ctx, file, nil)
	if err == nil && info.Signature != nil {
		err = info.Signature.Refusal()
	}
	args := []string{"bundle", "run", path, "--sha256", sum}
	if err == nil && e.opts.Signer != "" {
		args, err = e.signed(ctx, file, args)
	}
	if err != nil {
		return nil, errors.Join(unreadable(e.arg, err), a.Close())
	}
	if a.Entry == nil {
		server := stax.Server{
			Name:        cmp.Or(e.opts.Document.Name, info.Name),
			Description: info.Description,
			RegistryRef: &stax.RegistryRef{
				Package: info.Name,
				Version: info.Version,
			},
		}
		a.Entry = &registry.Entry{Config: stax.Config{Servers: []stax.Server{server}}}
	}
	s := a.Server()
	e.starts(s, args)
	s.RegistryRef.Digest = "sha256:" + sum
	if source = publicURL(source); source != "" {
		s.Metadata = map[string]string{registry.SourceKey(): source}
	}
	if err := e.options(a.Entry, info.Options); err != nil {
		return nil, errors.Join(e.fail(err,
			"slipway bundle info lists the options"), a.Close())
	}
	return a, nil
}

// publicURL returns the URL of a bundle without user and password, for the definition, which others
// may read. It is empty if the query may be a secret, such as a signature: without it, the URL would
// not work.
func publicURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	const longest = 16 // shorter values are numbers, names and versions
	query, err := url.ParseQuery(u.RawQuery)
	for name, values := range query {
		for _, value := range values {
			if len(value) > longest || stax.LooksSecret(name, value) != "" {
				return ""
			}
		}
	}
	if u.User, u.Fragment = nil, ""; err != nil || stax.LooksSecret("url", u.String()) != "" {
		return ""
	}
	return u.String()
}

// signed verifies the signer of a bundle, and returns the start arguments with the signer
// as a requirement.
func (e *entries) signed(ctx context.Context, file string, args []string) ([]string, error) {
	signer, err := mcpb.ParseSigner(e.opts.Signer)
	if err != nil {
		return nil, err
	}
	v, err := mcpb.Verify(ctx, file, signer)
	if err != nil {
		return nil, err
	}
	if v.Status != mcpb.StatusSigned {
		return nil, &mcpb.SignerError{Verification: v}
	}
	demand := e.opts.Signer
	if signer.Trust != nil { // the definition may be used from another folder
		if demand, err = filepath.Abs(demand); err != nil {
			return nil, err
		}
	}
	return append(args, "--require-signer", demand), nil
}

// options adds the options of a bundle to the definition.
func (e *entries) options(entry *registry.Entry, options []mcpb.Option) error {
	s := entry.Server()
	for given := range e.opts.Document.Values {
		if !slices.ContainsFunc(options, func(o mcpb.Option) bool {
			return o.Key == given
		}) && entry.Bundle == nil {
			return &registry.UnfitError{
				Why:     fmt.Sprintf("the bundle has no option %q", given),
				Answers: true,
			}
		}
	}
	for _, o := range options {
		value, given := e.opts.Document.Values[o.Key]
		variable := mcpb.OptionVariable(o.Key)
		if slices.Contains(s.Secrets, variable) || s.Env[variable] != "" {
			continue // already declared by the document
		}
		switch {
		case o.Sensitive:
			key := registry.SecretKey(s.Name, o.Key)
			d := stax.Declaration{
				Key:         key,
				Description: o.Title,
			}
			word := "set the secret " + key
			if d.ExposeAs.Env = variable; !o.Required {
				no := false
				d.Required = &no
				word = word + ", if needed"
			}
			s.Secrets = append(s.Secrets, key)
			entry.Config.Secrets = append(entry.Config.Secrets, d)
			entry.Todo = append(entry.Todo, word+": "+o.Description)
		case given:
			setEnv(s, variable, value)
		case o.Required && o.Default == nil:
			setEnv(s, variable, "<"+o.Key+">")
			entry.Todo = append(entry.Todo, "put a value in place of <"+o.Key+">: "+o.Description)
		}
	}
	return nil
}

// setEnv sets an environment variable of a server, and creates the map if needed.
func setEnv(s *stax.Server, name, value string) {
	if s.Env == nil {
		s.Env = map[string]string{}
	}
	s.Env[name] = value
}

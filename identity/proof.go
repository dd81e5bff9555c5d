package identity

import (
	"context"
	"errors"

	"github.com/slipway-mcp/slipway/internal/secrets"
)

// BeginProof starts a login at an issuer that only finds out who uses a browser: see
// [Begun.FinishProof]. The token is for resource, unless the settings omit that.
func (c *Client) BeginProof(
	ctx context.Context,
	issuer, resource string,
	opts *BeginOptions,
) (*Begun, error) {
	f, err := c.proofFlow(ctx, issuer, resource, opts)
	if err != nil {
		return nil, err
	}
	return f.begin(ctx, opts.Redirect)
}

// proofFlow returns the login of [Client.BeginProof], with the metadata of the issuer.
func (c *Client) proofFlow(
	ctx context.Context,
	issuer, resource string,
	opts *BeginOptions,
) (*flow, error) {
	settings := opts.Settings
	if settings == nil {
		settings = &Settings{}
	}
	if err := settings.Check(); err != nil {
		return nil, err
	}
	w := newWeb(c.allow, issuer)
	meta, err := w.authorizationServer(ctx, issuer)
	if err != nil {
		return nil, err
	}
	return &flow{
		client:   c,
		web:      w,
		server:   resource,
		tag:      opts.tag,
		settings: settings,
		scopes:   mergeScopes(settings.Scopes),
		found: &discovery{
			resource: resource,
			server:   *meta,
		},
	}, nil
}

// CheckProof verifies, by the metadata of an issuer, that [Client.BeginProof] is possible there.
// The error matches [*SetupError] if the issuer or the settings lack something that it needs. Any
// other error, such as that of an issuer which does not answer, says nothing about that.
func (c *Client) CheckProof(ctx context.Context, issuer string, opts *BeginOptions) error {
	f, err := c.proofFlow(ctx, issuer, "", opts)
	name := secrets.URL(issuer)
	const unproved = ", so its users cannot prove in a browser who they are"
	const hint = "accept callers of an issuer with a login page, or use --sign-in; or let the gateway log in: " +
		`"by": "gateway"`
	if errors.Is(err, errNoDocument) {
		return &SetupError{
			Text: name + " has no metadata that names a login page" + unproved,
			Hint: hint,
		}
	}
	if err != nil {
		return err
	}
	m := &f.found.server
	if m.AuthorizationEndpoint == "" {
		return &SetupError{
			Text: "the metadata of " + name + " has no authorization_endpoint" + unproved,
			Hint: hint,
		}
	}
	if err := f.checkCodeSupport(); err != nil {
		return err
	}
	if f.settings.Client.ID != "" || m.RegistrationEndpoint != "" {
		return nil
	}
	return &SetupError{
		Text: name + " does not register clients by itself, so the gateway cannot ask its users who they are",
		Hint: "register a client there with the callback " + opts.Redirect + ", and pass --connect-client-id ID",
	}
}

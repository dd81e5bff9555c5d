package inspect

import (
	"context"
	"errors"
	"net/http"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// findLogin finds the authorization server of a server that has refused a connection with
// 401, and adds it to the failure. Each request is a step of the attempt.
func (t *target) findLogin(ctx context.Context, attempt int, refusal error) {
	var status *client.StatusError
	if t.src.URL == "" ||
		!errors.As(refusal, &status) ||
		status.Status != http.StatusUnauthorized {
		return
	}
	steps := tap.New(t.in.feed.tap(t.id))
	found := identity.Discover(ctx, t.src.URL, &identity.DiscoverOptions{
		Challenge: status.Challenge,
		Observe: func(r identity.DiscoveryRequest) {
			answer := r.Answer()
			var failed error
			if r.Status != http.StatusOK {
				failed = errors.New(answer)
			}
			steps.Step(r.Document, r.Began, answer, failed)
		},
	})
	if ctx.Err() != nil {
		return // another attempt has begun
	}
	t.in.feed.after(func() { t.addLogin(attempt, found) })
}

// addLogin adds what was found about logins to the failure of an attempt.
func (t *target) addLogin(attempt int, found *identity.Discovery) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if attempt != t.attempt || t.failed == nil {
		return
	}
	f := *t.failed // pages may be reading it
	f.Login = &Login{
		Issuer:    t.in.clean(found.Issuer),
		Scopes:    found.Scopes,
		Registers: found.Registers,
	}
	if found.Err != nil {
		f.Login.Error = t.in.clean(found.Err.Error())
	} else {
		f.Hint = "log in with this command, then try again"
		f.Command = identity.CommandFor(t.src.URL)
		if !found.Registers {
			f.Hint = "log in with a client that " + f.Login.Issuer + " knows, then try again"
			f.Command += " --client-id ID"
		}
	}
	t.failed = &f
	t.touch()
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/identity"
	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/internal/visible"
)

// storeKeyVariable selects where the key of stored logins is: keychain, or file:PATH.
const storeKeyVariable = "SLIPWAY_STORE_KEY"

// credentialStore returns the store of logins of the current user.
func credentialStore(cmd *cobra.Command) (*identity.Store, error) {
	return openStore(cmd, "credentials", "logins")
}

// openStore returns the store in a folder of the state folder. kept is what it contains.
func openStore(cmd *cobra.Command, folder, kept string) (*identity.Store, error) {
	dir, err := stateDir()
	if err != nil {
		return nil, err
	}
	opts := &identity.StoreOptions{
		Created: func(place string) {
			say(cmd.ErrOrStderr(), "%s are encrypted with a new key in %s", kept, place)
		},
	}
	switch kind, path, _ := strings.Cut(os.Getenv(storeKeyVariable), ":"); {
	case kind == "" || kind == "keychain" && path == "":
	case kind == "file" && path != "":
		opts.KeyFile = path
	default:
		return nil, usage("", "%s: want keychain or file:PATH", storeKeyVariable)
	}
	return identity.OpenStore(filepath.Join(dir, folder), opts), nil
}

// newIdentity returns the logins of the current user. log may be nil.
func newIdentity(
	cmd *cobra.Command,
	allow []netip.Prefix,
	log *slog.Logger,
) (*identity.Client, error) {
	store, err := credentialStore(cmd)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = verboseLog(cmd)
	}
	return identity.New(&identity.Options{
		Store:        store,
		AllowNetwork: allow,
		Logger:       log,
	}), nil
}

// loginFailure returns the failure for a server that requires a login, or whose login
// cannot be used, or nil for other errors.
func loginFailure(text string, err error) *failure {
	var need *identity.LoginRequiredError
	var setup *identity.SetupError
	var store *identity.StoreError
	switch {
	case errors.As(err, &need):
		f := remoteFailed(need.Hint(), "%s", text)
		f.cause = err
		return f
	case errors.As(err, &setup):
		return remoteFailed(setup.Hint, "%s", text)
	case errors.As(err, &store):
		return badInput(store.Hint, "%s", text)
	}
	return nil
}

// loginFlag adds --login to a command that opens sources.
func loginFlag(cmd *cobra.Command) {
	cmd.Flags().Bool("login", false, "log in without asking if the server requires it (on a terminal, you are asked)")
}

// maxOffers is how many logins one command makes: the first, and one for each request that
// needs more permissions.
const maxOffers = 3

// withLogin runs a command, and again after a login if a server requires one: with
// --login, or if the user agrees on a terminal.
func withLogin(cmd *cobra.Command, run func() error) error {
	offers := &loginOffers{cmd: cmd}
	for n := 1; ; n++ {
		err := run()
		if errors.Is(err, errLoggedIn) {
			continue
		}
		var need *identity.LoginRequiredError
		if !errors.As(err, &need) ||
			n > maxOffers ||
			n > 1 && need.Repeated {
			return err
		}
		ok, loginErr := offers.make(need)
		if loginErr != nil {
			return loginErr
		}
		if !ok {
			return err
		}
	}
}

// loginOffers offers logins during one command.
type loginOffers struct {
	cmd *cobra.Command
	// lines reads what the user types, for questions and pasted addresses alike.
	lines func(context.Context) (string, error)
}

// make logs in if the user wants that.
func (o *loginOffers) make(need *identity.LoginRequiredError) (done bool, err error) {
	cmd := o.cmd
	ask := questionsOf(cmd)
	if ask != nil && o.lines == nil {
		// All logins of a command read from the same lines: a second reader would lose what the
		// first has buffered.
		o.lines = func(ctx context.Context) (string, error) { return ask.line(ctx, "") }
	}
	if auto, _ := cmd.Flags().GetBool("login"); !auto {
		// Without metadata, it is uncertain whether a login would help.
		if ask == nil || !need.Advertised {
			return false, nil
		}
		say(ask.out, "%s: %s", secrets.URL(need.Server), visible.Line(need.Error()))
		restore := prompting(ask.out)
		fmt.Fprint(ask.out, "Log in now? [Y/n] ")
		answer, err := o.lines(cmd.Context())
		restore()
		if err != nil || strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "n") {
			return false, nil
		}
	}
	allow, err := networks(cmd)
	if err != nil {
		return false, err
	}
	c, err := newIdentity(cmd, allow, nil)
	if err != nil {
		return false, err
	}
	login, err := c.Login(cmd.Context(), need.Server, &identity.LoginOptions{
		Reason:      need,
		Interaction: interaction(cmd, openLoginPage, o.lines),
	})
	if err != nil {
		return false, loginError(cmd, need.Server, err)
	}
	sayLoggedIn(cmd, login)
	return true, nil
}

// loginError returns the failure for a login that failed.
func loginError(cmd *cobra.Command, server string, err error) error {
	text := "log in to " + secrets.URL(server) + ": " + visible.Line(err.Error())
	if cmd.Context().Err() != nil {
		return interrupted(cmd, identity.CommandFor(server))
	}
	if f := blocked(text, err); f != nil {
		return f
	}
	if f := loginFailure(text, err); f != nil {
		return f
	}
	hint := "to try again: " + identity.CommandFor(server)
	var answered *identity.ServerError
	var found *identity.DiscoveryError
	if errors.As(err, &found) && !errors.As(err, &answered) {
		hint = "to see each document and its answer: slipway inspect " + shell.ShellWord(secrets.URL(server))
	}
	return remoteFailed(hint, "%s", text)
}

// sayLoggedIn reports a new login.
func sayLoggedIn(cmd *cobra.Command, l *identity.Login) {
	text := "logged in to " + secrets.URL(l.Server) + " at " + secrets.URL(l.Issuer)
	if len(l.Scopes) > 0 {
		text += ", with scope " + strings.Join(l.Scopes, " ")
	}
	say(cmd.ErrOrStderr(), "%s", visible.Line(text))
}

package main

import (
	"errors"
	"net/netip"
	"sync"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/stax"
)

const allowNetworkUsage = "also permit servers and redirects in this `network`: 10.1.0.0/16, private, loopback or " +
	"any (repeatable)"

// networkFlag adds the flag --allow-network, which networks reads.
func networkFlag(cmd *cobra.Command) {
	cmd.Flags().StringSlice("allow-network", nil, allowNetworkUsage)
}

// networks returns the value of --allow-network; nil for commands without it.
func networks(cmd *cobra.Command) ([]netip.Prefix, error) {
	if cmd.Flags().Lookup("allow-network") == nil {
		return nil, nil
	}
	words, err := cmd.Flags().GetStringSlice("allow-network")
	if err != nil {
		return nil, err
	}
	return parseNetworks(words)
}

// parseNetworks returns the networks of --allow-network. One word can name several, such as
// private.
func parseNetworks(words []string) ([]netip.Prefix, error) {
	var allow []netip.Prefix
	for _, word := range words {
		more, err := stax.ParseNetwork(word)
		if err != nil {
			return nil, usage("", "--allow-network: %v", err)
		}
		allow = append(allow, more...)
	}
	return allow, nil
}

// blocked returns the error for a blocked address, or nil for other errors.
func blocked(text string, err error) *failure {
	var refused *client.BlockedError
	if !errors.As(err, &refused) {
		return nil
	}
	return denied(allowHint(refused), "%s", text)
}

// allowHint returns how to allow a blocked address.
func allowHint(refused *client.BlockedError) string {
	return "to allow this address, add --allow-network " + refused.Address.String()
}

// noteTrouble records servers in the definitions arg that are not available. none returns the
// error for a command without any of them: a blocked address takes precedence over a
// failed server. lock is the lock that --lock names, or "".
func noteTrouble(opts *open.Options, lock, arg string) (none func() *failure) {
	var mu sync.Mutex
	var first *failure
	observe := opts.Live.Source.Observe
	opts.Live.Source.Observe = func(e client.Event) {
		if observe(e); e.What != client.EventUnavailable {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		f := blocked("no server can be reached: "+e.Name+": "+e.Err.Error(), e.Err)
		if f == nil {
			f = stranger(e.Err.Error(), e.Err, lock, arg)
		}
		// The order is that of usefulness to the user: what to permit, where to log in, and what
		// failed.
		var need *identity.LoginRequiredError
		switch {
		case f != nil:
		case errors.As(e.Err, &need) && need.Explains():
			f = loginFailure(e.Name+": "+need.Error(), e.Err)
		default:
			hint := ""
			if source := open.Argument(arg); source.IsDefinitions() {
				hint = "slipway doctor " + source.Typed() + " --start"
			}
			f = remoteFailed(hint, "no server is available: %s failed", e.Name)
			f.cause = e.Err
		}
		// The first error counts, but any with a remedy replaces a failed server.
		if first == nil || first.code == exitRemote {
			first = f
		}
	}
	return func() *failure {
		mu.Lock()
		defer mu.Unlock()
		return first
	}
}

// offersNothing reports whether a catalog is empty.
func offersNothing(cat *mcp.Catalog) bool {
	return len(cat.Tools) == 0 &&
		len(cat.Resources) == 0 &&
		len(cat.Templates) == 0 &&
		len(cat.Prompts) == 0
}

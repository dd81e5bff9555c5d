package open

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/mediatype"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/ws"
)

// LiveOptions configure how servers are started and connected to.
type LiveOptions struct {
	// Source is passed to [client.Open]; nil means the defaults.
	Source *client.Options
	// Header is added to requests to servers at a URL, for example Authorization. It is
	// not sent when probing for a site.
	Header http.Header
	// Identity supplies the tokens of servers at a URL that the user has logged in to. Nil
	// means none.
	Identity *identity.Client
	// AllowNetwork lists networks that a server at a URL may redirect to in addition to
	// the public internet and its own host.
	AllowNetwork []netip.Prefix
	// Stderr returns the writer for the stderr of a command, given the name of the
	// server. It may be called for several servers at once, and again when a server is
	// reopened. Nil discards the output; errors quote its last lines in any case.
	Stderr func(server string) io.Writer
	// KeepOut lists environment variables that commands do not inherit; a name that ends
	// in * matches all names with that prefix. Commands inherit all others, as a typed
	// command should run as it would without Slipway.
	KeepOut []string
	// Environ replaces the environment of commands, as NAME=VALUE. Values of variables
	// that are not in [client.DefaultInherit] are redacted in errors and in the output to
	// Stderr. Nil inherits the current environment, minus KeepOut.
	Environ []string
	// StopTimeout limits how long a command may take to exit, see [client.Command].
	StopTimeout time.Duration
}

// stderr returns the writer for the stderr of the server that arg names, or nil.
func (o *LiveOptions) stderr(arg string) io.Writer {
	if o.Stderr == nil {
		return nil
	}
	return o.Stderr(Argument(arg).Name())
}

// openCommand starts a server.
func openCommand(ctx context.Context, t *target, o *LiveOptions) (mcp.Source, error) {
	if t.argv == nil {
		return nil, &Error{
			Arg:  t.arg,
			Why:  "the text after exec: is not a JSON array of strings",
			Hint: "type the command as it is after --",
		}
	}
	command := &client.Command{
		Path:        t.argv[0],
		Args:        t.argv[1:],
		Inherit:     []string{},
		Env:         inherited(os.Environ(), o.KeepOut),
		Stderr:      o.stderr(t.arg),
		StopTimeout: o.StopTimeout,
	}
	if o.Environ != nil {
		command.Env = o.Environ
		usual := client.Environ(nil)
		for _, entry := range o.Environ {
			_, value, _ := strings.Cut(entry, "=")
			if len(value) >= 6 && !slices.Contains(usual, entry) {
				command.Redact = append(command.Redact, value)
			}
		}
	}
	src, err := openLive(ctx, t.arg, command, o)
	var e *Error
	if errors.As(err, &e) {
		e.Arg = "-- " + strings.Join(secrets.Command(t.argv), " ")
		if e.Hint == "" && errors.Is(err, context.DeadlineExceeded) {
			e.Hint = "run it yourself to see what it waits for: " + command.String()
		}
	}
	return src, err
}

// inherited returns env without the entries that match keepOut.
func inherited(env, keepOut []string) []string {
	return slices.DeleteFunc(env, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(keepOut, func(pattern string) bool {
			prefix, many := strings.CutSuffix(pattern, "*")
			return name == pattern || many && strings.HasPrefix(name, prefix)
		})
	})
}

// openServer opens the live server at a URL.
func openServer(
	ctx context.Context,
	arg, address string,
	o *LiveOptions,
) (mcp.Source, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, &Error{
			Arg: arg,
			Why: "not a URL with a host",
			Err: err,
		}
	}
	header := maps.Clone(o.Header)
	switch u.Scheme {
	case "http", "https":
		endpoint := &client.Endpoint{
			URL:    address,
			Header: header,
			Allow:  o.AllowNetwork,
		}
		if o.Identity != nil {
			endpoint.Credentials = o.Identity.Credentials(address, nil)
		}
		return openLive(ctx, arg, endpoint, o)
	case "ws", "wss":
		dial := func(ctx context.Context) (mcpserver.Conn, error) {
			return ws.Dial(ctx, address, &ws.DialOptions{Header: header})
		}
		return openLive(ctx, arg, &client.Dialer{
			Name: Argument(arg).Redacted(),
			Dial: dial,
		}, o)
	}
	return nil, unsupported(arg, "a URL that is not http, https, ws or wss")
}

// openLive connects to a server.
func openLive(
	ctx context.Context,
	arg string,
	transport client.Transport,
	o *LiveOptions,
) (mcp.Source, error) {
	var options client.Options
	if o.Source != nil {
		options = *o.Source
	}
	options.Name = cmp.Or(options.Name, Argument(arg).Name())
	src, err := client.Open(ctx, transport, &options)
	if err == nil {
		return src, nil
	}
	e := &Error{
		Arg:  arg,
		Why:  reasonOf(err),
		Kind: Remote,
		Err:  err,
	}
	var exit *client.ExitError
	var status *client.StatusError
	var login *identity.LoginRequiredError
	switch {
	case errors.As(err, &login):
		e.Hint = login.Hint()
	case errors.As(err, new(*client.CommandError)):
		e.Kind = Unreadable
	case errors.As(err, &exit):
		e.Hint = exit.Hint()
	case !errors.As(err, &status) || !status.Refused():
	case status.Token && o.Identity != nil && o.Header.Get("Authorization") == "":
		e.Hint = "the user who is logged in may not do this; log in as another one: " + identity.CommandFor(arg)
	case status.Token:
		e.Hint = "check the token in MCP_CLIENT_TOKEN: the server does not accept it for this"
	default:
		e.Hint = "set MCP_CLIENT_TOKEN to a bearer token for the server, or name one below secrets in definitions"
	}
	return nil, e
}

// openSiteOrServer opens a URL: as a site if it has a manifest, and otherwise as a live
// server.
func openSiteOrServer(ctx context.Context, t *target, opts *Options) (mcp.Source, error) {
	site, siteErr := openURL(ctx, t, opts)
	if siteErr == nil || nothingAnswers(siteErr) || ctx.Err() != nil ||
		strings.HasSuffix(t.arg, "/"+manifest) {
		return site, siteErr
	}
	src, err := openServer(ctx, t.arg, t.arg, opts.live())
	if err == nil {
		return src, nil
	}
	var noSite *staticmcp.SiteError
	cannotBeSite := t.url != nil && t.url.RawQuery != "" || errors.As(siteErr, &noSite) && noSite.IsServer()
	if showsServer(err) || cannotBeSite {
		return nil, err
	}
	if acceptsPosts(err) {
		return nil, neither(siteErr, err)
	}
	return nil, siteErr // nothing there speaks MCP: the site error is more useful
}

// neither returns the error for a URL that is not a site because of siteErr, and not a live
// server because of serverErr. Which of them the user meant is unknown, so it has both reasons.
func neither(siteErr, serverErr error) error {
	var asSite, asServer *Error
	if !errors.As(siteErr, &asSite) || !errors.As(serverErr, &asServer) {
		return siteErr
	}
	both := *asSite
	both.Why = fmt.Sprintf("it is not a site (%s), and %s", asSite.Why, asServer.Why)
	return &both
}

// acceptsPosts reports whether the host accepted a POST although it is not an MCP server; static
// hosts usually reject one.
func acceptsPosts(err error) bool {
	var status *client.StatusError
	return errors.As(err, &status) && status.Status < 300 || errors.As(err, new(*client.UnreadableError))
}

// refusesAccess reports whether a live server requires a token, or a different one.
func refusesAccess(err error) bool {
	var status *client.StatusError
	return errors.As(err, &status) && status.Refused()
}

// showsServer reports whether the error of a URL without a site says more than the absence of a site:
// the server requires a token, or cannot answer now, or the user's login fails.
func showsServer(err error) bool {
	var status *client.StatusError
	if errors.As(err, &status) {
		switch status.Status {
		case http.StatusTooManyRequests,
			http.StatusInternalServerError,
			http.StatusBadGateway,
			http.StatusServiceUnavailable,
			http.StatusGatewayTimeout:
			return true
		}
	}
	return refusesAccess(err) ||
		errors.As(err, new(*client.AuthorizeError)) ||
		errors.As(err, new(*mcp.Error)) ||
		errors.As(err, new(*client.BlockedError))
}

// isEventStream reports whether a response is a stream of server-sent events, which may have no end.
func isEventStream(resp *http.Response) bool {
	return mediatype.Of(resp.Header.Get("Content-Type")) == mediatype.EventStream
}

// nothingAnswers reports whether no host answered at all.
func nothingAnswers(err error) bool {
	var op *net.OpError
	var name *net.DNSError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &name)
}

package open

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/live"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/ws"
)

// LiveOptions say how servers are started and connected to.
type LiveOptions struct {
	// Source are the options of [live.Open]; nil stands for the defaults.
	Source *live.Options
	// Header is added to the requests to servers at a URL, such as Authorization.
	// It is not sent to look for a site.
	Header http.Header
	// AllowNetwork are networks to which a server at a URL may redirect besides the
	// public internet and its own host.
	AllowNetwork []netip.Prefix
	// Stderr returns the writer for what a command writes to stderr, given the name
	// of the server. It may be called for several servers at once, and again when a
	// server is opened again. Nil discards the output; errors quote its last lines
	// in any case.
	Stderr func(server string) io.Writer
	// KeepOut names variables of our environment that commands do not inherit; a
	// name that ends in * stands for all that begin so. They inherit all others:
	// whoever types a command means it to run as it would without us.
	KeepOut []string
	// Environ replaces the environment of commands, as NAME=VALUE. Values of
	// variables that are not in [live.DefaultInherit] are redacted in errors and in
	// what Stderr receives. Nil inherits ours, without KeepOut.
	Environ []string
	// StopTimeout is how long a command may take to end, see [live.Command].
	StopTimeout time.Duration
}

// stderr returns the writer for the stderr of a server, or nil.
func (o *LiveOptions) stderr(server string) io.Writer {
	if o.Stderr == nil {
		return nil
	}
	return o.Stderr(server)
}

const commandPrefix = "exec:"

// Command returns the argument that stands for a command and its arguments, for
// [Open]: exec: and a JSON array.
func Command(argv []string) string {
	encoded, _ := mcp.Marshal(argv) // strings always encode
	return commandPrefix + string(encoded)
}

// commandOf returns the command that arg stands for.
func commandOf(arg string) (argv []string, err error) {
	if err := json.Unmarshal([]byte(strings.TrimPrefix(arg, commandPrefix)), &argv); err != nil || len(argv) == 0 || argv[0] == "" {
		return nil, &Error{Arg: arg, Why: "what follows exec: is not a JSON array of strings", Err: err,
			Hint: "type the command as it is after --"}
	}
	return argv, nil
}

func openCommand(ctx context.Context, arg string, o *LiveOptions) (mcp.Source, error) {
	argv, err := commandOf(arg)
	if err != nil {
		return nil, err
	}
	command := &live.Command{
		Path: argv[0], Args: argv[1:],
		Inherit: []string{}, Env: inherited(os.Environ(), o.KeepOut),
		Stderr: o.stderr(Name(arg)), StopTimeout: o.StopTimeout,
	}
	if o.Environ != nil {
		command.Env = o.Environ
		usual := live.Environ(nil)
		for _, entry := range o.Environ {
			if _, value, _ := strings.Cut(entry, "="); len(value) >= 6 && !slices.Contains(usual, entry) {
				command.Redact = append(command.Redact, value)
			}
		}
	}
	return openLive(ctx, "-- "+strings.Join(argv, " "), Name(arg), command, o)
}

// inherited returns the entries of env but those that are kept out.
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
func openServer(ctx context.Context, arg, address string, o *LiveOptions) (mcp.Source, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, &Error{Arg: arg, Why: "not a URL with a host", Err: err}
	}
	switch u.Scheme {
	case "http", "https":
		endpoint := &live.Endpoint{URL: address, Header: maps.Clone(o.Header), Allow: o.AllowNetwork}
		return openLive(ctx, arg, Name(arg), endpoint, o)
	case "ws", "wss":
		dial := func(ctx context.Context) (mcp.Conn, error) {
			return ws.Dial(ctx, address, &ws.DialOptions{Header: maps.Clone(o.Header)})
		}
		return openLive(ctx, arg, Name(arg), &live.Dialer{Name: arg, Dial: dial}, o)
	}
	return nil, unsupported(arg, "a URL that is not http, https, ws or wss")
}

func openLive(ctx context.Context, arg, name string, transport live.Transport, o *LiveOptions) (mcp.Source, error) {
	var options live.Options
	if o.Source != nil {
		options = *o.Source
	}
	if options.Name == "" {
		options.Name = name
	}
	src, err := live.Open(ctx, transport, &options)
	if err == nil {
		return src, nil
	}
	e := &Error{Arg: arg, Why: liveReason(err, transport), Kind: Remote, Err: err}
	e.Hint = Hint(err, "")
	var missing *live.CommandError
	if command, local := transport.(*live.Command); local && e.Hint == "" && errors.Is(err, context.DeadlineExceeded) {
		e.Hint = "run it yourself to see what it waits for: " + command.String()
	}
	if errors.As(err, &missing) {
		e.Kind = Unreadable
	}
	return nil, e
}

// liveReason is the text of an error of live without the name of the server,
// which the error says already.
func liveReason(err error, transport live.Transport) string {
	return strings.TrimPrefix(err.Error(), transport.String()+": ")
}

// siteOrServer opens what is at a URL: a site if there is a manifest, and
// otherwise a live server.
func siteOrServer(ctx context.Context, arg string, opts *Options) (mcp.Source, error) {
	site, siteErr := openSiteUnlessStream(ctx, arg, opts)
	if siteErr == nil || unreachable(siteErr) || ctx.Err() != nil || strings.HasSuffix(arg, "/"+manifest) {
		return site, siteErr
	}
	src, err := openServer(ctx, arg, arg, opts.live())
	if err == nil {
		return src, nil
	}
	var said *mcp.Error
	var blocked *live.BlockedError
	if refusesAccess(err) || errors.As(err, &said) || errors.As(err, &blocked) {
		return nil, err
	}
	return nil, siteErr // nothing there speaks MCP: what is wrong with the site tells more
}

// refusesAccess reports whether a live server asks for a token, or for another one.
func refusesAccess(err error) bool {
	var status *live.StatusError
	return errors.As(err, &status) && status.Refused()
}

// openSiteUnlessStream opens a site. Some servers answer whatever is asked of them
// with an event stream that does not end, also when it is a manifest: that is
// looked for at the same time, and ends the waiting.
func openSiteUnlessStream(ctx context.Context, arg string, opts *Options) (mcp.Source, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	probed := make(chan struct{})
	go func() {
		defer close(probed)
		if isStream(ctx, strings.TrimSuffix(arg, "/")+"/"+manifest) {
			cancel()
		}
	}()
	site, err := openURL(ctx, arg, arg, opts)
	cancel()
	<-probed
	return site, err
}

// isStream reports whether a GET is answered with an event stream.
func isStream(ctx context.Context, address string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	req.Header.Set("Accept", "application/json")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close() // only the header matters
	return strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
}

// unreachable reports whether nobody was there at all.
func unreachable(err error) bool {
	var op *net.OpError
	var name *net.DNSError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &name)
}

// launchers are programs whose arguments say what runs, and the words among those
// that do not.
var (
	launchers     = []string{"npx", "node", "python", "python3", "uv", "uvx", "pipx", "bun", "bunx", "deno", "docker", "podman", "npm", "pnpm", "yarn", "go", "sh", "bash", "cmd", "env"}
	launcherWords = []string{"run", "exec", "dlx", "x", "tool", "start", "/c"}
)

// commandName returns what runs when argv does, such as server-everything for
// npx -y @modelcontextprotocol/server-everything.
func commandName(argv []string) string {
	what := filepath.Base(filepath.ToSlash(commandWord(argv)))
	if i := strings.LastIndexByte(what, '@'); i > 0 {
		what = what[:i] // a version
	}
	return strings.TrimSuffix(what, filepath.Ext(what))
}

// commandWord returns the word of argv that says what runs.
func commandWord(argv []string) string {
	base := strings.TrimSuffix(strings.ToLower(filepath.Base(argv[0])), ".exe")
	if !slices.Contains(launchers, base) {
		return argv[0]
	}
	for _, word := range argv[1:] {
		if !strings.HasPrefix(word, "-") && !slices.Contains(launcherWords, word) {
			return word
		}
	}
	return argv[0]
}

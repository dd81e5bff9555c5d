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

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/ws"
)

// LiveOptions configure how servers are started and connected to.
type LiveOptions struct {
	// Source is passed to [client.Open]; nil means the defaults.
	Source *client.Options
	// Header is added to requests to servers at a URL, for example Authorization. It is
	// not sent when probing for a site.
	Header http.Header
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

// stderr returns the writer for the stderr of a server, or nil.
func (o *LiveOptions) stderr(server string) io.Writer {
	if o.Stderr == nil {
		return nil
	}
	return o.Stderr(server)
}

const commandPrefix = "exec:"

// Command encodes a command and its arguments as an argument for [Open]: exec: and a JSON
// array.
func Command(argv []string) string {
	encoded, _ := mcp.Marshal(argv) // strings always encode
	return commandPrefix + string(encoded)
}

// commandOf decodes the command in arg.
func commandOf(arg string) (argv []string, err error) {
	if err := json.Unmarshal([]byte(strings.TrimPrefix(arg, commandPrefix)), &argv); err != nil ||
		len(argv) == 0 || argv[0] == "" {
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
	command := &client.Command{
		Path: argv[0], Args: argv[1:],
		Inherit: []string{}, Env: inherited(os.Environ(), o.KeepOut),
		Stderr: o.stderr(Name(arg)), StopTimeout: o.StopTimeout,
	}
	if o.Environ != nil {
		command.Env = o.Environ
		usual := client.Environ(nil)
		for _, entry := range o.Environ {
			if _, value, _ := strings.Cut(entry, "="); len(value) >= 6 && !slices.Contains(usual, entry) {
				command.Redact = append(command.Redact, value)
			}
		}
	}
	return openLive(ctx, "-- "+strings.Join(argv, " "), Name(arg), command, o)
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
func openServer(ctx context.Context, arg, address string, o *LiveOptions) (mcp.Source, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, &Error{Arg: arg, Why: "not a URL with a host", Err: err}
	}
	switch u.Scheme {
	case "http", "https":
		endpoint := &client.Endpoint{URL: address, Header: maps.Clone(o.Header), Allow: o.AllowNetwork}
		return openLive(ctx, arg, Name(arg), endpoint, o)
	case "ws", "wss":
		dial := func(ctx context.Context) (mcpserver.Conn, error) {
			return ws.Dial(ctx, address, &ws.DialOptions{Header: maps.Clone(o.Header)})
		}
		return openLive(ctx, arg, Name(arg), &client.Dialer{Name: arg, Dial: dial}, o)
	}
	return nil, unsupported(arg, "a URL that is not http, https, ws or wss")
}

func openLive(ctx context.Context, arg, name string, transport client.Transport, o *LiveOptions) (mcp.Source, error) {
	var options client.Options
	if o.Source != nil {
		options = *o.Source
	}
	if options.Name == "" {
		options.Name = name
	}
	src, err := client.Open(ctx, transport, &options)
	if err == nil {
		return src, nil
	}
	e := &Error{Arg: arg, Why: reasonOf(err), Kind: Remote, Err: err}
	e.Hint = Hint(err, "")
	var missing *client.CommandError
	if command, local := transport.(*client.Command); local && e.Hint == "" && errors.Is(err, context.DeadlineExceeded) {
		e.Hint = "run it yourself to see what it waits for: " + command.String()
	}
	if errors.As(err, &missing) {
		e.Kind = Unreadable
	}
	return nil, e
}

// siteOrServer opens a URL: as a site if it has a manifest, and otherwise as a live
// server.
func siteOrServer(ctx context.Context, arg string, opts *Options) (mcp.Source, error) {
	site, siteErr := openSiteUnlessStream(ctx, arg, opts)
	if siteErr == nil || nothingAnswers(siteErr) || ctx.Err() != nil || strings.HasSuffix(arg, "/"+manifest) {
		return site, siteErr
	}
	src, err := openServer(ctx, arg, arg, opts.live())
	if err == nil {
		return src, nil
	}
	var said *mcp.Error
	var blocked *client.BlockedError
	if refusesAccess(err) || errors.As(err, &said) || errors.As(err, &blocked) {
		return nil, err
	}
	return nil, siteErr // nothing there speaks MCP: the site error is more useful
}

// refusesAccess reports whether a live server requires a token, or a different one.
func refusesAccess(err error) bool {
	var status *client.StatusError
	return errors.As(err, &status) && status.Refused()
}

// openSiteUnlessStream opens a site. Some servers answer every request, even for a
// manifest, with an endless event stream. A concurrent probe detects that and cancels the
// attempt.
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

// nothingAnswers reports whether no host answered at all.
func nothingAnswers(err error) bool {
	var op *net.OpError
	var name *net.DNSError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &name)
}

// launchers are programs whose arguments name the actual program; launcherWords are
// arguments that do not.
var (
	launchers = []string{
		"npx", "node", "python", "python3", "uv", "uvx", "pipx", "bun", "bunx", "deno",
		"docker", "podman", "npm", "pnpm", "yarn", "go", "sh", "bash", "cmd", "env",
	}
	launcherWords = []string{"run", "exec", "dlx", "x", "tool", "start", "/c"}
	// launcherFlags are options that take no value, or whose value is the program. The
	// word after any other option may be its value, even a secret.
	launcherFlags = []string{
		"-y", "--yes", "-q", "--quiet", "--silent", "--offline", "--prefer-offline", "--no-cache", "--isolated",
		"--rm", "-i", "-t", "-it", "-ti", "--init", "--interactive", "--tty", "--read-only",
		"-m", "-u", "-A", "--allow-all", "--",
	}
	scripts = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".sh"}
)

// commandName returns the name of the program that argv runs, such as server-everything
// for npx -y @modelcontextprotocol/server-everything.
func commandName(argv []string) string {
	what := filepath.Base(filepath.ToSlash(commandWord(argv)))
	if i := strings.LastIndexByte(what, '@'); i > 0 {
		what = what[:i] // the version
	}
	return strings.TrimSuffix(what, filepath.Ext(what))
}

// commandWord returns the word of argv that names the program.
func commandWord(argv []string) string {
	base := strings.TrimSuffix(strings.ToLower(filepath.Base(argv[0])), ".exe")
	if !slices.Contains(launchers, base) {
		return argv[0]
	}
	for i, word := range argv[1:] {
		if !strings.HasPrefix(word, "-") && !slices.Contains(launcherWords, word) && !mayBeValue(argv[i], word) {
			return word
		}
	}
	return argv[0]
}

// mayBeValue reports whether word may be the value of before, the argument to its left.
func mayBeValue(before, word string) bool {
	return strings.HasPrefix(before, "-") && !strings.Contains(before, "=") &&
		!slices.Contains(launcherFlags, before) && !slices.Contains(scripts, filepath.Ext(word))
}

package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/stax"
)

// serveFlags are the flags of serve. Each can also be set in the environment.
type serveFlags struct {
	stdio        bool
	prefix       prefixes
	addr         string
	remote       bool
	hosts        []string
	origins      []string
	maxBody      size
	maxSite      size
	budget       budgetFlags
	postOnly     bool
	legacySSE    bool
	drainDelay   time.Duration
	drainTimeout time.Duration
	logLevel     level
	logFormat    string
	access       accessFlags
	fallback     fallbackFlags
	audit        auditFlags
	servers      serverFlags
	start        startFlags
	stateKeys    stateKeyFlags
	roster       client.Roster
	clients      mcpserver.Clients
}

func newServe() *cobra.Command {
	f := &serveFlags{maxBody: 4 << 20, maxSite: 1 << 30, logLevel: level(slog.LevelWarn)}
	cmd := &cobra.Command{
		Use:   "serve SOURCE...",
		Short: "Serve sources to MCP clients",
		Long: `Serve sources to MCP clients: over HTTP at http://127.0.0.1:8080/mcp, with
WebSocket at /ws and health checks at /livez, /readyz and /healthz, or with
--stdio over stdin and stdout to the client that started the command.

Several sources appear as one server; tools and prompts with the same name get
the name of their source as prefix. Definitions files are watched: servers are
started, stopped and replaced as they change, without failing calls. Run
"slipway ps" to see their state.

Ctrl-C or SIGTERM stops the server after the requests in flight; a second signal
stops it immediately, with exit code 130 or 143.

Every flag can also be set in the environment, as MCP_SERVER_ and its name in
upper case: MCP_SERVER_LOG_LEVEL=info. Flags take precedence. There is no flag
for these variables, which keeps secrets out of command lines:

  MCP_SERVER_PORT        port, without a host
  MCP_SERVER_TOKEN       bearer tokens
  MCP_SERVER_TOKEN_FILE  same as MCP_SERVER_AUTH_TOKEN_FILE
  MCP_SERVER_STATE_KEY   keys, in the format of --state-key-file

If tokens are configured, all requests need one, including /metrics, but not the
health checks. With --public-url the server publishes a card at
/mcp/server-card.

` + sourceHelp,
		Example: `  slipway serve examples/http-reference
  slipway serve examples/http-reference --addr 127.0.0.1:9000 --log-level info
  slipway serve examples/http-reference --rate-limit 20 --max-in-flight 100
  env MCP_SERVER_TOKEN="$(openssl rand -hex 32)" \
      slipway serve examples/http-reference
  slipway serve examples/http-reference --public-url https://mcp.example.com \
      --auth-issuer https://id.example.com
  slipway serve examples/definitions/site.yaml --lazy --idle-stop 10m
  slipway serve --stdio examples/http-reference`,
		Args: takesSource(1, -1),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("stdio") && cmd.Flags().Changed("addr") {
				return usage("leave one of them out", "serve: --stdio has no --addr")
			}
			if cmd.Flags().Changed("prefix") && f.fallback.source != "" {
				return usage("leave one of them out", "serve: --prefix is for several sources, and --fallback for one site")
			}
			for _, message := range unknownVariables(cmd.Flags(), os.Environ()) {
				say(cmd.ErrOrStderr(), "%s", message)
			}
			f.access.fromEnvironment(os.LookupEnv)
			f.stateKeys.fromEnvironment(os.LookupEnv)
			return fromEnvironment(cmd.Flags(), os.LookupEnv)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, sourceFirst(cmd, args))
		},
	}
	bundleFlags(cmd)
	lockFlags(cmd)
	flags := cmd.Flags()
	flags.Var(&f.prefix, "prefix", "`when` to prefix tools and prompts with the name of their source: collision, always or never")
	flags.BoolVar(&f.stdio, "stdio", false, "serve one client over stdin and stdout")
	flags.StringVar(&f.addr, "addr", serve.DefaultAddr, "`address` to listen on: HOST:PORT, HOST or PORT; port 0 means any free port")
	flags.BoolVar(&f.remote, "allow-remote-without-auth", false, "permit a non-loopback address without tokens: everyone who can connect can call all tools")
	flags.StringSliceVar(&f.hosts, "allow-host", nil, "additional `name` under which clients may reach the server; * means any")
	flags.StringSliceVar(&f.origins, "allow-origin", nil, "additional `origin` whose web pages may use the server, such as https://app.example.com; * means any")
	flags.Var(&f.maxBody, "max-body", "maximum `size` of a request, and of a line over stdin")
	flags.Var(&f.maxSite, "max-site-bytes", "maximum `size` of a site built in memory")
	flags.BoolVar(&f.postOnly, "post-only", false, "reject GET at the endpoint, so that sessions have no event stream")
	flags.BoolVar(&f.legacySSE, "legacy-sse", false, "also serve the HTTP+SSE transport of 2024-11-05 at /sse and /message")
	f.budget.add(flags)
	f.access.add(flags)
	f.fallback.add(flags)
	f.audit.add(flags)
	f.stateKeys.add(flags)
	f.servers.add(flags)
	f.start.add(flags)
	flags.DurationVar(&f.drainDelay, "drain-delay", 0, "`time` to keep accepting requests after a stop signal, while /readyz returns 503")
	flags.DurationVar(&f.drainTimeout, "drain-timeout", 10*time.Second, "`time` for requests in flight to finish")
	flags.Var(&f.logLevel, "log-level", "log `level` on stderr: debug, info, warn or error")
	flags.StringVar(&f.logFormat, "log-format", "text", "log `format`: text or json")
	groupFlags(cmd, "Sources", "prefix", "fallback", "fallback-write", "max-site-bytes", "no-files", "hide-app-tools",
		"set", "values", "require-signer")
	groupFlags(cmd, "Address", "addr", "stdio", "public-url", "allow-host", "allow-origin", "post-only", "legacy-sse",
		"no-websocket", "no-metrics")
	groupFlags(cmd, "TLS", "tls-cert", "tls-key")
	groupFlags(cmd, "Access", "auth-token-file", "auth-issuer", "auth-audience", "auth-jwks-url", "auth-algorithm",
		"auth-require-at-jwt", "auth-server", "require-scope", "tool-scope", "scope-implies", "state-key-file",
		"allow-remote-without-auth")
	groupFlags(cmd, "Limits", "rate-limit", "rate-burst", "max-body", "max-in-flight", "max-in-flight-per-client",
		"max-in-flight-bytes", "max-in-flight-bytes-per-client", "max-kept", "max-kept-per-client", "request-timeout",
		"drain-delay", "drain-timeout")
	groupFlags(cmd, "Logging", "log-level", "log-format", "audit-log", "audit-key", "audit-required")
	groupFlags(cmd, "Definitions", "secrets-from", "allow-network", "lazy", "idle-stop", "no-watch", "settle",
		"start-wait", "strict", "lock", "lock-policy")
	return cmd
}

func (f *serveFlags) run(cmd *cobra.Command, args []string) error {
	stderr := cmd.ErrOrStderr()
	log, err := f.logger(stderr)
	if err != nil {
		return err
	}
	ctx, stop := serve.Signals(cmd.Context(), func(os.Signal) {
		if !f.stdio {
			say(stderr, "draining requests; press Ctrl-C again to exit now")
		}
	})
	defer stop()
	audit, closeAudit, err := f.audit.open(log)
	if err != nil {
		return err
	}
	defer closeAudit()
	stateKeys, forgetKeys, err := f.stateKeys.open(log)
	if err != nil {
		return err
	}
	defer forgetKeys()
	o, err := sourceOptions(cmd, log, serverStderr(stderr, log, f.logFormat == "json"))
	if err != nil {
		return err
	}
	o.Live.Source.Observe = audited(audit, o.Live.Source.Observe)
	o.Live.Source.Roster = &f.roster
	f.clients.Single = f.stdio
	o.Live.Source.Clients = &f.clients
	o.Site, o.MaxSiteBytes = &staticmcp.Options{Logger: log}, int64(f.maxSite)
	switch {
	case f.fallback.source != "":
		f.access.sources = sourceNames([]string{args[len(args)-1],
			cmp.Or(strings.TrimPrefix(f.fallback.source, "-"), args[0])})
	case len(args) == 1:
		f.access.sources = sourceNames(args)
	}
	lock, err := newGuarding(cmd, args, true)
	if err != nil {
		return err
	}
	lock.record(audit)
	if err := lock.hold(args, o); err != nil {
		return err
	}
	defer lock.following()()
	f.servers.settles = cmd.Flags().Changed("settle")
	if err := f.servers.apply(o, log, f.access.requestTimeout); err != nil {
		return err
	}
	if err := f.start.check(); err != nil {
		return err
	}
	src, opening, err := f.open(ctx, args, o, lock, log)
	if err != nil && ctx.Err() != nil {
		return nil // stopped before anything was served
	}
	if err != nil {
		return err
	}
	defer closeSource(src)
	return explained(f.serve(ctx, cmd, src, opening, log, audit, stateKeys))
}

// open opens what is served. opening is for [serve.Options], and nil unless a source that
// is served alone takes long.
func (f *serveFlags) open(ctx context.Context, args []string, o *open.Options, lock *guarding, log *slog.Logger) (
	src mcp.Source, opening func(context.Context) (mcp.Source, error), err error,
) {
	o.Definitions.Startup.Wait = f.start.wait
	one := func(ctx context.Context) (mcp.Source, error) {
		if f.fallback.source != "" {
			return f.fallback.open(ctx, args, o, lock, log)
		}
		return openAll(ctx, args, o, lock, f.union(args, o, log))
	}
	site := args[len(args)-1] // the only source, or the one that falls back to another
	if len(args) > 1 && f.fallback.source == "" || !open.MayTakeLong(site) {
		src, err = one(ctx)
		return src, nil, err
	}
	return f.start.await(ctx, open.Title(site), one)
}

// union returns how several sources are joined: those that are named, and those in
// a file of definitions, if that is the only one named.
func (f *serveFlags) union(args []string, o *open.Options, log *slog.Logger) *compose.UnionOptions {
	join := unionOf(log)
	if len(args) == 1 && stax.FormatOf(args[0]) != 0 {
		o.Definitions.Prefix = compose.Prefix(f.prefix)
	} else {
		join.Prefix = compose.Prefix(f.prefix)
	}
	return join
}

// prefixes is the value of --prefix.
type prefixes string

func (p *prefixes) String() string { return cmp.Or(string(*p), "collision") }
func (p *prefixes) Type() string   { return "when" }

// Set implements pflag.Value.
func (p *prefixes) Set(typed string) error {
	switch typed {
	case "collision":
		*p = prefixes(compose.PrefixOnCollision)
	case string(compose.PrefixAlways), string(compose.PrefixNever):
		*p = prefixes(typed)
	default:
		return errors.New("it is collision, always or never")
	}
	return nil
}

func unionOf(log *slog.Logger) *compose.UnionOptions {
	return &compose.UnionOptions{
		Server:   mcp.Implementation{Name: "slipway", Version: thisBuild().Version},
		KeepLast: true,
		Logger:   log,
	}
}

func (f *serveFlags) serve(ctx context.Context, cmd *cobra.Command, src mcp.Source,
	opening func(context.Context) (mcp.Source, error), log *slog.Logger, audit *serve.Audit, keys *serve.StateKeys) error {
	opts := &serve.Options{
		Audit:             audit,
		StateKeys:         keys,
		RemoteWithoutAuth: f.remote,
		HTTP: mcpserver.HTTPOptions{
			AllowedHosts:   f.hosts,
			AllowedOrigins: f.origins,
			MaxBody:        int64(f.maxBody),
			PostOnly:       f.postOnly,
		},
		Server:       mcpserver.Options{Budget: f.budget.options()},
		LegacySSE:    f.legacySSE,
		DrainDelay:   f.drainDelay,
		DrainTimeout: f.drainTimeout,
		Logger:       log,
		Upstreams:    upstreams(&f.roster),
		Announce:     announcement("serve"),
		Opening:      opening,
	}
	opts.Server.Clients = &f.clients
	if err := f.access.apply(opts, log); err != nil {
		return err
	}
	stderr := cmd.ErrOrStderr()
	if f.stdio {
		if isTerminal(cmd.InOrStdin()) {
			say(stderr, "waiting for MCP messages on stdin; usually a client starts this command")
		}
		return serve.Stdio(ctx, src, cmd.InOrStdin(), cmd.OutOrStdout(), opts)
	}
	var err error
	if opts.Addr, err = address(f.addr); err != nil {
		return err
	}
	cat, err := src.Catalog(ctx)
	if err != nil {
		return err
	}
	if opening != nil {
		opts.Opening = func(ctx context.Context) (mcp.Source, error) { return offers(ctx, stderr, opening) }
	}
	opts.Started = func(info *serve.Info) {
		banner(stderr, cat, info, opts.Auth != nil && len(opts.Auth.AuthorizationServers) == 0)
	}
	return serve.Run(ctx, src, opts)
}

func (f *serveFlags) logger(w io.Writer) (*slog.Logger, error) {
	opts := &slog.HandlerOptions{Level: slog.Level(f.logLevel)}
	switch f.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(visible.JSONWriter{To: w}, opts)), nil
	}
	return nil, usage("--log-format is text or json", "serve: unknown log format %q", f.logFormat)
}

// explained returns errors about listening with their exit codes and hints.
func explained(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, serve.ErrExposed):
		return &failure{code: exitPolicy, text: err.Error(),
			hint: "listen on 127.0.0.1, ask for tokens with --auth-token-file, or say --allow-remote-without-auth if everybody who can reach it may use it"}
	case errors.Is(err, syscall.EADDRINUSE):
		return &failure{code: exitInput, text: err.Error(), hint: "--addr 127.0.0.1:0 takes any free port"}
	}
	if errors.Is(err, serve.ErrToolScope) {
		return usage("a pattern is TOOL or SOURCE/TOOL, such as get_* or weather/*; slipway ls SOURCE lists tools",
			"serve: --tool-scope: %s",
			strings.TrimPrefix(err.Error(), serve.ErrToolScope.Error()+": "))
	}
	var known *failure
	var opening *open.Error // from a source that was served before it was open
	if errors.As(err, &known) || errors.As(err, &opening) {
		return err
	}
	return &failure{code: exitInput, text: err.Error()}
}

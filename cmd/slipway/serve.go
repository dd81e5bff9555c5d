package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/fleet"
	"github.com/slipway-mcp/slipway/internal/neterror"
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
	accessFlags
	stdio   bool
	shown   compose.Edits // its Name and Title
	prefix  compose.Prefix
	maxSite int64
	// logSearches logs searches without a good answer.
	logSearches bool
	vectors     string // file of word vectors, or ""
	logLevel    level
	logFormat   string
	config      configFlags
	fallback    fallbackFlags
	audit       auditFlags
	recorder    recorder
	telemetry   telemetryFlags
	recording   currentAudit
	// closeAudit closes the log that recording returns.
	closeAudit func()
	logged     slog.LevelVar // the level of the log
	servers    serverFlags
	start      startFlags
	stateKeys  stateKeyFlags
	cluster    clusterFlags
	roster     client.Roster
	clients    mcpserver.Clients
	processes  client.Processes
}

// Values of --log-format.
const (
	logText = "text"
	logJSON = "json"
)

func newServe() *cobra.Command {
	f := &serveFlags{logLevel: level(slog.LevelWarn)}
	f.setDefaults()
	cmd := &cobra.Command{
		Use:   "serve [SOURCE...]",
		Short: "Serve sources to MCP clients",
		Long: `Serve sources to MCP clients: over HTTP at http://127.0.0.1:8080/mcp, with
WebSocket at /ws and health checks at /livez, /readyz and /healthz, or with
--stdio over stdin and stdout to the client that started the command.

Without SOURCE, sources and settings come from slipway.yaml (.yml, .json, .jsonc
or .toml) in the current folder; --config names another file, whose sources the
SOURCE arguments replace. Flags take precedence over the environment, and that
over the file. "slipway config check slipway.yaml" checks the file,
--print-config shows the result. When the file changes, and on SIGHUP, sources
are replaced and settings applied without failing calls; the log names the few
settings that need a restart.

Several sources appear as one server; tools and prompts with the same name get
the name of their source as prefix. Definitions files are watched: servers are
started, stopped and replaced as they change, without failing calls. Run
"slipway ps" to see their state.

Ctrl-C or SIGTERM stops the server after the requests in flight; a second signal
stops it immediately, with exit code 130 or 143.

Every flag can also be set in the environment, as MCP_SERVER_ and its name in
upper case: MCP_SERVER_LOG_LEVEL=info. There is no flag for these variables,
which keeps secrets out of command lines:

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
		PreRunE: f.prepare,
		RunE:    f.run,
	}
	bundleFlags(cmd)
	lockFlags(cmd)
	loginFlag(cmd)
	f.config.add(cmd.Flags())
	cmd.Flags().Bool("json", false, "print the settings as JSON, with --print-config")
	all := f.settings()
	declareSettings(cmd.Flags(), all)
	groupFlags(cmd, "Configuration", "config", "print-config", "json")
	groupSettings(cmd, all)
	groupFlags(cmd, "Address", "stdio")
	groupFlags(cmd, "Sources", "login")
	return handlesSignals(cmd)
}

// prepare completes the settings: from the environment, and then from the configuration
// file.
func (f *serveFlags) prepare(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("stdio") && cmd.Flags().Changed("addr") {
		return usage("omit one of them", "serve: --stdio has no --addr")
	}
	if wantsJSON(cmd) && !f.config.print {
		return usage("--log-format json is for logs", "serve: --json requires --print-config")
	}
	for _, message := range unknownVariables(cmd.Flags(), os.Environ()) {
		say(cmd.ErrOrStderr(), "%s", message)
	}
	f.accessFlags.fromEnvironment(os.LookupEnv)
	f.stateKeys.fromEnvironment(os.LookupEnv)
	f.config.note(cmd.Flags(), "flag")
	if err := fromEnvironment(cmd.Flags(), os.LookupEnv); err != nil {
		return err
	}
	f.config.note(cmd.Flags(), "environment")
	return f.config.load(cmd, args)
}

// run opens the sources and serves them until a signal arrives. Everything that can refuse
// the flags comes before the first source is opened, and each step undoes itself by its
// deferred call: in the reverse order, the audit log outlives the sources that write to it.
func (f *serveFlags) run(cmd *cobra.Command, args []string) error {
	stderr := cmd.ErrOrStderr()
	if f.config.print {
		return f.config.show(cmd, args)
	}
	// The file may supply the sources and every flag that was not given.
	args, names, err := f.config.sources(cmd, args)
	if err != nil {
		return err
	}
	// Logs first: everything below reports to them.
	f.logged.Set(logLevel(cmd, slog.Level(f.logLevel), cmd.Flags().Changed("log-level")))
	log := f.logger(loud(stderr))
	log, stopTelemetry, err := f.telemetry.start(cmd.Context(), &f.Options, log, &f.logged)
	if err != nil {
		return err
	}
	defer stopTelemetry()
	// Conflicts that only the environment has are warnings, reported later.
	for _, c := range f.conflicts(args) {
		if !c.outside {
			return usage(c.hint, "serve: %s", c.message)
		}
	}
	ctx, ignore := serve.Signals(cmd.Context(), func(os.Signal) {
		if !f.stdio {
			say(stderr, "draining requests; press Ctrl-C again to exit now")
		}
	})
	defer ignore()
	// What outlives the sources: the audit log, the keys, the cluster, the recording.
	var forgetKeys func()
	if f.Audit, f.closeAudit, err = f.audit.open(log); err != nil {
		return err
	}
	defer func() { f.closeAudit() }() // of the one in use then
	f.recording.Store(f.Audit)
	if f.StateKeys, forgetKeys, err = f.stateKeys.open(log); err != nil {
		return err
	}
	defer forgetKeys()
	leave, err := f.cluster.join(ctx, &f.Options, log)
	if code := signalOf(ctx); err != nil && code != 0 {
		return &failure{code: code, text: "serve: interrupted"}
	}
	if err != nil {
		return err
	}
	defer leave()
	stopRecording, err := f.record(cmd, names)
	if err != nil {
		return err
	}
	defer stopRecording()
	// How sources are opened, and what observes them.
	o, err := sourceOptions(cmd, log, serverStderr(stderr, log, f.logFormat == logJSON))
	if err != nil {
		return err
	}
	if err := f.openVault(cmd, o.Definitions.Resolver, log); err != nil {
		return err
	}
	stopCheck, err := f.openBroker(cmd, o.Definitions.Resolver, log)
	if err != nil {
		return err
	}
	defer stopCheck()
	logins := newServerLogins()
	o.Live.Source.Observe = logins.observe(audited(&f.recording, o.Live.Source.Observe))
	o.Live.Source.Roster = &f.roster
	f.clients.Single = f.stdio
	o.Live.Source.Clients = &f.clients
	f.processes.Max = f.servers.processes
	o.Live.Source.Processes = &f.processes
	if o.PageCache, err = pageCache(); err != nil {
		return err
	}
	o.Site, o.MaxSiteBytes = &staticmcp.Options{Logger: log, LogSearches: f.logSearches}, f.maxSite
	if o.Site.Vectors, err = openVectors(f.vectors); err != nil {
		return err
	}
	switch {
	case f.fallback.source != "":
		f.auth.SourceNames = sourceNames([]string{args[len(args)-1],
			cmp.Or(strings.TrimPrefix(f.fallback.source, "-"), args[0])})
	case len(args) == 1:
		f.auth.SourceNames = names
	}
	f.SourceNames = f.auth.SourceNames
	// Nothing is opened before its lock applies.
	lock, err := newGuarding(cmd, args, true)
	if err != nil {
		return err
	}
	lock.record(&f.recording)
	if err := lock.hold(args, o); err != nil {
		return err
	}
	defer lock.following()()
	f.hints, f.locked = lock.hints(), lock.inForce()
	f.servers.settles = cmd.Flags().Changed("settle")
	if err := f.servers.apply(o, log, f.Server.RequestTimeout); err != nil {
		return err
	}
	// A source that requires a login can offer it on a terminal, and is then opened again.
	var src mcp.Source
	var stop func()
	err = withLogin(cmd, func() (err error) {
		logins.forget() // what an earlier attempt lacked
		src, stop, err = f.openServed(ctx, cmd, args, names, o, lock, log)
		return err
	})
	if err != nil && ctx.Err() != nil {
		return nil // stopped before anything was served
	}
	if err != nil {
		return err
	}
	if !f.stdio && logins.offerBefore(ctx, cmd, &f.roster) {
		stop()
		if src, stop, err = f.openServed(ctx, cmd, args, names, o, lock, log); err != nil {
			return err
		}
	}
	defer stop()
	return explained(f.serve(ctx, cmd, src, log))
}

// record starts the recording of --record, if there is one. stop closes its file.
func (f *serveFlags) record(cmd *cobra.Command, names []string) (stop func(), err error) {
	if f.recorder.output == "" {
		return func() {}, nil
	}
	name := "slipway"
	if len(names) == 1 {
		name = names[0]
	}
	log, err := f.recorder.open(cmd, name)
	if err != nil {
		return nil, err
	}
	f.Server.Tap = log.writer.Tap(0)
	return log.close, nil
}

// openServed opens what is served, and follows the configuration file, until stop.
func (f *serveFlags) openServed(ctx context.Context, cmd *cobra.Command, args, names []string, o *open.Options,
	lock *guarding, log *slog.Logger) (src mcp.Source, stop func(), err error) {
	r := &reloading{
		flags: f,
		cmd:   cmd,
		opts:  o,
		lock:  lock,
		log:   log,
		args:  args,
		names: names,
	}
	if f.config.followed && len(args) > 1 {
		src, err = r.start(ctx)
	} else {
		src, err = f.open(ctx, args, names, o, lock, log)
	}
	if err != nil {
		return nil, nil, err
	}
	unfollow := r.follow(ctx)
	return src, func() {
		unfollow()
		closeSource(src)
	}, nil
}

// open opens what is served. A source that is served alone and takes long is a
// [serve.Pending].
func (f *serveFlags) open(
	ctx context.Context, args, names []string, o *open.Options, lock *guarding, log *slog.Logger,
) (mcp.Source, error) {
	o.Definitions.Startup.Wait = f.start.least()
	one := func(ctx context.Context) (mcp.Source, error) {
		if f.fallback.source != "" {
			src, err := f.fallback.open(ctx, args, f.servers.settle, o, lock, log)
			if err != nil {
				return nil, err
			}
			return compose.Edit(src, &f.shown)
		}
		own := *o
		if len(args) == 1 {
			own.Name = f.shown.Name
			own.Title = f.shown.Title
			// A lock compares the complete catalog.
			own.BuildBehind = lock == nil && !open.Argument(args[0]).MayTakeLong()
		}
		return openAll(ctx, args, names, &own, lock, f.union(args, o, log))
	}
	site := args[len(args)-1] // the only source, or the one that falls back to another
	if len(args) > 1 && f.fallback.source == "" || !open.Argument(site).MayTakeLong() {
		return one(ctx)
	}
	return fleet.Await(ctx, open.Argument(site).PublicName(), one, f.start.options())
}

// union returns how several sources are joined: those that are named, and those in
// a file of definitions, if that is the only one named.
func (f *serveFlags) union(args []string, o *open.Options, log *slog.Logger) *compose.UnionOptions {
	join := unionOf(log)
	join.Server.Name = cmp.Or(f.shown.Name, join.Server.Name)
	join.Server.Title = f.shown.Title
	if len(args) == 1 && stax.FormatOf(args[0]) != 0 {
		o.Definitions.Prefix = f.prefix
	} else {
		join.Prefix = f.prefix
	}
	return join
}

// unionOf returns the options for joining sources under the name of this program. If names
// collide after a change, the previous catalog stays, and the collision is logged.
func unionOf(log *slog.Logger) *compose.UnionOptions {
	return &compose.UnionOptions{
		Server: mcp.Implementation{
			Name:    "slipway",
			Version: thisBuild().Version,
		},
		KeepLast: true,
		Logger:   log,
	}
}

// serve offers src on stdio or at the addresses, and announces the URL once it accepts
// requests. It returns after the drain.
func (f *serveFlags) serve(ctx context.Context, cmd *cobra.Command, src mcp.Source, log *slog.Logger) error {
	f.Logger, f.Upstreams, f.Announce = log, upstreams(&f.roster), announcement("serve")
	f.Server.Clients = &f.clients
	f.Processes = func() serve.ProcessLoad {
		return serve.ProcessLoad{
			Running:    f.processes.Running(),
			Max:        f.processes.Max,
			PerSession: f.processes.PerSession(),
		}
	}
	f.Callers = &f.processes
	if err := f.complete(log); err != nil {
		return err
	}
	stderr := cmd.ErrOrStderr()
	if f.stdio {
		if isTerminal(cmd.InOrStdin()) {
			say(stderr, "waiting for MCP messages on stdin; usually a client starts this command")
		}
		return serve.Stdio(ctx, src, cmd.InOrStdin(), cmd.OutOrStdout(), &f.Options)
	}
	var err error
	if f.Addr, err = address("--addr", f.Addr); err != nil {
		return err
	}
	if f.AdminAddr != "" {
		if f.AdminAddr, err = address("--admin-addr", f.AdminAddr); err != nil {
			return err
		}
	}
	cat, err := src.Catalog(ctx)
	if err != nil {
		return err
	}
	a := &announcing{stderr: stderr}
	f.Observer = serve.Observer{
		Started: func(info *serve.Info) {
			a.started(ctx, src, cat, info, f.Auth != nil && len(f.Auth.AuthorizationServers) == 0)
		},
		Opened: func(opened mcp.Source) { a.opened(ctx, opened) },
	}
	if f.Broker != nil {
		defer f.Broker.Close() // its error is always nil
	}
	if f.Vault != nil {
		defer f.Vault.Close() // its error is always nil
	}
	return serve.Run(ctx, src, &f.Options)
}

// logger returns a logger whose level can change while serving.
func (f *serveFlags) logger(w io.Writer) *slog.Logger {
	opts := &slog.HandlerOptions{Level: &f.logged}
	if f.logFormat == logJSON {
		return slog.New(slog.NewJSONHandler(visible.JSONWriter{To: w}, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// explained returns errors about listening with their exit codes and hints.
func explained(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, serve.ErrExposed):
		return denied("listen on 127.0.0.1, require tokens with --auth-token-file, or pass --allow-remote-without-auth "+
			"and --allow-host NAME if anyone who can reach it can use it", "%v", err)
	case neterror.IsAddressInUse(err) && errors.As(err, new(*serve.AdminListenError)):
		return badInput("--admin-addr 127.0.0.1:0 takes any free port", "%v", err)
	case neterror.IsAddressInUse(err):
		return badInput("--addr 127.0.0.1:0 takes any free port", "%v", err)
	}
	var scope *serve.ToolScopeError
	if errors.As(err, &scope) {
		return usage("a pattern is TOOL or SOURCE/TOOL, such as get_* or weather/*; slipway ls SOURCE lists tools",
			"serve: --tool-scope: %s", scope.Problem)
	}
	var endpoint *serve.EndpointError
	if errors.As(err, &endpoint) {
		return usage("--endpoint "+endpoint.Name+"=SERVER, or SERVER/PATTERN; slipway ls SOURCE lists tools",
			"serve: %v", err)
	}
	var known *failure
	var opening *open.Error // from a source that was served before it was open
	if errors.As(err, &known) || errors.As(err, &opening) {
		return err
	}
	return badInput("", "%v", err)
}

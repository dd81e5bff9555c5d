package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/fleet"
	"github.com/slipway-mcp/slipway/identity"
	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/open"
)

// openSource is one source in a client command.
type openSource struct {
	// arg names the source in messages, typed is how to type it again, and cat is its catalog
	// when it was opened.
	arg    string
	typed  string
	source mcp.Source
	cat    *mcp.Catalog
	// answers answers the questions of the server, or is nil.
	answers *answering
}

// acceptCommand makes a command accept another command after --, which becomes its
// first argument, as a source.
func acceptCommand(cmd *cobra.Command) {
	check := cmd.Args
	run := cmd.RunE
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if dash := cmd.ArgsLenAtDash(); dash >= 0 && dash < len(args) && args[dash] == "" {
			return usage("type the program of the server after --, such as -- npx my-server",
				"%s: the program after -- is empty", cmd.Name())
		}
		err := check(cmd, sourceFirst(cmd, args))
		var f *failure
		if errors.As(err, &f) {
			f.hint = commandForm(cmd, args, f.hint)
		}
		return err
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return run(cmd, sourceFirst(cmd, args))
	}
}

// commandForm returns the hint for a wrong number of arguments that contain a command: what to type
// instead. Otherwise it is usage.
func commandForm(cmd *cobra.Command, args []string, usage string) string {
	dash := cmd.ArgsLenAtDash()
	if dash < 0 && len(args) > 1 {
		if _, err := exec.LookPath(args[0]); err == nil {
			return "a command follows --: " + cmd.CommandPath() + " " + shell.SourceWords(append([]string{"--"}, args...))
		}
	}
	if dash < 0 || dash >= len(args) {
		return usage
	}
	form := slices.DeleteFunc(strings.Fields(cmd.Use)[1:], func(word string) bool {
		return strings.HasPrefix(strings.TrimPrefix(word, "["), "SOURCE")
	})
	form = append(form, "-- COMMAND [ARG...]")
	return "arguments come before --: " + cmd.CommandPath() + " " + strings.Join(form, " ")
}

// sourceFirst moves the command after -- to the front as one argument, where commands expect
// their SOURCE: "call get_user id=7 -- npx server" has the arguments exec:["npx","server"],
// get_user and id=7.
func sourceFirst(cmd *cobra.Command, args []string) []string {
	dash := cmd.ArgsLenAtDash()
	if dash < 0 || dash >= len(args) {
		return args
	}
	return append([]string{open.Command(args[dash:])}, args[:dash]...)
}

// tokenVariable contains the bearer token for the only server to connect to.
const tokenVariable = "MCP_CLIENT_TOKEN"

// liveOptions returns the options for connecting to servers. They exclude Slipway's own
// secrets from the environment of commands.
func liveOptions(log *slog.Logger, stderr func(server string) io.Writer) *open.LiveOptions {
	o := &open.LiveOptions{
		Source: &client.Options{Client: mcp.Implementation{
			Name:    "slipway",
			Version: thisBuild().Version,
		}},
		Stderr:  stderr,
		KeepOut: []string{"MCP_SERVER_*", "MCP_CLIENT_*"},
	}
	if token := os.Getenv(tokenVariable); token != "" {
		o.Header = http.Header{"Authorization": {"Bearer " + token}}
	}
	if log == nil { // a client command: the server has already done its work
		o.StopTimeout = time.Second
	} else {
		o.Source.Logger = log
	}
	return o
}

// printProblems returns an observer that prints the problems of single servers.
func printProblems(stderr io.Writer) func(client.Event) {
	var one sync.Mutex
	return func(e client.Event) {
		if e.What != client.EventUnavailable && e.What != client.EventWarning {
			return
		}
		one.Lock()
		defer one.Unlock()
		shown := e.Err
		need := (*identity.LoginRequiredError)(nil)
		if errors.As(e.Err, &need) && need.Explains() {
			shown = need
		}
		say(stderr, "server %s: %v", e.Name, shown)
		if f := blocked("", e.Err); f != nil {
			hint(stderr, f.hint)
		} else if next := serverHint(e.Err, "FILE"); next != "" {
			hint(stderr, next)
		}
	}
}

// oneTokenOneServer refuses to send one token to several hosts.
func oneTokenOneServer(args []string) error {
	if os.Getenv(tokenVariable) == "" {
		return nil
	}
	first := ""
	for _, arg := range args {
		u, err := url.Parse(strings.TrimPrefix(arg, "live:"))
		if err != nil || u.Host == "" || strings.HasPrefix(arg, "site:") {
			continue
		}
		if first != "" && u.Host != first {
			return denied("serve them one by one", "%s would be sent to %s and to %s", tokenVariable, first, u.Host)
		}
		first = u.Host
	}
	return nil
}

// sourceOptions returns how a command opens sources: bundles and definitions with the
// values from flags and environment. Problems of single servers are printed to stderr.
// log may be nil.
func sourceOptions(
	cmd *cobra.Command, log *slog.Logger, serverErrors func(server string) io.Writer,
) (*open.Options, error) {
	bundle, err := bundleOptions(cmd)
	if err != nil {
		return nil, err
	}
	from, _ := cmd.Flags().GetStringArray("secrets-from") // not all commands have it
	resolver, err := (&sourceFlags{from: from}).resolver()
	if err != nil {
		return nil, err
	}
	if resolver.AllowNetwork, err = networks(cmd); err != nil {
		return nil, err
	}
	servers := liveOptions(log, serverErrors)
	servers.Source.Observe = printProblems(cmd.ErrOrStderr())
	servers.AllowNetwork = resolver.AllowNetwork
	if servers.Identity, err = newIdentity(cmd, resolver.AllowNetwork, log); err != nil {
		return nil, err
	}
	resolver.Identity = servers.Identity
	return &open.Options{
		Bundle:      bundle,
		Definitions: &fleet.Options{Resolver: resolver},
		Live:        servers,
	}, nil
}

// nameFlags adds the flags that replace the names of a server.
func nameFlags(cmd *cobra.Command, name, title *string) {
	cmd.Flags().StringVar(name, "name", "", serverNameUsage)
	cmd.Flags().StringVar(title, "title", "", serverTitleUsage)
}

// Usages of --name and --title.
const (
	serverNameUsage  = "`name` of the server for programs (default: that of the source)"
	serverTitleUsage = "`title` of the server for people and models (default: that of the source)"
)

// withSource opens the source in arg and closes it after do.
func withSource(cmd *cobra.Command, arg string, do func(c *openSource) error) error {
	return withSourceOptions(cmd, arg, func(*open.Options) {}, do)
}

// withSources opens the sources in args and closes them after do.
func withSources(
	cmd *cobra.Command,
	args []string,
	do func(opened []*openSource) error,
) error {
	var opened []*openSource
	var next func(*openSource) error
	next = func(c *openSource) error {
		opened = append(opened, c)
		if len(opened) == len(args) {
			return do(opened)
		}
		return withSource(cmd, args[len(opened)], next)
	}
	return withSource(cmd, args[0], next)
}

// uniqueNames returns the names of sources. Servers of one host get their port as well; of names that are equal
// all the same, the later ones get a number.
func uniqueNames(args []string) (names []string) {
	uses := make(map[string]int)
	for _, arg := range args {
		uses[open.Argument(arg).Name()]++
	}
	for _, arg := range args {
		base := open.Argument(arg).Name()
		if uses[base] > 1 {
			base = nameWithPort(arg)
		}
		name := base
		for n := 2; slices.Contains(names, name); n++ {
			name = base + "-" + strconv.Itoa(n)
		}
		names = append(names, name)
	}
	return names
}

// nameWithPort returns the name of a source, with the port of a server that is named after its host.
func nameWithPort(arg string) string {
	name := open.Argument(arg).Name()
	u, err := url.Parse(open.Argument(arg).Endpoint())
	if err != nil || u.Port() == "" {
		return name
	}
	if host := u.Scheme + "://" + strings.TrimSuffix(u.Host, ":"+u.Port()); name != open.Argument(host).Name() {
		return name
	}
	return name + "-" + u.Port()
}

// withSourceOptions is withSource with options adapted by change.
// If the server requires a login, it offers one on a terminal and repeats the command.
func withSourceOptions(
	cmd *cobra.Command,
	arg string,
	change func(*open.Options),
	do func(c *openSource) error,
) error {
	logins := newServerLogins()
	return withLogin(cmd, func() error {
		logins.forget() // what an earlier attempt lacked
		return withOpened(cmd, arg, logins, change, do)
	})
}

// withOpened opens a source under its lock, calls do with it, and closes it. change adjusts
// the options before. A source that offers nothing because all its servers failed is an
// error: the user should read why, not an empty list. If only some of them require a login, a list offers it.
func withOpened(cmd *cobra.Command, arg string, logins *serverLogins, change func(*open.Options),
	do func(c *openSource) error) error {
	ctx := cmd.Context()
	opts, err := sourceOptions(cmd, nil, nil)
	if err != nil {
		return err
	}
	change(opts)
	verbosely(cmd, opts.Live.Source)
	log := verboseLog(cmd)
	lock, err := newGuarding(cmd, []string{arg}, false)
	if err != nil {
		return err
	}
	if err := lock.hold([]string{arg}, opts); err != nil {
		return err
	}
	// Both observers must be set before the source opens.
	none := noteTrouble(opts, namedLock(cmd), arg)
	opts.Live.Source.Observe = logins.observe(opts.Live.Source.Observe)
	began := time.Now()
	opts.Live.Source.Roster = &client.Roster{}
	wait := startWait(cmd, 1, opts.Live.Source.Roster)
	defer wait.finish()
	wait.begin(open.Argument(arg).PublicName())
	src, err := open.Open(ctx, arg, opts)
	if err != nil {
		return err
	}
	logTime(log, "opened", began, "source", open.Argument(arg).PublicName())
	// From here on, do sees only what the lock permits.
	src = lock.over([]string{arg}, []mcp.Source{src})[0]
	typed := typeableSource(arg)
	arg = shownSource(arg)
	defer closeSource(src)
	cat, err := src.Catalog(ctx)
	if err != nil {
		return answered(arg, err)
	}
	if f := none(); f != nil && offersNothing(cat) {
		return f
	}
	wait.finish()
	if opts.ListOnly && logins.offer(cmd) {
		return errLoggedIn
	}
	began = time.Now()
	defer func() { logTime(log, "request done", began) }()
	return do(&openSource{
		arg:    arg,
		typed:  typed,
		source: src,
		cat:    cat,
	})
}

// shownSource returns the name of a source in messages, without secrets.
func shownSource(arg string) string {
	if strings.HasPrefix(arg, "exec:") {
		arg = open.Argument(arg).Name()
	}
	return open.Argument(arg).Redacted()
}

// typeableSource returns a source as a shell command has it at its end, without secrets.
func typeableSource(arg string) string {
	if argv := open.Argument(arg).Argv(); argv != nil {
		return open.Argument(open.Command(secrets.Command(argv))).Typed()
	}
	return open.Argument(open.Argument(arg).Redacted()).Typed()
}

// typeableSources is [typeableSource] for all sources of a command line. A command is last.
func typeableSources(args []string) string {
	var words, command []string
	for _, arg := range args {
		if open.Argument(arg).Argv() != nil {
			command = append(command, typeableSource(arg))
			continue
		}
		words = append(words, typeableSource(arg))
	}
	return strings.Join(append(words, command...), " ")
}

// closeSource closes a source if it can be closed.
func closeSource(src mcp.Source) {
	if c, ok := src.(io.Closer); ok {
		_ = c.Close() // nothing was written, so nothing can be lost
	}
}

// openAll opens several sources and joins them under their names. lock may be nil.
func openAll(ctx context.Context, args, names []string, opts *open.Options, lock *guarding,
	join *compose.UnionOptions) (mcp.Source, error) {
	if err := oneTokenOneServer(args); err != nil {
		return nil, err
	}
	sources, err := openServed(ctx, args, opts, lock)
	if err != nil {
		return nil, err
	}
	sources = lock.over(args, sources)
	var parts []compose.Named
	for i, name := range names {
		parts = append(parts, compose.Named{
			Name:   name,
			Source: sources[i],
		})
	}
	joined, err := compose.Union(ctx, parts, join)
	if err != nil {
		closeParts(parts)
		hint := "serve them on separate addresses"
		if join.Prefix == compose.PrefixNever {
			hint = "use --prefix collision, or serve them on separate addresses"
		}
		return nil, no(hint, "%v", err)
	}
	return joined, nil
}

// openServed opens sources to be served: one that hangs does not delay the others.
func openServed(
	ctx context.Context,
	args []string,
	opts *open.Options,
	lock *guarding,
) ([]mcp.Source, error) {
	d := opts.Definitions
	return openAtOnce(args, func(arg string) (mcp.Source, error) {
		own := lock.options(arg, opts)
		if len(args) == 1 || !d.Startup.Background {
			return open.Open(ctx, arg, own)
		}
		joined := *own
		joined.Settle = cmp.Or(d.Startup.Settle, defaultSettle)
		return open.Open(ctx, arg, &joined)
	})
}

// openAtOnce opens all sources concurrently, because servers take time to start. If one
// fails, it closes the others.
func openAtOnce(args []string, one func(arg string) (mcp.Source, error)) ([]mcp.Source, error) {
	sources := make([]mcp.Source, len(args))
	errs := make([]error, len(args))
	var all sync.WaitGroup
	for i, arg := range args {
		all.Go(func() { sources[i], errs[i] = one(arg) })
	}
	all.Wait()
	for i := range args {
		if errs[i] == nil {
			continue
		}
		for _, src := range sources {
			closeSource(src)
		}
		return nil, errs[i]
	}
	return sources, nil
}

// closeParts closes the sources of a union that was not made.
func closeParts(parts []compose.Named) {
	for _, p := range parts {
		closeSource(p.Source)
	}
}

// tool returns a tool of the source. One that the lock withholds is refused with the reason
// (exit code 6); an unknown one is answered with the nearest name.
func (c *openSource) tool(name string) (*mcp.Tool, error) {
	if t := c.cat.Tool(name); t != nil {
		return t, nil
	}
	if why, ok := c.cat.WithheldTools[name]; ok {
		return nil, denied("", "%s", why)
	}
	return nil, no(c.meant(name, toolNames(c), "--tools"), "%s: no tool %q", c.arg, name)
}

// prompt returns a prompt of the source, with the errors of tool.
func (c *openSource) prompt(name string) (*mcp.Prompt, error) {
	if p := c.cat.Prompt(name); p != nil {
		return p, nil
	}
	if why, ok := c.cat.WithheldPrompts[name]; ok {
		return nil, denied("", "%s", why)
	}
	if lists := (kinds{prompts: true}).missing(c.cat); len(lists) > 0 {
		return nil, remoteFailed("", "%s: cannot find prompt %q in an incomplete list: %s", c.arg, name, lists[0])
	}
	return nil, no(c.meant(name, promptNames(c), "--prompts"), "%s: no prompt %q", c.arg, name)
}

// meant returns the hint for a name that does not exist.
func (c *openSource) meant(name string, known []string, listing string) string {
	words := c.typed + " " + listing
	if strings.HasPrefix(c.typed, "-- ") { // flags after it would be those of the command
		words = listing + " " + c.typed
	}
	return didYouMean(name, known, "slipway ls "+words+" lists them")
}

// isWebURL reports whether a text is an http or https URL.
func isWebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil &&
		u.Host != "" &&
		(u.Scheme == "http" || u.Scheme == "https")
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/inspect"
	"github.com/slipway-mcp/slipway/internal/calltest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/tap"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/stax"
)

// inspector is the flags of inspect.
type inspector struct {
	// addr is the address to listen on, and hosts are the names by which browsers may reach it.
	addr  string
	hosts []string
	// calls is the file of saved calls, and roots are the folders that servers may ask for.
	calls  string
	roots  []string
	noOpen bool
}

func newInspect() *cobra.Command {
	var i inspector
	cmd := &cobra.Command{
		Use:   "inspect SOURCE...",
		Short: "Open a page to see, try and record servers",
		Long: `Serve a page on this machine that shows what servers offer, with forms for their
tools, every message that crosses the connection, and why a connection fails.
The page needs no network.

The printed address contains a token, which allows calling the tools. It is
valid until the command ends. On a terminal, the address is opened in the
default browser.

A recording (FILE.mcplog) is shown without its server. FILE.mcplog#NAME selects
one of several servers, for its tools and without the messages of the others.

` + sourceHelp,
		Example: `  slipway inspect examples/http-reference
  slipway inspect examples/http-reference my-server.mcpb --no-open
  slipway inspect --calls http.calls.json \
      -- slipway serve --stdio examples/http-reference`,
		RunE: i.run,
	}
	bundleFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&i.addr, "addr", "127.0.0.1:0", "`address` to listen on; port 0 is any free port")
	flags.StringSliceVar(&i.hosts, "host", nil,
		"also answer to this host `name`, as behind a port forwarding (repeatable)")
	flags.StringVar(&i.calls, "calls", "", "`FILE` for saved calls, created when the first one is saved")
	flags.StringArrayVar(&i.roots, "root", nil, "`folder` that servers may ask for as a root (repeatable)")
	flags.BoolVar(&i.noOpen, "no-open", false, "do not open a browser")
	return cmd
}

// run serves the page of the inspector on a loopback address. Any other address is refused,
// since the page can call every tool. The token in the printed URL keeps other users of the
// machine out.
func (i *inspector) run(cmd *cobra.Command, args []string) error {
	if err := oneTokenOneServer(args); err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(i.addr)
	if err != nil {
		return usage("such as 127.0.0.1:8080", "inspect: --addr: %q is not an address with a port", i.addr)
	}
	ip := net.ParseIP(host)
	if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usage("use 127.0.0.1, and a port forwarding such as ssh -L to reach it from elsewhere",
			"inspect: --addr: %q is not an address of this machine only", host)
	}
	roots, err := i.folders()
	if err != nil {
		return err
	}
	if err := i.checkCalls(); err != nil {
		return err
	}
	sources, err := inspectSources(cmd, args)
	if err != nil {
		return err
	}
	// The address is bound before sources start, so that a port in use does not start them in vain.
	listener, err := net.Listen("tcp", i.addr)
	if err != nil {
		return badInput("choose another --addr", "inspect: %v", err)
	}
	opts := &inspect.Options{
		By:          "slipway " + thisBuild().Version,
		Token:       inspect.NewToken(),
		Hosts:       append([]string{"localhost", "127.0.0.1", "::1"}, i.hosts...),
		Environment: os.Environ(),
		Calls:       i.calls,
		Roots:       roots,
	}
	return i.serve(cmd, listener, sources, opts)
}

// serve serves the page until a signal.
func (i *inspector) serve(
	cmd *cobra.Command,
	ln net.Listener,
	sources []*inspect.Source,
	opts *inspect.Options,
) error {
	ctx, stop := serve.Signals(cmd.Context(), nil)
	defer stop()
	page := inspect.Handler(sources, opts)
	address := page.Address(ln)
	fmt.Fprintln(cmd.OutOrStdout(), address)
	stderr := cmd.ErrOrStderr()
	in, ok := cmd.InOrStdin().(*os.File)
	if ok && !i.noOpen && isTerminal(in) && isTerminal(stderr) {
		remove, err := openBrowser(address)
		defer remove()
		if err != nil {
			hint(stderr, "open the address in a browser: none could be started")
		}
	}
	return page.Serve(ctx, ln)
}

// checkCalls returns why the page could not save calls to the file of --calls, which it would notice when
// the first call is saved.
func (i *inspector) checkCalls() error {
	if i.calls == "" {
		return nil
	}
	folder := filepath.Dir(i.calls)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return badInput("create it, or choose another file", "inspect: --calls: %s is not a folder", folder)
	}
	_, err := calltest.ReadEditable(i.calls)
	var bad *calltest.EditError
	if errors.As(err, &bad) {
		return badInput(bad.Hint(), "inspect: --calls: %v", bad)
	}
	return err
}

// folders returns the folders of --root as file URLs with absolute paths.
func (i *inspector) folders() ([]mcp.Root, error) {
	var roots []mcp.Root
	for _, name := range i.roots {
		folder, err := filepath.Abs(name)
		if err != nil {
			return nil, unreadable(name, err)
		}
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return nil, badInput("", "inspect: --root: %s is not a folder", name)
		}
		slashed := filepath.ToSlash(folder)
		if !strings.HasPrefix(slashed, "/") {
			slashed = "/" + slashed // a drive letter
		}
		roots = append(roots, mcp.Root{
			URI:  (&url.URL{Scheme: "file", Path: slashed}).String(),
			Name: filepath.Base(folder),
		})
	}
	return roots, nil
}

// inspectSources returns the sources for the page. They are opened by the page.
func inspectSources(cmd *cobra.Command, args []string) ([]*inspect.Source, error) {
	var sources []*inspect.Source
	names := uniqueNames(args)
	for i, arg := range args {
		if err := open.Argument(arg).Exists(); err != nil {
			return nil, err
		}
		src, err := inspectSource(cmd, arg)
		if err != nil {
			return nil, err
		}
		src.Name = names[i]
		src.Lock = targetsOf([]string{arg})[0]
		sources = append(sources, src)
	}
	return sources, nil
}

// inspectSource returns a source for the page.
func inspectSource(cmd *cobra.Command, arg string) (*inspect.Source, error) {
	opts, err := sourceOptions(cmd, nil, nil)
	if err != nil {
		return nil, err
	}
	opts.Live.Source.Observe = nil // the page shows problems
	src := &inspect.Source{
		Label:    open.Argument(arg).Typed(),
		Argument: open.Argument(arg).Words(),
	}
	if open.Argument(arg).IsRecording() {
		src.Recording = arg
		return src, nil
	}
	if u := strings.TrimPrefix(arg, "live:"); isWebURL(u) {
		src.URL = u
	}
	src.Open = func(ctx context.Context, how *inspect.Connect) (mcp.Source, error) {
		own := *opts
		live := *opts.Live
		own.Live = &live
		if stax.FormatOf(arg) == 0 {
			live.Source = how.Options(opts.Live.Source)
		} else { // definitions are several servers: the page shows what joins them, and which are missing
			servers := *opts.Live.Source
			servers.Observe = unavailableSteps(how.Tap)
			live.Source = &servers
		}
		opened, err := openInspected(ctx, arg, &own)
		var bad *open.Error
		if errors.As(err, &bad) {
			bad.Arg = src.Label
			return nil, hintedError{err, bad.Hint}
		}
		return opened, err
	}
	return src, nil
}

// unavailableSteps makes each server of definitions that is not available a failed step of
// connecting.
func unavailableSteps(shown tap.Func) func(client.Event) {
	steps := tap.New(shown)
	return func(e client.Event) {
		if e.What == client.EventUnavailable && e.Err != nil {
			steps.Step("server "+e.Name, time.Now(), "", e.Err)
		}
	}
}

// openInspected opens a source. Unlike [open.Open], it first looks for a server at a URL, as
// the page shows how that fails, and then for a site.
func openInspected(ctx context.Context, arg string, opts *open.Options) (mcp.Source, error) {
	if u, err := url.Parse(arg); err != nil || !isWebURL(arg) || path.Ext(u.Path) != "" {
		return open.Open(ctx, arg, opts)
	}
	live, err := open.Open(ctx, "live:"+arg, opts)
	var status *client.StatusError
	other := errors.As(err, &status) && !status.Refused() || errors.As(err, new(*client.UnreadableError))
	if err == nil || !other {
		return live, err
	}
	if site, siteErr := open.Open(ctx, "site:"+arg, opts); siteErr == nil {
		return site, nil
	}
	return nil, err
}

// hintedError is an error with the next step.
type hintedError struct {
	error
	hint string
}

func (e hintedError) Unwrap() error { return e.error }

// Hint returns the next step, or "".
func (e hintedError) Hint() string { return e.hint }

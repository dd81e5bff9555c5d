package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/mediatype"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/tap"
	"github.com/slipway-mcp/slipway/stax"
)

// attempt is one attempt to open a server, and what crossed the connection.
type attempt struct {
	// d is the doctor that made the attempt, and its report gets the findings.
	d        *Doctor
	server   local // its argv is nil for a server at a URL
	typed    string
	url      *url.URL // of a typed URL
	from     string   // the definitions or the client of the server; "" for a typed one
	edit     string   // the command that opens its entry; "" for a typed one
	found    string   // the URL of the same host where a server answers, if not at url
	took     time.Duration
	err      error
	offers   string        // of the catalog, if opened
	missing  []mcp.Missing // in the catalog
	version  mcp.Version
	mu       sync.Mutex // guards the following fields during the attempt
	steps    []tap.Event
	heads    []tap.HTTP // of responses
	received time.Time  // of the first of them
	junk     string     // the first line on stdout that is not a message
	greeted  bool       // a handshake succeeded
	streamed bool       // an event stream was requested before that
}

// tap records an event.
func (a *attempt) tap(e *tap.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case e.Kind == tap.Step:
		step := *e
		step.Body = nil
		a.steps = append(a.steps, step)
		a.greeted = a.greeted || e.Err == nil && (e.Name == "initialize" || e.Name == "discover")
	case e.Kind == tap.Junk && a.junk == "" && !brokenMessage(e.Body):
		const most = 80
		start := e.Body[:min(len(e.Body), most)]
		a.junk = string(bytes.ToValidUTF8(start, []byte("?")))
	case e.Kind == tap.Head && e.HTTP.Status > 0:
		const most = 100 // a server may answer often
		if len(a.heads) == 0 {
			a.received = e.Time
		}
		if len(a.heads) < most {
			a.heads = append(a.heads, *e.HTTP)
		}
	case e.Kind == tap.Head && e.HTTP.Method == http.MethodGet && !a.greeted:
		a.streamed = true
	}
}

// brokenMessage reports whether a line that is no message is meant to be one. Its error is
// reported as that of the handshake, and a log on stderr would not help.
func brokenMessage(line []byte) bool {
	return bytes.HasPrefix(line, []byte("{")) && bytes.Contains(line[:min(len(line), 100)], []byte(`"jsonrpc"`))
}

// try opens a source, lists what it offers, and closes it.
func (a *attempt) try(ctx context.Context, open func(context.Context, *client.Options) (mcp.Source, error)) {
	ctx, cancel := context.WithTimeout(ctx, a.d.opts.Timeout)
	defer cancel()
	began := time.Now()
	defer func() { a.took = time.Since(began).Round(time.Millisecond) }()
	src, err := open(ctx, &client.Options{
		Client: a.d.opts.Client,
		Roster: a.d.opts.Roster,
		Tap:    a.tap,
	})
	if err != nil {
		a.err = err
		return
	}
	if c, ok := src.(io.Closer); ok {
		defer c.Close()
	}
	cat, err := src.Catalog(ctx)
	if err != nil {
		a.err = err
		return
	}
	if live, ok := src.(interface{ State() client.State }); ok {
		a.version = live.State().Version
	}
	a.offers = describe(cat, a.version)
	a.missing = cat.Missing
}

// describe summarizes a catalog.
func describe(cat *mcp.Catalog, version mcp.Version) string {
	server := visible.Line(cat.Server.Name + " " + cat.Server.Version)
	words := []string{strings.TrimSpace(server)}
	if version != 0 {
		words = append(words, "protocol "+version.String())
	}
	for _, list := range []struct {
		count int
		what  string
	}{
		{len(cat.Tools), "tool"},
		{len(cat.Resources) + len(cat.Templates), "resource"},
		{len(cat.Prompts), "prompt"},
	} {
		if list.count > 0 {
			words = append(words, check.Count(list.count, list.what))
		}
	}
	return strings.Join(words, ", ")
}

// check returns the check of the attempt.
func (a *attempt) check(about, name string) Check {
	return makeCheck(about, name, func(r check.Reporter) string {
		a.reportJunk(r)
		a.reportOld(r)
		if a.err != nil {
			a.report(r)
			if errors.As(a.err, new(*stax.MissingError)) ||
				a.from != "" && errors.As(a.err, new(*client.BlockedError)) {
				return "not started"
			}
			return "failed after " + a.took.String()
		}
		for _, m := range a.missing {
			if m.Entry == 0 {
				r.Add(ruleList, "", a.messagesHint(), "%s%s", a.server.is(), visible.Line(m.String()))
			}
		}
		if a.took > a.d.opts.Slow {
			r.Add(ruleSlow, "", a.slowHint(), "%sthe start has taken %s; some clients give up after 10 s", a.server.is(), a.took)
		}
		return fmt.Sprintf("%s, in %s", a.offers, a.took)
	})
}

// reportJunk reports output on stdout that is not a message.
func (a *attempt) reportJunk(r check.Reporter) {
	if a.junk != "" {
		r.Add(ruleJunk, "", "", "%sthe server prints %q on stdout", a.server.is(), a.junk)
	}
}

// reportOld reports a server at a URL with the transport of 2024-11-05.
func (a *attempt) reportOld(r check.Reporter) {
	if a.err == nil && a.streamed {
		r.Add(ruleOldSSE, "", "", "%sthe URL supports only the HTTP+SSE transport of 2024-11-05", a.server.is())
	}
}

// slowHint returns how to make a start faster.
func (a *attempt) slowHint() string {
	for i, word := range a.server.argv {
		if i > 0 &&
			baseName(a.server.argv[0]) == "npx" &&
			!strings.HasPrefix(word, "-") {
			return "npm install --global " + a.d.quote(word)
		}
	}
	return "time " + a.again()
}

// again returns the command that shows the problem of the server.
func (a *attempt) again() string {
	if a.server.argv == nil {
		return "slipway ls " + a.typed
	}
	words := secrets.Command(a.server.argv)
	for i := range words {
		words[i] = a.d.quote(words[i])
	}
	return strings.Join(words, " ")
}

// report reports why the attempt failed.
func (a *attempt) report(r check.Reporter) {
	var exit *client.ExitError
	var status *client.StatusError
	var start *client.CommandError
	var blocked *client.BlockedError
	var missing *stax.MissingError
	err := a.err
	is := a.server.is()
	switch {
	case errors.As(err, &blocked) && a.from == "":
		again := "slipway doctor " + a.typed + " --allow-network " + blocked.Address.String()
		r.Add(ruleRedirect, "", again, "%sthe server redirects: %v", is, blocked)
	case errors.As(err, &blocked):
		again := "slipway doctor " + a.d.quote(a.from) + " --start --allow-network " + blocked.Address.String()
		r.Add(ruleBlocked, "", again, "%snot contacted: %v; allow it if you trust its author", is, blocked)
	case a.reportNetwork(r):
	case errors.As(err, &missing):
		r.Add(ruleSecret, "", a.d.setVariable(missing.Keys[0]), "%v", missing)
	case errors.As(err, &status) && status.Status >= http.StatusMultipleChoices:
		a.reportStatus(r, status)
	case errors.Is(err, syscall.ENOEXEC):
		r.Add(ruleArchitecture, "", "", "%s%v", is, reason(err))
	case errors.Is(err, fs.ErrPermission) && errors.As(err, &start):
		r.Add(ruleMode, "", "chmod +x "+a.d.quote(a.server.argv[0]), "%s%v", is, start)
	case errors.As(err, &exit):
		hint := exit.Hint()
		if hint == "" {
			hint = a.again()
		}
		r.Add(ruleExits, "", hint, "%s%s", is, oneLine(exit.Error()))
	case errors.Is(err, context.DeadlineExceeded):
		r.Add(ruleSilent, "", a.silentHint(), "%sno answer in %s", is, a.d.opts.Timeout)
	case a.webPage():
		r.Add(ruleWebPage, "", a.pathHint(), "%sthe URL answers with a web page%s", is, a.foundNote())
	default:
		r.Add(ruleProtocol, "", a.messagesHint(), "%s%s", is, oneLine(reason(err).Error()))
	}
}

// silentHint returns what to do about a server that does not answer.
func (a *attempt) silentHint() string {
	if a.server.argv == nil {
		return a.longer()
	}
	return a.again()
}

// reason removes what the check says already from an error.
func reason(err error) error {
	var opening *client.OpenError
	if errors.As(err, &opening) {
		return opening.Err
	}
	return err
}

// oneLine returns an error with the last stderr lines of a server as one line, which a finding is.
func oneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// reportStatus reports an HTTP status.
func (a *attempt) reportStatus(r check.Reporter, status *client.StatusError) {
	is := a.server.is()
	const variable = "MCP_CLIENT_TOKEN"
	switch {
	case status.Refused() && a.from != "":
		r.Add(ruleToken, "", a.edit, "%s%v; its entry needs a valid header Authorization", is, status)
	case status.Refused() && status.Token:
		r.Add(ruleToken, "", a.d.setVariable(variable), "%s%v; the token is not valid here", is, status)
	case status.Refused():
		hint := a.loginHint(status, a.d.setVariable(variable))
		r.Add(ruleToken, "", hint, "%s%v", is, status)
	case a.webPage():
		r.Add(ruleWebPage, "", a.pathHint(), "%sthe URL answers with a web page%s", is, a.foundNote())
	case status.Status == http.StatusNotFound, status.Status == http.StatusMethodNotAllowed:
		r.Add(ruleStatus, "", a.pathHint(), "%s%v%s", is, status, a.foundNote())
	default:
		r.Add(ruleStatus, "", "read the log of the server, or of the proxy in front of it", "%s%v", is, status)
	}
}

// loginHint returns the command that logs in, if the server supports that, or otherwise.
func (a *attempt) loginHint(status *client.StatusError, otherwise string) string {
	var login interface {
		Explains() bool
		Hint() string
	}
	if errors.As(status.Err, &login) && login.Explains() {
		return login.Hint()
	}
	return otherwise
}

// pathHint returns what to do about the path of a URL.
func (a *attempt) pathHint() string {
	switch {
	case a.found != "":
		return "slipway doctor " + a.d.quote(a.found)
	case a.edit != "":
		return a.edit
	}
	return "use the URL in the server's documentation: none of the usual paths answers, such as /mcp and /sse"
}

// foundNote reports the URL that was found in place of a wrong one.
func (a *attempt) foundNote() string {
	if a.found == "" {
		return ""
	}
	return "; a server answers at " + a.found
}

// messagesHint returns the command that shows all messages of the server.
func (a *attempt) messagesHint() string {
	if a.from != "" {
		return "slipway ls " + a.d.quote(a.from) + " -v"
	}
	return "slipway inspect " + a.typed
}

// longer returns the command that waits longer for the server.
func (a *attempt) longer() string {
	if a.from != "" {
		return "slipway doctor " + a.d.quote(a.from) + " --start --timeout 2m"
	}
	return "slipway doctor " + a.typed + " --timeout 2m"
}

// webPage reports whether the last response was HTML.
func (a *attempt) webPage() bool {
	if len(a.heads) == 0 {
		return false
	}
	return mediatype.IsHTML(a.heads[len(a.heads)-1].Header.Get("Content-Type"))
}

// Command checks the server that a command starts. source is the argument that names it for
// [Options.Open], and typed that argument as a shell command has it.
func (d *Doctor) Command(ctx context.Context, about, source, typed string, argv []string) {
	a := &attempt{
		d:      d,
		server: local{argv: argv},
		typed:  typed,
	}
	hasProgram := d.Add(about, "program", func(r check.Reporter) string {
		return d.checkProgram(r, &a.server)
	})
	if !hasProgram {
		return
	}
	a.try(ctx, func(ctx context.Context, opts *client.Options) (mcp.Source, error) {
		return d.opts.Open(ctx, source, opts)
	})
	d.record(a.check(about, "handshake"))
}

// atOnce is how many servers of a file are started at the same time.
const atOnce = 4

// starting is how the servers of a file are started.
type starting struct {
	about  string                   // names the file in checks
	from   string                   // is the argument for it
	values stax.SecretStore         // has its secrets, if not nil
	skip   []string                 // are servers to omit
	edit   func(name string) string // returns the command that opens an entry
}

// start starts the enabled servers of definitions, and connects to those at a URL.
func (d *Doctor) start(ctx context.Context, how *starting, m *stax.Merged) {
	resolver := d.opts.Resolver
	if how.values != nil {
		resolver = resolver.With(how.values)
	}
	var names []string
	for i := range m.Config.Servers {
		s := &m.Config.Servers[i]
		if !s.Disabled() && !slices.Contains(how.skip, s.Name) {
			names = append(names, s.Name)
		}
	}
	checks := make([]Check, len(names))
	turns := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, name := range names {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			a := &attempt{
				d:      d,
				server: local{name: name},
				from:   how.from,
				edit:   how.edit(name),
			}
			checks[i] = a.start(ctx, how.about, resolver, m)
		})
	}
	all.Wait()
	d.record(checks...)
}

// start makes the attempt for a server of definitions.
func (a *attempt) start(
	ctx context.Context,
	about string,
	resolver *stax.Resolver,
	m *stax.Merged,
) Check {
	name := a.server.name
	if s := m.Config.Server(name); !s.Remote() {
		a.server.argv = append([]string{s.Command}, s.Args...)
	}
	a.try(ctx, func(ctx context.Context, opts *client.Options) (mcp.Source, error) {
		opts.Name = name
		return resolver.Open(ctx, m, name, &stax.OpenOptions{
			Live:  opts,
			Whole: true,
		})
	})
	return a.check(about, "start "+name)
}

// Source records the outcome of opening a source of another kind. err is the error of
// opening, or nil.
func (d *Doctor) Source(about, detail, hint string, err error) {
	d.Add(about, "source", func(r check.Reporter) string {
		if err != nil {
			r.Add(ruleSource, "", hint, "%s", oneLine(err.Error()))
		}
		return detail
	})
}

package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/doctor"
	"github.com/slipway-mcp/slipway/internal/style"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/tap"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// diagnosis is the flags of doctor.
type diagnosis struct {
	reporting
	// start permits starting servers, each of which has timeout to answer.
	start   bool
	timeout time.Duration

	opts   *open.Options
	roster *client.Roster
	*doctor.Doctor
}

func newDoctor() *cobra.Command {
	d := diagnosis{timeout: 30 * time.Second}
	cmd := &cobra.Command{
		Use:   "doctor [CLIENT|SOURCE]",
		Short: "Find out why a server or a client does not work",
		Long: `Diagnose why a server does not work. Where a command fixes a problem, it is
printed as the hint.

Without an argument, check this installation, your definitions, and the config
files of all installed clients. CLIENT is the id of one, such as cursor; a
folder of that name is ./cursor. For a URL, check each step of connecting: name,
connection, certificate, handshake, token and clock. A command after -- is
started and must answer. For a slipway.yaml, the address and the certificate are
tried, too. Any other SOURCE, such as a definitions file, is opened or checked.

The servers in config files and definitions are neither started nor contacted,
unless you pass --start: you do not need to trust a project to check it. Only
the node on your PATH is run, for its version.

MCP_CLIENT_TOKEN is the bearer token for a URL. Rules: docs/reference/rules.md.`,
		Example: `  slipway doctor
  slipway doctor cursor
  slipway doctor claude-code --start
  slipway doctor -- slipway serve --stdio examples/http-reference`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return d.run(cmd, "")
			}
			if args[0] == "" {
				return usage("slipway doctor --help", "doctor: the argument is empty")
			}
			return d.run(cmd, args[0])
		},
	}
	bundleFlags(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&d.start, "start", false, "start the servers of config files and definitions, and contact their URLs")
	flags.Var(longerThanZero(&d.timeout), "timeout", "`time` that a server may take to answer")
	d.reporting.flags(cmd)
	flags.Lookup("json").Usage = "print the checks and findings as JSON, as --format json does"
	cmd.Args = takes(0, 1)
	acceptCommand(cmd)
	return cmd
}

// run diagnoses what the argument names, or the installation.
func (d *diagnosis) run(cmd *cobra.Command, arg string) error {
	if err := d.prepare(cmd); err != nil {
		return err
	}
	wait := startWait(cmd, 0, d.roster)
	defer wait.finish()
	wait.begin(cmp.Or(open.Argument(arg).Redacted(), "the checks of this installation"))
	about, err := d.diagnose(cmd.Context(), arg)
	wait.finish()
	if err != nil {
		return err
	}
	if err := cmd.Context().Err(); err != nil {
		return interrupted(cmd, "")
	}
	d.own = d.write
	return d.print(cmd, []string{about}, d.Report())
}

// prepare sets the options.
func (d *diagnosis) prepare(cmd *cobra.Command) error {
	var err error
	if d.opts, err = sourceOptions(cmd, nil, nil); err != nil {
		return err
	}
	verbosely(cmd, d.opts.Live.Source)
	d.roster = &client.Roster{}
	d.opts.Live.Source.Roster = d.roster
	o := &doctor.Options{
		Version:  thisBuild().Version + ", " + runtime.GOOS + "/" + runtime.GOARCH,
		Addr:     defaultAddress(os.Getenv, serve.DefaultAddr),
		Open:     d.open,
		Resolver: d.opts.Definitions.Resolver,
		Start:    d.start,
		Roster:   d.roster,
		Client:   d.opts.Live.Source.Client,
		Timeout:  d.timeout,
	}
	o.Definitions, _ = clients.DefinitionsFile() // the diagnosis reports an unknown one
	o.StateDir, _ = clients.StateDir()
	if o.Program, err = os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(o.Program); err == nil {
			o.Program = real
		}
	}
	d.Doctor = doctor.New(o)
	return nil
}

// defaultAddress returns the address of slipway serve without flags, or "" if it is invalid.
// set is the address of the configuration file, or the default.
func defaultAddress(getenv func(string) string, set string) string {
	addr, err := serve.ParseAddr(cmp.Or(getenv(envPrefix+"ADDR"), set))
	if err != nil {
		return ""
	}
	if port := getenv(envPrefix + "PORT"); serve.IsPort(port) {
		host, _, _ := net.SplitHostPort(addr)
		return net.JoinHostPort(host, port)
	}
	return addr
}

// open opens a source with the options of the command line and those of the diagnosis.
func (d *diagnosis) open(
	ctx context.Context,
	source string,
	opts *client.Options,
) (mcp.Source, error) {
	all := *d.opts
	live := *d.opts.Live
	server := *d.opts.Live.Source
	server.Tap = bothTaps(server.Tap, opts.Tap)
	live.Source = &server
	all.Live = &live
	return open.Open(ctx, source, &all)
}

// bothTaps returns a tap that calls a, which may be nil, and b.
func bothTaps(a, b tap.Func) tap.Func {
	if a == nil {
		return b
	}
	return func(e *tap.Event) {
		a(e)
		b(e)
	}
}

// diagnose runs the checks for an argument and returns its name for messages.
func (d *diagnosis) diagnose(ctx context.Context, arg string) (about string, err error) {
	source := open.Argument(arg)
	about = source.Redacted()
	if arg == "" {
		d.Installation(ctx)
		return "doctor", nil
	}
	if argv := source.Argv(); argv != nil {
		d.Command(ctx, about, arg, source.Typed(), argv)
		return about, nil
	}
	if address := source.Endpoint(); address != "" {
		d.URL(ctx, about, address)
		return about, nil
	}
	c, near := clients.ByID(arg)
	if c != nil {
		d.Client(ctx, c)
		return c.ID, nil
	}
	if source.IsDefinitions() {
		d.settings(about, arg)
		d.Definitions(ctx, about, arg)
		return about, nil
	}
	if err := source.Exists(); err != nil {
		return "", noSuchArgument(arg, near, err)
	}
	return about, d.source(ctx, about, arg)
}

// settings checks the configuration of serve in a definitions file: its sources, its
// settings, its address and its certificate.
func (d *diagnosis) settings(about, path string) {
	file, found, err := serveTable().Read(path)
	if err != nil || !file.Document.ConfiguresServe() {
		return // the check of the definitions reports the error
	}
	var f *serveFlags
	d.Add(about, "settings", func(r check.Reporter) string {
		tokens := cmp.Or(os.Getenv(envPrefix+"TOKEN"), os.Getenv(envPrefix+"TOKEN_FILE"))
		f = checkSettings(r.Report, file, found, tokens)
		return check.Count(len(file.Sources), "source") + ", " + check.Count(len(file.Values), "setting")
	})
	if f == nil {
		return
	}
	addr := defaultAddress(os.Getenv, f.Addr)
	if addr == "" {
		return
	}
	l := &doctor.Listening{
		Document: file.Document,
		Addr:     addr,
		Cert:     f.TLS.Cert,
		Key:      f.TLS.Key,
		AddrAt:   "/serve",
	}
	if v := file.Value("addr"); v != nil {
		l.AddrAt = v.Pointer
	}
	if v := file.Value("tls-cert"); v != nil {
		l.CertAt = v.Pointer
	}
	d.Listen(about, l)
}

// noSuchArgument returns the error for an argument that is neither a client nor a source.
func noSuchArgument(arg, near string, err error) error {
	var missing *open.Error
	hint := "slipway config clients lists the clients"
	switch {
	case near != "":
		hint = "did you mean " + near + "?"
	case errors.As(err, &missing) && missing.Hint != "":
		hint = missing.Hint
	case filepath.Base(arg) != arg:
		hint = "ls " + open.Argument(filepath.Dir(arg)).Typed()
	}
	return badInput(hint, "doctor: %s: no such client, file or folder", arg)
}

// source checks a source of another kind: local ones by their rules, others by opening
// them. A bundle is a program, and is started only with --start.
func (d *diagnosis) source(ctx context.Context, about, arg string) error {
	if !strings.Contains(arg, "://") {
		report, err := open.Check(ctx, arg, &open.CheckOptions{Open: d.opts})
		if err != nil {
			d.Source(about, "failed", hintOf(err), err)
			return nil
		}
		d.Add(about, "format", func(r check.Reporter) string {
			r.Report.Merge(report)
			return report.Summary()
		})
	}
	if !open.Argument(arg).Local() && !d.start && !strings.Contains(arg, "://") {
		return nil
	}
	src, err := open.Open(ctx, arg, d.opts)
	if err != nil {
		d.Source(about, "failed", hintOf(err), err)
		return nil
	}
	defer closeSource(src)
	cat, err := src.Catalog(ctx)
	if err != nil {
		d.Source(about, "failed", "", err)
		return nil
	}
	name := strings.TrimSpace(cat.Server.Name + " " + cat.Server.Version)
	d.Source(about, name+", "+check.Count(len(cat.Tools), "tool"), "", nil)
	return nil
}

// hintOf returns the hint of an error of opening a source.
func hintOf(err error) string {
	var opening *open.Error
	if errors.As(err, &opening) {
		return cmp.Or(opening.Hint, "slipway check "+open.Argument(opening.Arg).Typed())
	}
	return ""
}

// write writes the checks as text or JSON.
func (d *diagnosis) write(w io.Writer, format check.Format) error {
	if format == check.JSON {
		return printJSON(w, map[string][]doctor.Check{"checks": d.Checks()})
	}
	out := newLayout(w)
	about := ""
	width := 0
	for _, c := range d.Checks() {
		width = max(width, style.Width(visible.Line(c.Name)))
	}
	for _, c := range d.Checks() {
		if c.About != about {
			about = c.About
			out.line(named(about))
		}
		out.line(plain("  "), span{statusStyles[c.Status], style.Pad(string(c.Status), len(doctor.Warning))},
			plain("  "+style.Pad(visible.Line(c.Name), width)+"  "+c.Detail))
		if err := writeFindings(out, c.Findings); err != nil {
			return err
		}
	}
	return out.flush()
}

// statusStyles are the colors of outcomes.
var statusStyles = map[doctor.Status]style.Style{
	doctor.OK:      style.Success,
	doctor.Warning: style.Warning,
	doctor.Failure: style.Error,
}

// writeFindings writes the findings of a check below it.
func writeFindings(out *layout, findings []check.Finding) error {
	report := &check.Report{}
	for _, f := range findings {
		if f.File != "" && !strings.Contains(f.File, "://") {
			f.File = clients.ShortPath(f.File)
		}
		report.Add(f)
	}
	var text strings.Builder
	if err := report.WriteText(&text, out.colored); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		out.out.WriteString("    " + style.Wrap(strings.TrimSuffix(line, "\n"), max(0, out.width-4), "      ") + "\n")
	}
	return nil
}

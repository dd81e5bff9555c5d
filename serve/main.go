package serve

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/internal/neterror"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
)

// The exit codes of [Main]. A second signal ends it with 128 plus its number.
const (
	exitOK     = 0
	exitNo     = 1 // the source has errors, or cannot be served
	exitUsage  = 2 // invalid command line or environment
	exitInput  = 3 // the address cannot be used
	exitPolicy = 6 // refused for safety
)

// Main is the main function of a program that serves one Source. It takes what a
// constructor returns:
//
//	func main() { serve.Main(router.New("weather", "1.0.0", features...)) }
//
// The command line selects how to serve: on stdin and stdout, as a program that starts
// the server expects, or over HTTP and WebSocket. -h prints help, -check reports mistakes
// in what src offers, -freeze stores its answers as a StaticMCP site, -version prints the
// version. Without a choice, it is stdio if stdin is a pipe, a socket or a file, and HTTP
// if it is a terminal or the null device.
//
// The first SIGINT or SIGTERM lets the requests in flight finish, a second one ends the
// process at once. Main does not return. The process exits with 0 when the client has
// disconnected or after a signal, with 1 if err is not nil, which is printed line by
// line, or if the source has errors, with 2 for an invalid command line or environment,
// with 3 for an address that cannot be used, and with 6 for an address that others could
// reach without a token. If src is an [io.Closer], it is closed before the process exits.
//
// These environment variables apply to HTTP unless the command line overrides them:
// MCP_SERVER_ADDR and MCP_SERVER_PORT are the address to listen on, MCP_SERVER_TOKEN is
// the bearer token that clients must send. MCP_SERVER_LOG_LEVEL is the level of the log
// on stderr.
func Main[S mcp.Source](src S, err error) {
	p := &program{
		name:   strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"),
		args:   os.Args[1:],
		stdin:  os.Stdin,
		stdout: os.Stdout,
		stderr: visible.NewWriter(os.Stderr),
		getenv: os.Getenv,
	}
	ctx, stop := Signals(context.Background(), func(os.Signal) {
		fmt.Fprintf(p.stderr, "%s: draining requests; press Ctrl-C again to exit now\n", p.name)
	})
	code := 0
	if err != nil {
		code = p.run(ctx, nil, err) // src may be a nil pointer, which is not a nil interface
	} else {
		code = p.run(ctx, src, nil)
	}
	stop()
	os.Exit(code)
}

// program is [Main] without the process around it.
type program struct {
	// name is that of the executable, for messages.
	name           string
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	// getenv is os.Getenv, or a fake one in tests.
	getenv  func(string) string
	started func(*Info) // only set in tests
}

// failure is an error for the user, with its exit code.
type failure struct {
	code int
	text string
	hint string // what to do next, or empty
}

func (f *failure) Error() string { return f.text }

// run serves src, or reports why it cannot, and returns the exit code. broken is the
// reason why there is no src.
func (p *program) run(ctx context.Context, src mcp.Source, broken error) (code int) {
	if c, ok := src.(io.Closer); ok && broken == nil {
		defer func() {
			if err := c.Close(); err != nil && code == exitOK {
				code = p.report(fmt.Errorf("close: %w", err))
			}
		}()
	}
	s, err := p.parse()
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return p.report(err)
	case broken != nil:
		return p.report(broken)
	case s.check:
		return p.check(ctx, src)
	case s.freeze != "":
		return p.report(p.freeze(ctx, src, s.freeze))
	case s.version:
		return p.report(p.version(ctx, src))
	case s.stdio:
		return p.report(p.serveStdio(ctx, src, s))
	}
	return p.report(p.serveHTTP(ctx, src, s))
}

// report prints err, if any, with the program's name before each line, and returns the
// exit code.
func (p *program) report(err error) int {
	if err == nil {
		return exitOK
	}
	f := &failure{
		code: exitNo,
		text: err.Error(),
	}
	_ = errors.As(err, &f)
	for line := range strings.Lines(f.text) {
		fmt.Fprintf(p.stderr, "%s: %s\n", p.name, strings.TrimRight(line, "\n"))
	}
	if f.hint != "" {
		fmt.Fprintf(p.stderr, "hint: %s\n", f.hint)
	}
	return f.code
}

// version serves -version. Name and version are those of the source.
func (p *program) version(ctx context.Context, src mcp.Source) error {
	cat, err := src.Catalog(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "%s %s\n", cat.Server.Name, cat.Server.Version)
	return err
}

// logger returns a logger to stderr: stdout carries messages with -stdio.
func (p *program) logger(s *settings) *slog.Logger {
	return slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: s.level}))
}

// serveStdio serves one client. At a terminal it explains why nothing happens.
func (p *program) serveStdio(ctx context.Context, src mcp.Source, s *settings) error {
	if f, ok := p.stdin.(*os.File); ok && isCharDevice(f) {
		fmt.Fprintf(p.stderr, "%s: waiting for MCP messages on stdin; usually a client starts this program\n", p.name)
	}
	return Stdio(ctx, src, p.stdin, p.stdout, &Options{Logger: p.logger(s)})
}

// serveHTTP serves src over HTTP and WebSocket until ctx is done.
func (p *program) serveHTTP(ctx context.Context, src mcp.Source, s *settings) error {
	cat, err := src.Catalog(ctx)
	if err != nil {
		return err
	}
	opts := &Options{
		Addr:   s.addr,
		Logger: p.logger(s),
		Observer: Observer{Started: func(info *Info) {
			p.banner(cat, info, s.token != "")
			if p.started != nil {
				p.started(info)
			}
		}},
	}
	if s.token != "" {
		tokens, err := NewTokens(Token{
			Name:  "client",
			Token: s.token,
		})
		if err != nil {
			return &failure{
				code: exitUsage,
				text: envToken + ": " + err.Error(),
			}
		}
		opts.Auth = &Auth{Verifiers: []Verifier{tokens}}
	}
	return withExitCode(Run(ctx, src, opts))
}

// withExitCode adds exit codes and hints to listen errors.
func withExitCode(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrExposed):
		return &failure{
			exitPolicy,
			err.Error(),
			"listen on 127.0.0.1, or set " + envToken + " to what clients must send as their bearer token",
		}
	case neterror.IsAddressInUse(err):
		return &failure{exitInput, err.Error(), "-http 127.0.0.1:0 takes any free port"}
	}
	return &failure{
		code: exitInput,
		text: err.Error(),
	}
}

// banner prints the addresses, and how to add the server to a client.
func (p *program) banner(cat *mcp.Catalog, info *Info, auth bool) {
	header := ""
	if auth {
		header = ` --header "Authorization: Bearer $` + envToken + `"`
	}
	fmt.Fprintf(p.stderr, `%s: serving %s %s

  MCP endpoint  %s
  WebSocket     %s
  Health        %s

  Claude Code   claude mcp add --transport http %s %s%s

Ctrl-C stops it.
`, p.name, cat.Server.Name, cat.Server.Version, info.Endpoint, info.WebSocket, info.Health, p.name,
		cmp.Or(info.Public, info.Endpoint), header)
}

// isCharDevice reports whether f is a terminal or a device such as the null device.
func isCharDevice(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

package serve

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
)

// The environment variables that [Main] reads.
const (
	envAddr  = "MCP_SERVER_ADDR"
	envPort  = "MCP_SERVER_PORT"
	envToken = "MCP_SERVER_TOKEN"
	envLevel = "MCP_SERVER_LOG_LEVEL"
)

// settings are the settings from the command line and the environment.
type settings struct {
	stdio, check, version bool
	freeze                string // the folder to write
	http                  addrFlag
	addr                  string // host:port to listen on
	// token is the bearer token for HTTP, or empty.
	token string
	level slog.Level
}

// addrFlag is a flag with an optional value: -http, -http=ADDR. The form -http ADDR is
// handled by [program.parseFlags].
type addrFlag struct {
	// given reports that -http was used, with an address in value or without one.
	given bool
	value string
}

func (a *addrFlag) String() string { return a.value }
func (a *addrFlag) IsBoolFlag() bool {
	return true
} // the value is optional

// Set accepts -http alone, which package flag passes as "true".
func (a *addrFlag) Set(text string) error {
	switch on, err := strconv.ParseBool(text); {
	case err == nil && (text == "true" || text == "false"):
		a.given = on
		a.value = ""
	default:
		a.given = true
		a.value = text
	}
	return nil
}

// parse reads the command line, then the environment for unset values.
func (p *program) parse() (*settings, error) {
	s := &settings{level: slog.LevelWarn}
	if err := p.parseLevel(s); err != nil {
		return nil, err
	}
	fs := flag.NewFlagSet(p.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.BoolVar(&s.stdio, "stdio", false, "")
	fs.Var(&s.http, "http", "")
	fs.Var(&s.http, "ws", "") // one address serves both
	fs.BoolVar(&s.check, "check", false, "")
	fs.BoolVar(&s.version, "version", false, "")
	fs.StringVar(&s.freeze, "freeze", "", "")
	fs.TextVar(&s.level, "log-level", s.level, "")
	err := p.parseFlags(fs, s)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(p.stdout, usageText, p.name)
		return nil, err
	case err != nil:
		return nil, p.usage("%v", err)
	case fs.NArg() > 0:
		return nil, p.usage("%q is not a flag", fs.Arg(0))
	}
	return s, p.complete(s)
}

// parseFlags lets -http and -ws take the next argument as value if it is not a flag.
func (p *program) parseFlags(fs *flag.FlagSet, s *settings) error {
	rest := p.args
	for {
		if err := fs.Parse(rest); err != nil {
			return err
		}
		rest = fs.Args()
		parsed := len(p.args) - len(rest)
		if len(rest) == 0 || parsed == 0 {
			return nil
		}
		switch strings.TrimPrefix(p.args[parsed-1], "-") {
		case "-http", "http", "-ws", "ws":
		default:
			return nil
		}
		s.http.value = rest[0]
		rest = rest[1:]
	}
}

// complete chooses the mode if the command line does not.
func (p *program) complete(s *settings) error {
	chosen := 0
	for _, mode := range []bool{s.stdio, s.http.given, s.check, s.version, s.freeze != ""} {
		if mode {
			chosen++
		}
	}
	if chosen > 1 {
		return p.usage("-stdio, -http, -check, -freeze and -version exclude each other")
	}
	if chosen == 0 {
		s.stdio = isStream(p.stdin)
	}
	if s.stdio || s.check || s.version || s.freeze != "" {
		return nil
	}
	s.token = p.getenv(envToken)
	return p.address(s)
}

// isStream reports whether stdin can be connected to a client.
func isStream(stdin io.Reader) bool {
	f, ok := stdin.(*os.File)
	if !ok {
		return true
	}
	_, err := f.Stat()
	return err == nil && !isCharDevice(f)
}

// parseLevel reads the log level from the environment.
func (p *program) parseLevel(s *settings) error {
	text := p.getenv(envLevel)
	if text == "" {
		return nil
	}
	if err := s.level.UnmarshalText([]byte(text)); err != nil {
		return p.usage("%s: %q is none of debug, info, warn and error", envLevel, text)
	}
	return nil
}

// address determines the address to listen on.
func (p *program) address(s *settings) error {
	port := p.getenv(envPort)
	switch {
	case s.http.value != "":
		return p.setAddress(s, "-http", s.http.value)
	case p.getenv(envAddr) != "":
		if err := p.setAddress(s, envAddr, p.getenv(envAddr)); err != nil || port == "" {
			return err
		}
	default:
		s.addr = DefaultAddr
	}
	if port == "" {
		return nil
	}
	if !IsPort(port) {
		return p.usage("%s: %q is not a port", envPort, port)
	}
	host, own, err := net.SplitHostPort(s.addr)
	_, _, whole := net.SplitHostPort(p.getenv(envAddr))
	if whole == nil && own != port {
		return p.usage("%s has port %s, %s has %s", envAddr, own, envPort, port)
	}
	s.addr = net.JoinHostPort(host, port)
	return err
}

// setAddress accepts HOST:PORT, HOST or PORT.
func (p *program) setAddress(s *settings, from, text string) (err error) {
	if s.addr, err = ParseAddr(text); err != nil {
		return p.usage("%s: %v", from, err)
	}
	return nil
}

// usage returns an error in the command line or the environment.
func (p *program) usage(format string, args ...any) error {
	return &failure{exitUsage, fmt.Sprintf(format, args...), p.name + " -h lists the flags"}
}

// usageText is the help text, with the name of the program as %[1]s.
const usageText = `%[1]s is an MCP server.

  %[1]s [-stdio | -http [ADDR] | -ws [ADDR] | -check | -freeze DIR | -version] [-log-level LEVEL]

  -stdio        serve one client over stdin and stdout, as clients that start
                servers expect; the default if stdin is a pipe, a socket or a file
  -http [ADDR]  serve any number of clients at http://ADDR/mcp, with health checks
                at /livez, /readyz and /healthz; the default otherwise. ADDR is
                HOST:PORT, HOST or PORT (default: 127.0.0.1:8080); port 0 is any
                free port. WebSockets are at ws://ADDR/ws
  -ws [ADDR]    alias of -http, which serves both
  -check        check the server's tools, resources and prompts, and exit with 1
                if there are problems
  -freeze DIR   store the answers of read-only tools, resources and prompts in
                DIR, as a StaticMCP site
  -version      print name and version
  -log-level LEVEL
                level of messages on stderr: debug, info, warn (the default) or
                error
  -h            print this help

Environment variables, for settings without a flag on the command line:

  MCP_SERVER_ADDR, MCP_SERVER_PORT
                address of -http
  MCP_SERVER_TOKEN
                bearer token that clients of -http must send; without it, the
                server listens on loopback addresses only
  MCP_SERVER_LOG_LEVEL
                like -log-level

Ctrl-C or SIGTERM drains requests; press Ctrl-C again to exit now.
`

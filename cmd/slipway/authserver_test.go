package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/slipway-mcp/slipway/internal/test/authtest"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// hostAuth serves a site behind a login. Its URL is $NAME, and its issuer $NAME_ISSUER.
func hostAuth(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1, "authserver NAME")
	site, err := staticmcp.OpenDir(context.Background(), ts.Getenv("EXAMPLE"), nil)
	ts.Check(err)
	s := authtest.Start(mcpserver.New(site, nil).HTTPHandler(nil))
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
	ts.Setenv(args[0]+"_ISSUER", s.Issuer)
	ts.Value(worldKey{}).(*world).auths[args[0]] = s
}

// changeAuth changes a server of hostAuth.
func changeAuth(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: auth NAME break FAULT|repair|require SCOPE...|expire|revoke|life DURATION|secrets FILE...")
	}
	s := ts.Value(worldKey{}).(*world).auths[args[0]]
	switch args[1] {
	case "break":
		s.Break(authtest.Fault(args[2]))
	case "repair":
		s.Break("")
	case "require":
		s.Require(args[2:]...)
	case "expire":
		s.ExpireAccess()
	case "revoke":
		s.RevokeAll()
	case "life":
		life, err := time.ParseDuration(args[2])
		ts.Check(err)
		s.SetLife(life)
	case "secrets": // no token is in the files
		for _, name := range args[2:] {
			text := ts.ReadFile(name)
			for _, secret := range s.Secrets() {
				if strings.Contains(text, secret) {
					ts.Fatalf("%s contains a token", name)
				}
			}
		}
	default:
		ts.Fatalf("unknown change %q", args[1])
	}
}

// browserMain is a browser whose user approves every login: it follows redirects.
func browserMain() {
	resp, err := http.Get(os.Args[len(os.Args)-1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = resp.Body.Close()
}

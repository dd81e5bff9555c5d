// Command slipway is our own server, as an author of a Source has it.
package main

import (
	"context"
	"net/http"
	"os"

	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/mcp"
)

func main() { contract.Main(contract.Program{HTTP: serve, Stdio: stdio}) }

// source offers what every peer offers.
type source struct {
	mcp.Unimplemented
	catalog mcp.Catalog
	text    string
}

func newServer(cfg contract.Config) *mcp.Server {
	s := &source{text: fix.Text()}
	s.catalog.Server = mcp.Implementation{Name: fix.ServerName, Version: fix.ServerVersion}
	s.catalog.Resources = []mcp.Resource{{Name: fix.Blob, URI: fix.BlobURI, MIMEType: fix.BlobMIME}}
	for _, t := range fix.Tools(cfg.Tools) {
		s.catalog.Tools = append(s.catalog.Tools,
			mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	return mcp.NewServer(s, nil)
}

func (s *source) Catalog(context.Context) (*mcp.Catalog, error) { return &s.catalog, nil }

func (s *source) CallTool(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	switch p.Name {
	case fix.Echo:
		message, ok := p.StringArgument("message")
		if !ok {
			return nil, mcp.InvalidArguments("message: required, and must be a string")
		}
		return text(message), nil
	case fix.Blob:
		return text(s.text), nil
	}
	return nil, mcp.UnknownTool(p.Name)
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(s)}}
}

func (s *source) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if p.URI != fix.BlobURI {
		return nil, mcp.ResourceNotFound(p.URI, "no such resource")
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{
		{URI: fix.BlobURI, MIMEType: fix.BlobMIME, Text: s.text},
	}}, nil
}

func serve(cfg contract.Config) (http.Handler, error) {
	return newServer(cfg).HTTPHandler(&mcp.HTTPOptions{NoSessions: !cfg.Session}), nil
}

func stdio(cfg contract.Config) error {
	return newServer(cfg).ServeStdio(context.Background(), os.Stdin, os.Stdout, nil)
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/ws"
)

// upstream is a server of one protocol version, regardless of the requested one. The
// names of its tools begin with its name.
type upstream struct {
	mcp.Unimplemented
	name string

	mu      sync.Mutex
	cat     *mcp.Catalog
	watches map[int]func(mcp.Change)
}

func newUpstreamSource(name string) *upstream {
	u := &upstream{name: name, watches: make(map[int]func(mcp.Change))}
	u.offer("say", "ask", "sample", "steps", "fail", "grow")
	return u
}

func (u *upstream) offer(tools ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.cat = &mcp.Catalog{Server: mcp.Implementation{Name: u.name, Version: "1"}, Logging: true, Subscribe: true,
		Resources: []mcp.Resource{{
			URI:  u.name + "://one",
			Name: "one",
			Raw:  json.RawMessage(`{"uri":"` + u.name + `://one","name":"one","x":1.0}`),
		}}}
	for _, tool := range tools {
		name := u.name + "_" + tool
		u.cat.Tools = append(u.cat.Tools,
			mcp.Tool{Name: name,
				Raw: json.RawMessage(`{"name":"` + name + `","inputSchema":{"type":"object"},"x":12345678901234567890}`)})
	}
}

func (u *upstream) Catalog(context.Context) (*mcp.Catalog, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.cat, nil
}

func (u *upstream) Watch(changed func(mcp.Change)) (stop func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := len(u.watches)
	u.watches[n] = changed
	return func() { u.mu.Lock(); defer u.mu.Unlock(); delete(u.watches, n) }
}

func (u *upstream) tell(c mcp.Change) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, changed := range u.watches {
		changed(c)
	}
}

func (u *upstream) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	req := mcp.RequestFrom(ctx)
	say := func(text string) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}, nil
	}
	switch strings.TrimPrefix(p.Name, u.name+"_") {
	case "say":
		raw, err := mcp.ParseRaw([]byte(`{"content":[{"type":"text",` +
			`"text":"` + req.Version().String() + `"}],"structuredContent":{"n":12345678901234567890},"x":[1e400]}`))
		return &mcp.CallToolResult{Raw: raw}, err
	case "ask":
		got, err := req.Elicit(ctx,
			&mcp.ElicitParams{Message: "who?",
				RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
		if err != nil {
			return nil, err
		}
		return say(got.Action)
	case "sample":
		got, err := req.Sample(ctx,
			&mcp.CreateMessageParams{Messages: []mcp.SamplingMessage{mcp.SamplingText("user", "hi")}, MaxTokens: 1})
		if err != nil {
			return nil, err
		}
		return say(got.Text())
	case "steps":
		req.Progress(1, 2, "")
		req.Log(mcp.LogError, "", u.name)
		return say("done")
	case "fail":
		return nil, &mcp.Error{Code: 4711, Message: "it failed", Data: json.RawMessage(`{"n":1.0}`)}
	case "grow":
		u.offer("say", "ask", "sample", "steps", "fail", "grow", "grown")
		u.tell(mcp.Change{Tools: true})
		u.tell(mcp.Change{URI: u.name + "://one"})
		return say("grown")
	}
	return nil, mcp.UnknownTool(p.Name)
}

func (u *upstream) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if p.URI != u.name+"://one" {
		return nil, mcp.ResourceNotFound(p.URI, "")
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: u.name}}}, nil
}

// upstreamMain is the program "upstream NAME VERSION", over stdin and stdout.
func upstreamMain() {
	version, ok := mcp.ParseVersion(os.Args[2])
	if !ok {
		os.Exit(2)
	}
	in, out := io.Pipe()
	go pinLines(out, version)
	_ = mcpserver.New(newUpstreamSource(os.Args[1]), nil).ServeStdio(context.Background(), in, os.Stdout, nil)
}

// pinLines passes the lines of stdin on as pinned does.
func pinLines(out *io.PipeWriter, version mcp.Version) {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			_ = out.CloseWithError(err)
			return
		}
		_, _ = out.Write(pinned(line, version))
	}
}

// pinned rewrites a client's message for a server of one version, which does not know the
// other handshake and accepts no other version.
func pinned(line []byte, version mcp.Version) []byte {
	switch {
	case version.Modern() && bytes.Contains(line, []byte(`"method":"initialize"`)):
		return bytes.Replace(line, []byte(`"initialize"`), []byte(`"not/known"`), 1)
	case !version.Modern() && bytes.Contains(line, []byte(`"method":"initialize"`)):
		return bytes.Replace(line, []byte(mcp.LatestLegacyVersion.String()), []byte(version.String()), 1)
	case !version.Modern() && bytes.Contains(line, []byte(`io.modelcontextprotocol/protocolVersion`)):
		return []byte(`{"jsonrpc":"2.0","id":0,"method":"not/known"}` + "\n")
	}
	return line
}

// pinnedHTTP is pinned for the Streamable HTTP transport.
func pinnedHTTP(next http.Handler, version mcp.Version) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if modern := r.Header.Get("Mcp-Method") != ""; modern != version.Modern() && r.Method == http.MethodPost {
			http.Error(w, "what is that?", http.StatusBadRequest)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		body = pinned(body, version)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		next.ServeHTTP(w, r)
	})
}

// upstreamWeb serves a source over HTTP in one version: at /mcp, as the HTTP+SSE of
// 2024-11-05 at /sse, and as a WebSocket at /ws.
func upstreamWeb(name string, version mcp.Version) (http.Handler, *mcpserver.Server) {
	server := mcpserver.New(newUpstreamSource(name), nil)
	mux := http.NewServeMux()
	mux.Handle("/mcp", pinnedHTTP(server.HTTPHandler(nil), version))
	sse := server.SSEHandler("/message", nil)
	mux.Handle("GET /sse", sse)
	mux.Handle("POST /message", pinnedHTTP(sse, version))
	mux.Handle("/ws", ws.NewHandler(server, nil))
	return mux, server
}

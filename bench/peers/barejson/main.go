// Command barejson is the floor of servers that decode: net/http or a line loop, and
// encoding/json structs in both directions, without the rules of MCP.
package main

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strconv"

	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
)

func main() {
	contract.Main(contract.Program{
		HTTP:  serve,
		Stdio: stdio,
	})
}

// request is a message from the client, with the members that any method needs.
type request struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  struct {
		Name      string `json:"name"`
		URI       string `json:"uri"`
		Arguments struct {
			Message string `json:"message"`
		} `json:"arguments"`
		Meta map[string]any `json:"_meta"`
	} `json:"params"`
}

// notification is a message of the server without an answer.
type notification struct {
	JSONRPC string         `json:"jsonrpc"`
	Method  string         `json:"method"`
	Params  map[string]any `json:"params"`
}

// response is the answer to a request.
type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// rpcError is the error of a response (JSON-RPC 2.0, section 5.1).
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// content is an item of a tool result.
type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// contents is an item of a resource.
type contents struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType"`
	Text     string `json:"text"`
}

// info identifies the server.
type info struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// result has the members of every kind of result. Absent ones are omitted.
type result struct {
	ProtocolVersion string         `json:"protocolVersion,omitempty"`
	Capabilities    map[string]any `json:"capabilities,omitempty"`
	ServerInfo      *info          `json:"serverInfo,omitempty"`
	Content         []content      `json:"content,omitempty"`
	Contents        []contents     `json:"contents,omitempty"`
	Tools           []fix.Tool     `json:"tools,omitempty"`
	ResultType      string         `json:"resultType,omitempty"`
	Meta            map[string]any `json:"_meta,omitempty"`
}

// server has the tools and the text that answers need.
type server struct {
	tools []fix.Tool
	text  string
}

// newServer returns a server with as many tools as the configuration asks for.
func newServer(cfg contract.Config) *server {
	return &server{
		tools: fix.Tools(cfg.Tools),
		text:  fix.Text(),
	}
}

// answer returns nil for a notification.
func (s *server) answer(body []byte) ([]byte, string, error) {
	var req request
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, "", err
	}
	if req.ID == nil {
		return nil, req.Method, nil
	}
	res := response{
		JSONRPC: "2.0",
		ID:      req.ID,
	}
	if r := s.result(&req); r != nil {
		res.Result = r
	} else {
		res.Error = &rpcError{-32601, "no such thing"}
	}
	out, err := json.Marshal(res)
	return out, req.Method, err
}

// result returns the result of a request, or nil for an unknown method, tool or resource.
func (s *server) result(req *request) *result {
	r := &result{}
	switch {
	case req.Method == "initialize":
		r.ProtocolVersion = fix.Legacy
		r.Capabilities = map[string]any{"tools": struct{}{}, "resources": struct{}{}}
		r.ServerInfo = &info{fix.ServerName, fix.ServerVersion}
	case req.Method == "tools/list":
		r.Tools = s.tools
	case req.Method == "tools/call" && req.Params.Name == fix.Echo:
		r.Content = []content{{"text", req.Params.Arguments.Message}}
	case req.Method == "tools/call" && req.Params.Name == fix.Progress:
		r.Content = []content{{"text", fix.Message}}
	case req.Method == "tools/call" && req.Params.Name == fix.Blob:
		r.Content = []content{{"text", s.text}}
	case req.Method == "resources/read" && req.Params.URI == fix.BlobURI:
		r.Contents = []contents{{fix.BlobURI, fix.BlobMIME, s.text}}
	default:
		return nil
	}
	if req.Params.Name != fix.Progress && req.Params.Meta != nil {
		r.ResultType = "complete"
		r.Meta = map[string]any{"io.modelcontextprotocol/serverInfo": info{fix.ServerName, fix.ServerVersion}}
	}
	return r
}

// serve returns a handler that reads the body as a whole and writes one answer.
func serve(cfg contract.Config) (http.Handler, error) {
	s := newServer(cfg)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		out, method, err := s.answer(body)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		case out == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if method == "initialize" && cfg.Session {
			w.Header().Set("Mcp-Session-Id", rand.Text())
		}
		if cfg.Stream {
			stream(w, out)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(out)))
		w.Write(out) // an error means the client has disconnected
	}), nil
}

// stream sends progress notifications and the answer, each flushed immediately.
func stream(w http.ResponseWriter, answer []byte) {
	w.Header().Set("Content-Type", "text/event-stream")
	controller := http.NewResponseController(w)
	for n := range fix.Steps {
		msg, err := json.Marshal(notification{"2.0", "notifications/progress",
			map[string]any{"progressToken": 1, "progress": n + 1, "total": fix.Steps}})
		if err != nil {
			return // the generator detects the missing event
		}
		w.Write(fix.Event(msg)) // an error means the client has disconnected
		controller.Flush()
	}
	w.Write(fix.Event(answer))
}

// stdio answers lines until the input ends.
func stdio(cfg contract.Config) error {
	s := newServer(cfg)
	return contract.ServeLines(os.Stdin, os.Stdout, func(dst, line []byte) ([]byte, error) {
		answer, _, err := s.answer(line)
		return append(dst, answer...), err
	})
}

// Command echod is the upstream server of every gateway: one file, built with the
// standard library, with only what the measurement requires.
//
//	echod stdio
//	echod 127.0.0.1:9001
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"

	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
)

func main() { contract.Exit("echod", run(os.Args[1:])) }

// run serves stdio, or HTTP at an address.
func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: echod stdio|ADDR")
	}
	s, err := newServer()
	if err != nil {
		return err
	}
	if args[0] == contract.Stdio {
		return contract.ServeLines(os.Stdin, os.Stdout, s.answer)
	}
	return http.ListenAndServe(args[0], s)
}

// server contains the prepared answers.
type server struct{ tools, blob []byte }

// newServer encodes the answers once, so that the server costs as little as possible.
func newServer() (*server, error) {
	tools, err := json.Marshal(map[string]any{"tools": fix.Tools(fix.Called)})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(fix.Text())
	return &server{tools, content(text)}, err
}

// content returns the result of a call for a text in JSON.
func content(text []byte) []byte {
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, text)
}

// request contains the members of a message that are used.
type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name      string
		Arguments struct{ Message json.RawMessage }
	}
}

// answer appends the answer to a message, or nothing for a notification.
func (s *server) answer(dst, msg []byte) ([]byte, error) {
	var r request
	if err := json.Unmarshal(msg, &r); err != nil {
		return nil, err
	}
	if r.ID == nil {
		return dst, nil
	}
	member := "result"
	value := []byte("{}")
	switch {
	case r.Method == "initialize":
		value = fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":%q,"version":%q}}`,
			fix.Legacy, fix.ServerName, fix.ServerVersion)
	case r.Method == "tools/list":
		value = s.tools
	case r.Method == "tools/call" && r.Params.Name == fix.Echo:
		value = content(r.Params.Arguments.Message)
	case r.Method == "tools/call" && r.Params.Name == fix.Blob:
		value = s.blob
	case r.Method != "ping":
		member = "error"
		value = []byte(`{"code":-32601,"message":"method not found"}`)
	}
	return fmt.Appendf(dst, `{"jsonrpc":"2.0","id":%s,%q:%s}`, r.ID, member, value), nil
}

// ServeHTTP answers a POST without sessions.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		body, err = s.answer(nil, body)
	}
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case len(body) == 0:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body) // the client may have disconnected
	}
}

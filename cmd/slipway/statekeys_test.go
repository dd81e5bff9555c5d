package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// hostAsker serves a server over HTTP whose tool up_ask asks the client a question.
func hostAsker(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1, "asker NAME")
	server := httptest.NewServer(mcpserver.New(newUpstreamSource("up"), nil).HTTPHandler(nil))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
}

// askCall returns a call of the tool, with additional members of params.
func askCall(more string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up_ask","_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}` + more + `}}`
}

var askHeader = []string{"MCP-Protocol-Version:2026-07-28", "Mcp-Method:tools/call", "Mcp-Name:up_ask",
	"Accept:application/json, text/event-stream"}

// beginAsk calls the tool and saves the requestState of the question.
func beginAsk(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "asks FILE URL")
	_, text, err := send("POST", args[1]+"/mcp", askCall(""), askHeader)
	ts.Check(err)
	var answer struct {
		Result struct {
			RequestState  string                     `json:"requestState"`
			InputRequests map[string]json.RawMessage `json:"inputRequests"`
		} `json:"result"`
	}
	ts.Check(json.Unmarshal([]byte(text[strings.IndexByte(text, '{'):strings.LastIndexByte(text, '}')+1]), &answer))
	if answer.Result.RequestState == "" {
		ts.Fatalf("no requestState in %s", text)
	}
	var responses []string
	for key := range answer.Result.InputRequests {
		responses = append(responses, fmt.Sprintf(`%q:{"action":"accept","content":{"name":"Ann"}}`, key))
	}
	more := fmt.Sprintf(`,"requestState":%q,"inputResponses":{%s}`, answer.Result.RequestState,
		strings.Join(responses, ","))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(more), 0o600))
}

// endAsk sends the answer to a server and prints the result.
func endAsk(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "answers FILE URL")
	_, text, err := send("POST", args[1]+"/mcp", askCall(ts.ReadFile(args[0])), askHeader)
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), text)
}

package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// A request must pass several checks in a fixed order, the rungs of a ladder; the first
// one that fails determines the answer. Each case tests one rung, or the order of two,
// from the client's view.
type rung struct {
	name   string
	send   rawRequest
	status int
	code   mcp.Code // 0: no error
	id     string   // as written; empty: the message has none
	allow  string   // the Allow header
	result string   // a part of the result, or of the error's data
}

const (
	parse, invalid, noMethod, badParams = mcp.CodeParseError, mcp.CodeInvalidRequest,
		mcp.CodeMethodNotFound, mcp.CodeInvalidParams
	mismatch, noCapability, noVersion = mcp.CodeHeaderMismatch,
		mcp.CodeMissingClientCapability, mcp.CodeUnsupportedProtocolVersion
)

// The messages on which the cases are based. They are valid requests.
const (
	ladderPing   = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	ladderNote   = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`
	ladderModern = `{"jsonrpc":"2.0","id":1,"method":"tools/list",` +
		`"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`
	ladderInit = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
)

// modern returns a request of 2026-07-28 with additional members of params.
func modern(method, members string) string {
	if members != "" {
		members += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, members, envelope)
}

func TestLadder(t *testing.T) {
	addr := serveHTTP(t, newDemo(), nil)
	for _, rungs := range [][]rung{
		rungHosts(), rungMethods(), rungBodies(), rungMessages(), rungEras(), rungVersions(),
		rungMethodHeaders(), rungDispatch(), rungParamHeaders(),
	} {
		for _, c := range rungs {
			t.Run(c.name, func(t *testing.T) { c.check(t, c.send.do(t, addr)) })
		}
	}
}

func (c *rung) check(t *testing.T, got *response) {
	t.Helper()
	if got.status != c.status || got.code != c.code || got.id != c.id {
		t.Errorf("status %d, code %d, id %q, want %d, %d, %q\n%s",
			got.status, got.code, got.id, c.status, c.code, c.id, got.body)
	}
	if allow := got.header.Get("Allow"); allow != c.allow {
		t.Errorf("Allow %q, want %q", allow, c.allow)
	}
	if !strings.Contains(got.result+got.data, c.result) {
		t.Errorf("result %s and data %s hold no %s", got.result, got.data, c.result)
	}
	if c.code != 0 && got.header.Get("Content-Type") != "application/json" {
		t.Errorf("an error of type %q, want application/json", got.header.Get("Content-Type"))
	}
	if c.status == http.StatusAccepted && got.body != "" {
		t.Errorf("202 with the body %q", got.body)
	}
}

// Rung 2: which hosts and origins may use the server.
func rungHosts() []rung {
	const evil = "Origin: http://evil.example.com"
	return []rung{
		{name: "rung 2 no origin", send: post(ladderPing), status: 200, id: "1"},
		{name: "rung 2 evil host", send: post(ladderPing, "Host: evil.example.com"), status: 403, code: invalid},
		{name: "rung 2 evil host modern", send: post(ladderModern, "Host: evil.example.com"), status: 403,
			code: invalid},
		{name: "rung 2 evil origin", send: post(ladderPing, evil), status: 403, code: invalid},
		{name: "rung 2 evil origin modern", send: post(ladderModern, evil), status: 403, code: invalid},
		{name: "rung 2 malformed origin", send: post(ladderPing, "Origin: http//localhost"), status: 403,
			code: invalid},
		{name: "rung 2 empty origin", send: post(ladderPing, "Origin:"), status: 403, code: invalid},
		{name: "rung 2 null origin", send: post(ladderModern, "Origin: null"), status: 403, code: invalid},
		{name: "rung 2 two origins", send: post(ladderPing, "Origin: http://localhost", "+"+evil),
			status: 403, code: invalid},
		{name: "rung 2 local origin", send: post(ladderPing, "Origin: http://localhost:5173"), status: 200, id: "1"},
		{name: "rung 2 before rung 4", send: request("PUT", evil), status: 403, code: invalid},
		{name: "rung 2 before rung 4 get", send: request("GET", evil), status: 403, code: invalid},
		{name: "rung 2 before rung 4 delete", send: request("DELETE", evil, "Mcp-Session-Id: x"), status: 403,
			code: invalid},
		{name: "rung 2 before rung 4 preflight", send: request("OPTIONS", evil), status: 403, code: invalid},
		{name: "rung 2 before rung 5", send: post("{", evil, "Content-Type: text/plain"), status: 403, code: invalid},
	}
}

// Rung 4: the methods of HTTP.
func rungMethods() []rung {
	const allow = "POST, GET, DELETE, OPTIONS"
	const modern = "POST, OPTIONS"
	return []rung{
		{name: "rung 4 put", send: request("PUT"), status: 405, code: invalid, allow: allow},
		{name: "rung 4 patch", send: request("PATCH"), status: 405, code: invalid, allow: allow},
		{name: "rung 4 head", send: request("HEAD"), status: 405, allow: allow},
		{name: "rung 4 made up", send: request("TALK"), status: 405, code: invalid, allow: allow},
		{name: "rung 4 options", send: request("OPTIONS"), status: 204},
		{name: "rung 4 get without a session", send: request("GET", "Accept: text/event-stream"),
			status: 405, code: invalid, allow: "POST, DELETE, OPTIONS"},
		{name: "rung 4 get of an unknown session",
			send:   request("GET", "Accept: text/event-stream", "Mcp-Session-Id: none"),
			status: 404, code: invalid},
		{name: "rung 4 get in 2026-07-28",
			send: request("GET", "Accept: text/event-stream", "Mcp-Session-Id: none",
				"MCP-Protocol-Version: 2026-07-28"),
			status: 405, code: invalid, allow: modern},
		{name: "rung 4 get that resumes in 2026-07-28",
			send: request("GET", "Accept: text/event-stream", "Last-Event-ID: 1-1",
				"MCP-Protocol-Version: 2026-07-28"),
			status: 405, code: invalid, allow: modern},
		{name: "rung 4 delete without a session", send: request("DELETE"), status: 400, code: invalid},
		{name: "rung 4 delete of an unknown session", send: request("DELETE", "Mcp-Session-Id: none"),
			status: 404, code: invalid},
		{name: "rung 4 delete in 2026-07-28",
			send:   request("DELETE", "Mcp-Session-Id: none", "MCP-Protocol-Version: 2026-07-28"),
			status: 405, code: invalid, allow: modern},
		{
			name: "rung 4 before rung 5",
			send: rawRequest{line: "PUT /mcp HTTP/1.1", body: "x"}.with("Host: localhost", "Content-Type: text/plain",
				"Content-Length: 1", "Connection: close"),
			status: 405,
			code:   invalid,
			allow:  allow,
		},
	}
}

// Rung 5: restrictions of the body. The server uses the default limit.
func rungBodies() []rung {
	long := strings.Repeat(" ", 4<<20-len(ladderPing))
	longer := "Content-Length: 4194305"
	chunked := func(body string) rawRequest {
		return post(ladderPing, "Content-Length", "Transfer-Encoding: chunked").
			withBody(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body))
	}
	return []rung{
		{name: "rung 5 no content type", send: post(ladderPing, "Content-Type"), status: 415, code: invalid},
		{name: "rung 5 text", send: post(ladderPing, "Content-Type: text/plain"), status: 415, code: invalid},
		{name: "rung 5 form", send: post(ladderModern, "Content-Type: application/x-www-form-urlencoded"),
			status: 415, code: invalid},
		{name: "rung 5 two types", send: post(ladderPing, "Content-Type: text/plain, application/json"),
			status: 415, code: invalid},
		{name: "rung 5 charset", send: post(ladderPing, "Content-Type: Application/JSON; charset=utf-8"),
			status: 200, id: "1"},
		{name: "rung 5 no accept", send: post(ladderPing, "Accept"), status: 200, id: "1"},
		{name: "rung 5 accept anything", send: post(ladderPing, "Accept: */*"), status: 200, id: "1"},
		{name: "rung 5 accept json", send: post(ladderModern, "Accept: application/json"), status: 200, id: "1"},
		{name: "rung 5 accept events", send: post(ladderModern, "Accept: text/event-stream"), status: 200, id: "1"},
		{name: "rung 5 accept lists",
			send: post(ladderPing, "Accept: text/html;q=0.9",
				"+Accept: APPLICATION/JSON ; q=0.1 , text/event-stream"),
			status: 200, id: "1"},
		{name: "rung 5 accept html", send: post(ladderPing, "Accept: text/html"), status: 406, code: invalid},
		{name: "rung 5 accept not json", send: post(ladderPing, "Accept: application/json; q=0"), status: 406,
			code: invalid},
		{name: "rung 5 accept nothing", send: post(ladderPing, "Accept:"), status: 406, code: invalid},
		{name: "rung 5 errors are json also where events are accepted",
			send:   post(modern("no/such", ""), "Accept: text/event-stream"),
			status: 404, code: noMethod, id: "1"},
		{name: "rung 5 415 before 406", send: post(ladderPing, "Content-Type", "Accept: text/html"),
			status: 415, code: invalid},
		{name: "rung 5 406 before 413", send: post(ladderPing, "Accept: text/html", longer), status: 406,
			code: invalid},
		{name: "rung 5 the longest body", send: post(ladderPing + long), status: 200, id: "1"},
		{name: "rung 5 a longer body", send: post(ladderPing, longer), status: 413, code: invalid},
		{name: "rung 5 chunks", send: chunked(ladderPing), status: 200, id: "1"},
		{name: "rung 5 the longest body in chunks", send: chunked(ladderPing + long), status: 200, id: "1"},
		{name: "rung 5 a longer body in chunks", send: chunked(ladderPing + long + " "), status: 413, code: invalid},
		{name: "rung 5 the body ends early", send: post(ladderPing, "Content-Length: 1000"), status: 400, code: parse},
	}
}

func (r rawRequest) withBody(body string) rawRequest {
	r.body = body
	return r
}

// Rung 6: the body is a message, or a batch.
func rungMessages() []rung {
	const v2025 = "MCP-Protocol-Version: 2025-11-25"
	const v2026 = "MCP-Protocol-Version: 2026-07-28"
	return []rung{
		{name: "rung 6 no body", send: post(""), status: 400, code: parse, id: "null"},
		{name: "rung 6 white space", send: post(" \n"), status: 400, code: parse, id: "null"},
		{name: "rung 6 not json", send: post("{"), status: 400, code: parse, id: "null"},
		{name: "rung 6 not json 2025-11-25", send: post("{", v2025), status: 400, code: parse},
		{name: "rung 6 not json 2026-07-28", send: post("{", v2026), status: 400, code: parse},
		{name: "rung 6 not json unknown version", send: post("{", "MCP-Protocol-Version: x"),
			status: 400, code: parse, id: "null"},
		{name: "rung 6 byte order mark", send: post("\ufeff" + ladderPing), status: 400, code: parse, id: "null"},
		{name: "rung 6 invalid utf-8", send: post(strings.Replace(ladderPing, "ping", "pi\xffng", 1)),
			status: 400, code: parse, id: "null"},
		{name: "rung 6 text behind", send: post(ladderPing + "x"), status: 400, code: parse, id: "null"},
		{name: "rung 6 two messages", send: post(ladderPing + ladderPing), status: 400, code: parse, id: "null"},
		{name: "rung 6 a string", send: post(`"ping"`), status: 400, code: invalid, id: "null"},
		{name: "rung 6 no jsonrpc", send: post(`{"id":1,"method":"ping"}`), status: 400, code: invalid, id: "1"},
		{name: "rung 6 id null", send: post(`{"jsonrpc":"2.0","id":null,"method":"ping"}`),
			status: 400, code: invalid, id: "null"},
		{name: "rung 6 id null 2025-11-25", send: post(`{"jsonrpc":"2.0","id":null,"method":"ping"}`, v2025),
			status: 400, code: invalid},
		{name: "rung 6 id fraction", send: post(`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, v2026),
			status: 400, code: invalid},
		{name: "rung 6 big id", send: post(`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`),
			status: 200, id: "9007199254740993"},
		{name: "rung 6 params array", send: post(`{"jsonrpc":"2.0","method":"ping","params":[],"id":"ü"}`),
			status: 400, code: invalid, id: `"ü"`},
		{name: "rung 6 before rung 7",
			send:   post(`{"id":1,"method":"tools/list","params":{`+envelope+`}}`, "MCP-Protocol-Version: 2025-06-18"),
			status: 400, code: invalid, id: "1"},
		{name: "rung 6 batch", send: post("["+ladderPing+"]", "MCP-Protocol-Version: 2025-03-26"), status: 200},
		{name: "rung 6 batch without version", send: post("[" + ladderPing + "]"), status: 200},
		{name: "rung 6 batch of notifications", send: post("[" + ladderNote + "]"), status: 202},
		{name: "rung 6 batch 2024-11-05", send: post("["+ladderPing+"]", "MCP-Protocol-Version: 2024-11-05"),
			status: 400, code: invalid, id: "null"},
		{name: "rung 6 batch 2025-06-18", send: post("["+ladderPing+"]", "MCP-Protocol-Version: 2025-06-18"),
			status: 400, code: invalid, id: "null"},
		{name: "rung 6 batch 2025-11-25", send: post("["+ladderPing+"]", v2025), status: 400, code: invalid},
		{name: "rung 6 batch 2026-07-28", send: post("["+ladderPing+"]", v2026), status: 400, code: invalid},
		{name: "rung 6 empty batch", send: post("[]"), status: 400, code: invalid, id: "null"},
		{name: "rung 6 largest batch", send: post("[" + strings.Repeat(ladderNote+",", 999) + ladderNote + "]"),
			status: 202},
		{name: "rung 6 larger batch", send: post("[" + strings.Repeat(ladderNote+",", 1000) + ladderNote + "]"),
			status: 400, code: invalid, id: "null"},
		{name: "rung 6 broken batch", send: post("["+ladderPing, v2025), status: 400, code: parse},
		{name: "rung 6 batch of an unknown session", send: post("["+ladderPing+"]", "Mcp-Session-Id: none"),
			status: 404, code: invalid, id: "null"},
	}
}

// Rung 7: the era. The body takes precedence over the header.
func rungEras() []rung {
	header := func(v string) string { return "MCP-Protocol-Version: " + v }
	legacyMeta := `{"jsonrpc":"2.0","id":1,"method":"ping",` +
		`"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-06-18"}}}`
	return []rung{
		{name: "rung 7 no version at all", send: post(ladderPing), status: 200, id: "1"},
		{name: "rung 7 header alone says modern", send: post(ladderPing, header("2026-07-28")),
			status: 400, code: badParams, id: "1", result: "supported"},
		{name: "rung 7 header alone of a later version", send: post(ladderPing, header("2031-01-01")),
			status: 400, code: badParams, id: "1", result: "supported"},
		{name: "rung 7 meta is no object",
			send:   post(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":1}}`, header("2026-07-28")),
			status: 400, code: badParams, id: "1"},
		{name: "rung 7 meta is no object before",
			send:   post(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":1}}`, header("2025-06-18")),
			status: 200, code: badParams, id: "1"},
		{name: "rung 7 initialize", send: post(ladderInit), status: 200, id: "1"},
		{name: "rung 7 initialize beside a modern header", send: post(ladderInit, header("2026-07-28")),
			status: 200, id: "1", result: `"protocolVersion":"2025-06-18"`},
		{name: "rung 7 initialize beside an unknown header", send: post(ladderInit, header("1.0")), status: 200,
			id: "1"},
		{name: "rung 7 initialize in an envelope", send: post(modern("initialize", `"protocolVersion":"2025-06-18"`)),
			status: 404, code: noMethod, id: "1"},
		{name: "rung 7 header unsupported", send: post(ladderPing, header("2024-10-07")),
			status: 400, code: invalid, id: "1", result: `"requested":"2024-10-07"`},
		{name: "rung 7 header empty", send: post(ladderPing, header("")), status: 400, code: invalid, id: "1"},
		{name: "rung 7 legacy version in meta", send: post(legacyMeta, header("2025-06-18")), status: 200, id: "1"},
		{name: "rung 7 legacy version in meta alone", send: post(legacyMeta, "MCP-Protocol-Version"), status: 200,
			id: "1"},
		{name: "rung 7 legacy version in meta, modern header", send: post(legacyMeta, header("2026-07-28")),
			status: 400, code: mismatch, id: "1"},
		{name: "rung 7 notification", send: post(ladderNote), status: 202},
		{name: "rung 7 notification without meta", send: post(ladderNote, header("2026-07-28")), status: 202},
		{name: "rung 7 notification with meta",
			send:   post(`{"jsonrpc":"2.0","method":"notifications/x","params":{` + envelope + `}}`),
			status: 202},
		{name: "rung 7 notification unknown", send: post(`{"jsonrpc":"2.0","method":"no/such"}`), status: 202},
		{name: "rung 7 notification of an unsupported version", send: post(ladderNote, header("2024-10-07")),
			status: 400, code: invalid, id: "null"},
		{name: "rung 7 notification with malformed meta",
			send:   post(`{"jsonrpc":"2.0","method":"notifications/x","params":{"_meta":1}}`),
			status: 400, code: badParams, id: "null"},
		{name: "rung 7 response", send: post(`{"jsonrpc":"2.0","id":1,"result":{}}`, header("2025-06-18")),
			status: 202},
		{name: "rung 7 error response without id", send: post(`{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}`),
			status: 202},
		{name: "rung 7 response in 2026-07-28", send: post(`{"jsonrpc":"2.0","id":1,"result":{}}`,
			header("2026-07-28")),
			status: 400, code: invalid},
		{name: "rung 7 unknown session", send: post(ladderPing, "Mcp-Session-Id: none"), status: 404, code: invalid,
			id: "1"},
		{name: "rung 7 notification of an unknown session", send: post(ladderNote, "Mcp-Session-Id: none"),
			status: 404, code: invalid, id: "null"},
		{name: "rung 7 modern ignores sessions", send: post(ladderModern, "Mcp-Session-Id: none", "Last-Event-ID: 7-7"),
			status: 200, id: "1"},
	}
}

// Rungs 8 to 10: the version, in the header and in the body.
func rungVersions() []rung {
	unknown := strings.Replace(ladderModern, "2026-07-28", "v999", 1)
	incomplete := `{"jsonrpc":"2.0","id":1,"method":"tools/list",` +
		`"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"v999"}}}`
	return []rung{
		{name: "rung 8 both agree", send: post(ladderModern), status: 200, id: "1", result: `"resultType":"complete"`},
		{name: "rung 8 header name in lower case",
			send:   post(ladderModern, "MCP-Protocol-Version", "mcp-protocol-version: 2026-07-28"),
			status: 200, id: "1"},
		{name: "rung 8 no header", send: post(ladderModern, "MCP-Protocol-Version"), status: 400, code: mismatch,
			id: "1"},
		{name: "rung 8 legacy header", send: post(ladderModern, "MCP-Protocol-Version: 2025-06-18"),
			status: 400, code: mismatch, id: "1"},
		{name: "rung 8 unknown header", send: post(ladderModern, "MCP-Protocol-Version: v999"),
			status: 400, code: mismatch, id: "1"},
		{name: "rung 8 second header differs", send: post(ladderModern, "+MCP-Protocol-Version: 2025-06-18"),
			status: 400, code: mismatch, id: "1"},
		{name: "rung 8 before rung 10", send: post(unknown, "MCP-Protocol-Version: 2026-07-28"),
			status: 400, code: mismatch, id: "1"},
		{name: "rung 8 before rung 9", send: post(incomplete, "MCP-Protocol-Version: 2026-07-28"),
			status: 400, code: mismatch, id: "1"},
		{name: "rung 9 no capabilities", send: post(strings.Replace(incomplete, "v999", "2026-07-28", 1)),
			status: 400, code: badParams, id: "1"},
		{name: "rung 9 capabilities are no object", send: post(strings.Replace(ladderModern, "{}", "[]", 1)),
			status: 400, code: badParams, id: "1"},
		{name: "rung 9 version is no string",
			send: post(strings.Replace(ladderModern, `"2026-07-28"`, "20260728", 1),
				"MCP-Protocol-Version: 2026-07-28"),
			status: 400, code: badParams, id: "1"},
		{name: "rung 9 before rung 10", send: post(incomplete), status: 400, code: badParams, id: "1"},
		{name: "rung 10 unknown in both", send: post(unknown),
			status: 400, code: noVersion, id: "1", result: `{"requested":"v999","supported":["2026-07-28","2025-11-25"`},
		{name: "rung 10 before rung 11", send: post(unknown, "Mcp-Method"), status: 400, code: noVersion, id: "1"},
		{name: "rung 10 before rung 12", send: post(strings.Replace(unknown, "tools/list", "no/such", 1)),
			status: 400, code: noVersion, id: "1"},
	}
}

// Rung 11: the headers for method and name, which proxies use, match the body.
func rungMethodHeaders() []rung {
	call := modern("tools/call", `"name":"echo"`)
	name := func(value string) rawRequest { return post(call, "Mcp-Name: "+value) }
	unicode := modern("prompts/get", `"name":"gr\u00fc\u00dfe"`)
	literal := modern("prompts/get", `"name":"=?base64?ZWNobw==?="`)
	read := modern("resources/read", `"uri":"test://text"`)
	ok := func(name string, send rawRequest) rung {
		return rung{name: "rung 11 " + name, send: send, status: 200, id: "1"}
	}
	no := func(name string, send rawRequest) rung {
		return rung{name: "rung 11 " + name, send: send, status: 400, code: mismatch, id: "1"}
	}
	return []rung{
		no("no method", post(ladderModern, "Mcp-Method")),
		no("other method", post(ladderModern, "Mcp-Method: tools/call")),
		no("method in upper case", post(ladderModern, "Mcp-Method: TOOLS/LIST")),
		no("second method differs", post(ladderModern, "+Mcp-Method: tools/call")),
		ok("method twice", post(ladderModern, "+Mcp-Method: tools/list")),
		ok("field name in upper case", post(ladderModern, "Mcp-Method", "MCP-METHOD: tools/list")),
		no("before rung 12", post(modern("no/such", ""), "Mcp-Method: tools/list")),
		ok("plain name", name("echo")),
		ok("name with white space around it", name(" \t echo\t ")),
		ok("encoded name", name("=?base64?ZWNobw==?=")),
		ok("encoded name with white space around it", name(" =?base64?ZWNobw==?= ")),
		ok("field name in lower case", post(call, "Mcp-Name", "mcp-name: echo")),
		no("no name", post(call, "Mcp-Name")),
		no("other name", name("big")),
		no("name in upper case", name("ECHO")),
		no("empty name", name("")),
		no("second name differs", post(call, "+Mcp-Name: big")),
		no("encoded other name", name("=?base64?Ymln?=")),
		no("bad padding", name("=?base64?ZWNobw?=")),
		no("too much padding", name("=?base64?ZWNobw===?=")),
		no("bits behind the end", name("=?base64?ZWNobx==?=")),
		no("bad alphabet", name("=?base64?ZWNo!bw=?=")),
		no("alphabet of urls", post(modern("prompts/get", `"name":"\u00ff\u00ff\u00fe"`),
			"Mcp-Name: =?base64?w7_Dv8O-?=")),
		no("encoded bytes that are no text", name("=?base64?/w==?=")),
		no("prefix without suffix", name("=?base64?ZWNobw==")),
		no("suffix without prefix", name("ZWNobw==?=")),
		no("prefix in upper case", name("=?BASE64?ZWNobw==?=")),
		no("before unknown names", post(modern("prompts/get", `"name":"none"`), "Mcp-Name: ask")),
		{name: "rung 11 name that must be encoded", send: post(unicode), status: 200, code: badParams, id: "1"},
		no("bytes outside ascii", post(unicode, "Mcp-Name: grüße")),
		{name: "rung 11 name that looks encoded", send: post(literal), status: 200, code: badParams, id: "1"},
		no("name that looks encoded, as it is", post(literal, "Mcp-Name: =?base64?ZWNobw==?=")),
		ok("uri", post(read, "Mcp-Name: test://text")),
		no("no uri", post(read, "Mcp-Name")),
		no("other uri", post(read, "Mcp-Name: test://other")),
		no("task", post(modern("tasks/get", `"taskId":"a"`), "Mcp-Name: b")),
		{name: "rung 11 no name in the body either", send: post(modern("tools/call", ""), "Mcp-Name"),
			status: 200, code: badParams, id: "1"},
		ok("name where none belongs", post(ladderModern, "Mcp-Name: echo")),
		ok("not before 2026-07-28",
			post(ladderPing, "MCP-Protocol-Version: 2025-11-25", "Mcp-Method: tools/list", "Mcp-Name: x")),
	}
}

// Rungs 12, 13 and 15: the method, the client's capabilities, and execution.
func rungDispatch() []rung {
	var rungs []rung
	for _, method := range []string{
		"no/such", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
		"notifications/initialized", "roots/list",
	} {
		rungs = append(rungs, rung{
			name:   "rung 12 " + method,
			send:   post(modern(method, "")),
			status: 404,
			code:   noMethod,
			id:     "1",
		})
	}
	sampling := strings.Replace(modern("tools/call", `"name":"needs"`), `clientCapabilities":{}`,
		`clientCapabilities":{"sampling":{}}`, 1)
	return append(rungs,
		rung{name: "rung 12 before 2026-07-28", send: post(`{"jsonrpc":"2.0","id":1,"method":"no/such"}`),
			status: 200, code: noMethod, id: "1"},
		rung{name: "rung 12 of 2026-07-28, before", send: post(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`),
			status: 200, code: noMethod, id: "1"},
		rung{name: "rung 13 capability missing", send: post(modern("tools/call", `"name":"needs"`)),
			status: 400, code: noCapability, id: "1", result: `{"requiredCapabilities":{"sampling":{}}}`},
		rung{name: "rung 13 capability there", send: post(sampling), status: 200, id: "1"},
		rung{name: "rung 15 result", send: post(modern("tools/call", `"name":"echo","arguments":{"message":"hi"}`)),
			status: 200, id: "1", result: `"text":"hi"`},
		rung{name: "rung 15 error of a tool", send: post(modern("tools/call", `"name":"fail"`)),
			status: 200, id: "1", result: `"isError":true`},
		rung{name: "rung 15 unknown tool", send: post(modern("tools/call", `"name":"none"`)),
			status: 200, code: badParams, id: "1"},
		rung{name: "rung 15 unknown resource", send: post(modern("resources/read", `"uri":"test://none"`)),
			status: 200, code: badParams, id: "1", result: `{"uri":"test://none"}`},
		rung{name: "rung 15 unknown resource before 2026-07-28",
			send:   post(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://none"}}`),
			status: 200, code: mcp.CodeResourceNotFound, id: "1"},
		rung{name: "rung 15 panic", send: post(modern("tools/call", `"name":"panic"`)),
			status: 200, code: mcp.CodeToolCrashed, id: "1"},
		rung{name: "rung 15 bad cursor", send: post(modern("tools/list", `"cursor":"x"`)),
			status: 200, code: badParams, id: "1"},
		rung{
			name: "rung 15 bad level",
			send: post(strings.Replace(ladderModern, `clientCapabilities":{}`,
				`clientCapabilities":{},"io.modelcontextprotocol/logLevel":"x"`, 1)),
			status: 200,
			code:   badParams,
			id:     "1",
		},
		rung{name: "rung 15 initialize without params", send: post(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`),
			status: 200, code: badParams, id: "1"},
	)
}

// Rung 14: arguments that clients must repeat in headers.
func rungParamHeaders() []rung {
	call := func(arguments string, fields ...string) rawRequest {
		return post(modern("tools/call", `"name":"headers","arguments":{`+arguments+`}`), fields...)
	}
	ok := func(name string, send rawRequest) rung {
		return rung{name: "rung 14 " + name, send: send, status: 200, id: "1"}
	}
	no := func(name string, send rawRequest) rung {
		return rung{name: "rung 14 " + name, send: send, status: 400, code: mismatch, id: "1"}
	}
	return []rung{
		ok("no argument, no header", call("")),
		ok("no arguments at all", post(modern("tools/call", `"name":"headers"`))),
		no("no arguments at all, a header", post(modern("tools/call", `"name":"headers"`), "Mcp-Param-Region: eu")),
		ok("equal", call(`"region":"eu"`, "Mcp-Param-Region: eu")),
		ok("field name in any case", call(`"region":"eu"`, "mCP-pARAM-rEGION: eu")),
		ok("encoded", call(`"region":" \u00fc"`, "Mcp-Param-Region: =?base64?IMO8?=")),
		ok("white space around it", call(`"region":"eu"`, "Mcp-Param-Region:   eu  ")),
		ok("null", call(`"region":null`)),
		ok("a tab inside", call(`"region":"a\tb"`, "Mcp-Param-Region: a\tb")),
		ok("empty string", call(`"region":""`, "Mcp-Param-Region:")),
		no("header missing", call(`"region":"eu"`)),
		no("argument missing", call("", "Mcp-Param-Region: eu")),
		no("argument null", call(`"region":null`, "Mcp-Param-Region: null")),
		no("different", call(`"region":"eu"`, "Mcp-Param-Region: us")),
		no("different case", call(`"region":"eu"`, "Mcp-Param-Region: EU")),
		no("bad padding", call(`"region":"Hello"`, "Mcp-Param-Region: =?base64?SGVsbG8?=")),
		no("bad alphabet", call(`"region":"Hello"`, "Mcp-Param-Region: =?base64?SGVs!!!bG8=?=")),
		no("bytes outside ascii", call(`"region":"ü"`, "Mcp-Param-Region: ü")),
		no("second header differs", call(`"region":"eu"`, "Mcp-Param-Region: eu", "+Mcp-Param-Region: us")),
		no("argument twice", call(`"region":"us","region":"eu"`, "Mcp-Param-Region: eu")),
		no("argument twice, the first one in the header", call(`"region":"eu","region":"us"`, "Mcp-Param-Region: eu")),
		no("argument twice, once escaped", call(`"region":"us","regio\u006e":"eu"`, "Mcp-Param-Region: eu")),
		ok("integer", call(`"level":-7`, "Mcp-Param-Level: -7")),
		ok("integer by value", call(`"level":42`, "Mcp-Param-Level: 42.0")),
		ok("integer by value, the other way", call(`"level":42.0`, "Mcp-Param-Level: 42")),
		ok("large integer", call(`"level":9007199254740993`, "Mcp-Param-Level: 9007199254740993")),
		no("large integer rounded", call(`"level":9007199254740993`, "Mcp-Param-Level: 9007199254740992")),
		no("other integer", call(`"level":42`, "Mcp-Param-Level: 43")),
		no("hexadecimal", call(`"level":42`, "Mcp-Param-Level: 0x2a")),
		no("underscore", call(`"level":42`, "Mcp-Param-Level: 4_2")),
		no("fraction bar", call(`"level":42`, "Mcp-Param-Level: 84/2")),
		no("huge exponent", call(`"level":1`, "Mcp-Param-Level: 1e999999999")),
		no("huge binary exponent", call(`"level":1`, "Mcp-Param-Level: 1p9999999")),
		no("string for integer", call(`"level":"42"`, "Mcp-Param-Level: 43")),
		ok("boolean", call(`"deep":{"dry":true}`, "Mcp-Param-Dry: true")),
		no("other boolean", call(`"deep":{"dry":true}`, "Mcp-Param-Dry: false")),
		no("boolean in upper case", call(`"deep":{"dry":true}`, "Mcp-Param-Dry: True")),
		ok("nothing on the way to it", call(`"deep":7`)),
		no("nothing on the way to it, a header", call(`"deep":7`, "Mcp-Param-Dry: true")),
		ok("annotations elsewhere do not count",
			post(modern("tools/call", `"name":"misplaced","arguments":{"list":[{"item":"x"}],"either":"y",`+
				`"fraction":0.5}`))),
		ok("unknown headers do not count", call("", "Mcp-Param-Other: x")),
		ok("other tools do not count", post(modern("tools/call", `"name":"echo"`), "Mcp-Param-Region: x")),
		{name: "rung 14 unknown tool", send: post(modern("tools/call", `"name":"none"`), "Mcp-Param-Region: x"),
			status: 200, code: badParams, id: "1"},
		ok("not before 2026-07-28",
			post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"headers",`+
				`"arguments":{"region":"eu"}}}`)),
	}
}

// Options that change individual rungs.
func TestLadderWithOptions(t *testing.T) {
	events := "Accept: text/event-stream"
	servers := map[string]string{
		"post only":   serveHTTP(t, newDemo(), &mcpserver.HTTPOptions{PostOnly: true}),
		"no sessions": serveHTTP(t, newDemo(), &mcpserver.HTTPOptions{NoSessions: true}),
		"small":       serveHTTP(t, newDemo(), &mcpserver.HTTPOptions{MaxBody: int64(len(ladderPing))}),
	}
	for _, c := range []struct {
		server string
		rung
	}{
		{
			"post only",
			rung{
				name:   "get",
				send:   request("GET", events, "Mcp-Session-Id: x"),
				status: 405,
				code:   invalid,
				allow:  "POST, DELETE, OPTIONS",
			},
		},
		{"post only", rung{name: "delete", send: request("DELETE", "Mcp-Session-Id: x"), status: 404, code: invalid}},
		{"post only", rung{name: "nothing to hear", send: post(ladderInit), status: 200, id: "1",
			result: `"tools":{}`}},
		{
			"no sessions",
			rung{
				name:   "get",
				send:   request("GET", events, "Mcp-Session-Id: x"),
				status: 405,
				code:   invalid,
				allow:  "POST, OPTIONS",
			},
		},
		{
			"no sessions",
			rung{
				name:   "delete",
				send:   request("DELETE", "Mcp-Session-Id: x"),
				status: 405,
				code:   invalid,
				allow:  "POST, OPTIONS",
			},
		},
		{"no sessions", rung{name: "initialize", send: post(ladderInit), status: 200, id: "1", result: `"tools":{}`}},
		{"no sessions", rung{name: "session id ignored", send: post(ladderPing, "Mcp-Session-Id: x"), status: 200,
			id: "1"}},
		{"small", rung{name: "fits", send: post(ladderPing), status: 200, id: "1"}},
		{"small", rung{name: "does not fit", send: post(ladderPing + " "), status: 413, code: invalid}},
	} {
		t.Run(c.server+" "+c.name, func(t *testing.T) {
			got := c.send.do(t, servers[c.server])
			c.check(t, got)
			if c.server == "no sessions" && got.header.Get("Mcp-Session-Id") != "" {
				t.Errorf("session id %q, want none", got.header.Get("Mcp-Session-Id"))
			}
		})
	}
}

// The headers of responses.
func TestLadderHeaders(t *testing.T) {
	addr := serveHTTP(t, newDemo(), nil)
	for _, c := range []struct {
		name string
		send rawRequest
		want map[string]string // an empty value: the field is absent
	}{
		{"json", post(ladderModern),
			map[string]string{"Content-Type": "application/json", "Access-Control-Allow-Origin": "",
				"Mcp-Session-Id": ""}},
		{"events", post(ladderModern, "Accept: text/event-stream"),
			map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache",
				"X-Accel-Buffering": "no"}},
		{"progress",
			post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress",` +
				`"_meta":{"progressToken":1}}}`),
			map[string]string{"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"}},
		{"accepted", post(ladderNote), map[string]string{"Content-Type": "", "Content-Length": "0"}},
		{
			"page of an accepted origin",
			post(ladderPing, "Origin: http://localhost:5173"),
			map[string]string{
				"Access-Control-Allow-Origin":      "http://localhost:5173",
				"Vary":                             "Origin",
				"Access-Control-Expose-Headers":    "Mcp-Session-Id, WWW-Authenticate, Retry-After",
				"Access-Control-Allow-Credentials": "",
			},
		},
		{"page of another origin", post(ladderPing, "Origin: http://evil.example.com"),
			map[string]string{"Access-Control-Allow-Origin": ""}},
		{
			"preflight",
			request("OPTIONS", "Origin: http://localhost:5173", "Access-Control-Request-Method: POST",
				"Access-Control-Request-Headers: content-type,mcp-param-region"),
			map[string]string{
				"Access-Control-Allow-Origin":  "http://localhost:5173",
				"Access-Control-Allow-Methods": "POST, GET, DELETE, OPTIONS",
				"Access-Control-Allow-Headers": "*, Authorization",
			},
		},
		{"preflight of another origin", request("OPTIONS", "Origin: http://evil.example.com"),
			map[string]string{"Access-Control-Allow-Origin": "", "Access-Control-Allow-Headers": ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.send.do(t, addr)
			for name, want := range c.want {
				if value := got.header.Get(name); value != want {
					t.Errorf("%s: %q, want %q", name, value, want)
				}
			}
		})
	}
}

package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// A request must pass several checks in a fixed order, the checks below; the first
// one that fails determines the answer. Each case tests one check, or the order of two,
// from the client's view.
type httpCheck struct {
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
	pingRequest     = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	initializedNote = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`
	modernRequest   = `{"jsonrpc":"2.0","id":1,"method":"tools/list",` +
		`"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`
	initRequest = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
)

// modern returns a request of 2026-07-28 with additional members of params.
func modern(method, members string) string {
	if members != "" {
		members += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, members, envelope)
}

func TestHTTPCheckOrder(t *testing.T) {
	addr := serveHTTP(t, newDemo(), nil)
	for _, checks := range [][]httpCheck{
		checksHosts(), checksMethods(), checksBodies(), checksMessages(), checksEras(), checksVersions(),
		checksMethodHeaders(), checksDispatch(), checksParamHeaders(),
	} {
		for _, c := range checks {
			t.Run(c.name, func(t *testing.T) { c.check(t, c.send.do(t, addr)) })
		}
	}
}

func (c *httpCheck) check(t *testing.T, got *response) {
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
func checksHosts() []httpCheck {
	const evil = "Origin: http://evil.example.com"
	return []httpCheck{
		{name: "check 2 no origin", send: post(pingRequest), status: 200, id: "1"},
		{name: "check 2 evil host", send: post(pingRequest, "Host: evil.example.com"), status: 403, code: invalid},
		{name: "check 2 evil host modern", send: post(modernRequest, "Host: evil.example.com"), status: 403,
			code: invalid},
		{name: "check 2 evil origin", send: post(pingRequest, evil), status: 403, code: invalid},
		{name: "check 2 evil origin modern", send: post(modernRequest, evil), status: 403, code: invalid},
		{name: "check 2 malformed origin", send: post(pingRequest, "Origin: http//localhost"), status: 403,
			code: invalid},
		{name: "check 2 empty origin", send: post(pingRequest, "Origin:"), status: 403, code: invalid},
		{name: "check 2 null origin", send: post(modernRequest, "Origin: null"), status: 403, code: invalid},
		{name: "check 2 two origins", send: post(pingRequest, "Origin: http://localhost", "+"+evil),
			status: 403, code: invalid},
		{name: "check 2 local origin", send: post(pingRequest, "Origin: http://localhost:5173"), status: 200, id: "1"},
		{name: "check 2 before check 4", send: request("PUT", evil), status: 403, code: invalid},
		{name: "check 2 before check 4 get", send: request("GET", evil), status: 403, code: invalid},
		{name: "check 2 before check 4 delete", send: request("DELETE", evil, "Mcp-Session-Id: x"), status: 403,
			code: invalid},
		{name: "check 2 before check 4 preflight", send: request("OPTIONS", evil), status: 403, code: invalid},
		{name: "check 2 before check 5", send: post("{", evil, "Content-Type: text/plain"), status: 403, code: invalid},
	}
}

// Rung 4: the methods of HTTP.
func checksMethods() []httpCheck {
	const allow = "POST, GET, DELETE, OPTIONS"
	const modern = "POST, OPTIONS"
	return []httpCheck{
		{name: "check 4 put", send: request("PUT"), status: 405, code: invalid, allow: allow},
		{name: "check 4 patch", send: request("PATCH"), status: 405, code: invalid, allow: allow},
		{name: "check 4 head", send: request("HEAD"), status: 405, allow: allow},
		{name: "check 4 made up", send: request("TALK"), status: 405, code: invalid, allow: allow},
		{name: "check 4 options", send: request("OPTIONS"), status: 204},
		{name: "check 4 get without a session", send: request("GET", "Accept: text/event-stream"),
			status: 405, code: invalid, allow: "POST, DELETE, OPTIONS"},
		{name: "check 4 get of an unknown session",
			send:   request("GET", "Accept: text/event-stream", "Mcp-Session-Id: none"),
			status: 404, code: invalid},
		{name: "check 4 get in 2026-07-28",
			send: request("GET", "Accept: text/event-stream", "Mcp-Session-Id: none",
				"MCP-Protocol-Version: 2026-07-28"),
			status: 405, code: invalid, allow: modern},
		{name: "check 4 get that resumes in 2026-07-28",
			send: request("GET", "Accept: text/event-stream", "Last-Event-ID: 1-1",
				"MCP-Protocol-Version: 2026-07-28"),
			status: 405, code: invalid, allow: modern},
		{name: "check 4 delete without a session", send: request("DELETE"), status: 400, code: invalid},
		{name: "check 4 delete of an unknown session", send: request("DELETE", "Mcp-Session-Id: none"),
			status: 404, code: invalid},
		{name: "check 4 delete in 2026-07-28",
			send:   request("DELETE", "Mcp-Session-Id: none", "MCP-Protocol-Version: 2026-07-28"),
			status: 405, code: invalid, allow: modern},
		{
			name: "check 4 before check 5",
			send: rawRequest{line: "PUT /mcp HTTP/1.1", body: "x"}.with("Host: localhost", "Content-Type: text/plain",
				"Content-Length: 1", "Connection: close"),
			status: 405,
			code:   invalid,
			allow:  allow,
		},
	}
}

// Rung 5: restrictions of the body. The server uses the default limit.
func checksBodies() []httpCheck {
	long := strings.Repeat(" ", 4<<20-len(pingRequest))
	longer := "Content-Length: 4194305"
	chunked := func(body string) rawRequest {
		return post(pingRequest, "Content-Length", "Transfer-Encoding: chunked").
			withBody(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body))
	}
	return []httpCheck{
		{name: "check 5 no content type", send: post(pingRequest, "Content-Type"), status: 415, code: invalid},
		{name: "check 5 text", send: post(pingRequest, "Content-Type: text/plain"), status: 415, code: invalid},
		{name: "check 5 form", send: post(modernRequest, "Content-Type: application/x-www-form-urlencoded"),
			status: 415, code: invalid},
		{name: "check 5 two types", send: post(pingRequest, "Content-Type: text/plain, application/json"),
			status: 415, code: invalid},
		{name: "check 5 charset", send: post(pingRequest, "Content-Type: Application/JSON; charset=utf-8"),
			status: 200, id: "1"},
		{name: "check 5 no accept", send: post(pingRequest, "Accept"), status: 200, id: "1"},
		{name: "check 5 accept anything", send: post(pingRequest, "Accept: */*"), status: 200, id: "1"},
		{name: "check 5 accept json", send: post(modernRequest, "Accept: application/json"), status: 200, id: "1"},
		{name: "check 5 accept events", send: post(modernRequest, "Accept: text/event-stream"), status: 200, id: "1"},
		{name: "check 5 accept lists",
			send: post(pingRequest, "Accept: text/html;q=0.9",
				"+Accept: APPLICATION/JSON ; q=0.1 , text/event-stream"),
			status: 200, id: "1"},
		{name: "check 5 accept html", send: post(pingRequest, "Accept: text/html"), status: 406, code: invalid},
		{name: "check 5 accept not json", send: post(pingRequest, "Accept: application/json; q=0"), status: 406,
			code: invalid},
		{name: "check 5 accept nothing", send: post(pingRequest, "Accept:"), status: 406, code: invalid},
		{name: "check 5 errors are json also where events are accepted",
			send:   post(modern("no/such", ""), "Accept: text/event-stream"),
			status: 404, code: noMethod, id: "1"},
		{name: "check 5 415 before 406", send: post(pingRequest, "Content-Type", "Accept: text/html"),
			status: 415, code: invalid},
		{name: "check 5 406 before 413", send: post(pingRequest, "Accept: text/html", longer), status: 406,
			code: invalid},
		{name: "check 5 the longest body", send: post(pingRequest + long), status: 200, id: "1"},
		{name: "check 5 a longer body", send: post(pingRequest, longer), status: 413, code: invalid},
		{name: "check 5 chunks", send: chunked(pingRequest), status: 200, id: "1"},
		{name: "check 5 the longest body in chunks", send: chunked(pingRequest + long), status: 200, id: "1"},
		{name: "check 5 a longer body in chunks", send: chunked(pingRequest + long + " "), status: 413, code: invalid},
		{name: "check 5 the body ends early", send: post(pingRequest, "Content-Length: 1000"), status: 400, code: parse},
	}
}

func (r rawRequest) withBody(body string) rawRequest {
	r.body = body
	return r
}

// Rung 6: the body is a message, or a batch.
func checksMessages() []httpCheck {
	const v2025 = "MCP-Protocol-Version: 2025-11-25"
	const v2026 = "MCP-Protocol-Version: 2026-07-28"
	return []httpCheck{
		{name: "check 6 no body", send: post(""), status: 400, code: parse, id: "null"},
		{name: "check 6 white space", send: post(" \n"), status: 400, code: parse, id: "null"},
		{name: "check 6 not json", send: post("{"), status: 400, code: parse, id: "null"},
		{name: "check 6 not json 2025-11-25", send: post("{", v2025), status: 400, code: parse},
		{name: "check 6 not json 2026-07-28", send: post("{", v2026), status: 400, code: parse},
		{name: "check 6 not json unknown version", send: post("{", "MCP-Protocol-Version: x"),
			status: 400, code: parse, id: "null"},
		{name: "check 6 byte order mark", send: post("\ufeff" + pingRequest), status: 400, code: parse, id: "null"},
		{name: "check 6 invalid utf-8", send: post(strings.Replace(pingRequest, "ping", "pi\xffng", 1)),
			status: 400, code: parse, id: "null"},
		{name: "check 6 text behind", send: post(pingRequest + "x"), status: 400, code: parse, id: "null"},
		{name: "check 6 two messages", send: post(pingRequest + pingRequest), status: 400, code: parse, id: "null"},
		{name: "check 6 a string", send: post(`"ping"`), status: 400, code: invalid, id: "null"},
		{name: "check 6 no jsonrpc", send: post(`{"id":1,"method":"ping"}`), status: 400, code: invalid, id: "1"},
		{name: "check 6 id null", send: post(`{"jsonrpc":"2.0","id":null,"method":"ping"}`),
			status: 400, code: invalid, id: "null"},
		{name: "check 6 id null 2025-11-25", send: post(`{"jsonrpc":"2.0","id":null,"method":"ping"}`, v2025),
			status: 400, code: invalid},
		{name: "check 6 id fraction", send: post(`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, v2026),
			status: 400, code: invalid},
		{name: "check 6 big id", send: post(`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`),
			status: 200, id: "9007199254740993"},
		{name: "check 6 params array", send: post(`{"jsonrpc":"2.0","method":"ping","params":[],"id":"ü"}`),
			status: 400, code: invalid, id: `"ü"`},
		{name: "check 6 before check 7",
			send:   post(`{"id":1,"method":"tools/list","params":{`+envelope+`}}`, "MCP-Protocol-Version: 2025-06-18"),
			status: 400, code: invalid, id: "1"},
		{name: "check 6 batch", send: post("["+pingRequest+"]", "MCP-Protocol-Version: 2025-03-26"), status: 200},
		{name: "check 6 batch without version", send: post("[" + pingRequest + "]"), status: 200},
		{name: "check 6 batch of notifications", send: post("[" + initializedNote + "]"), status: 202},
		{name: "check 6 batch 2024-11-05", send: post("["+pingRequest+"]", "MCP-Protocol-Version: 2024-11-05"),
			status: 400, code: invalid, id: "null"},
		{name: "check 6 batch 2025-06-18", send: post("["+pingRequest+"]", "MCP-Protocol-Version: 2025-06-18"),
			status: 400, code: invalid, id: "null"},
		{name: "check 6 batch 2025-11-25", send: post("["+pingRequest+"]", v2025), status: 400, code: invalid},
		{name: "check 6 batch 2026-07-28", send: post("["+pingRequest+"]", v2026), status: 400, code: invalid},
		{name: "check 6 empty batch", send: post("[]"), status: 400, code: invalid, id: "null"},
		{name: "check 6 largest batch", send: post("[" + strings.Repeat(initializedNote+",", 999) + initializedNote + "]"),
			status: 202},
		{name: "check 6 larger batch", send: post("[" + strings.Repeat(initializedNote+",", 1000) + initializedNote + "]"),
			status: 400, code: invalid, id: "null"},
		{name: "check 6 broken batch", send: post("["+pingRequest, v2025), status: 400, code: parse},
		{name: "check 6 batch of an unknown session", send: post("["+pingRequest+"]", "Mcp-Session-Id: none"),
			status: 404, code: invalid, id: "null"},
	}
}

// Rung 7: the era. The body takes precedence over the header.
func checksEras() []httpCheck {
	header := func(v string) string { return "MCP-Protocol-Version: " + v }
	legacyMeta := `{"jsonrpc":"2.0","id":1,"method":"ping",` +
		`"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-06-18"}}}`
	return []httpCheck{
		{name: "check 7 no version at all", send: post(pingRequest), status: 200, id: "1"},
		{name: "check 7 header alone says modern", send: post(pingRequest, header("2026-07-28")),
			status: 400, code: badParams, id: "1", result: "supported"},
		{name: "check 7 header alone of a later version", send: post(pingRequest, header("2031-01-01")),
			status: 400, code: badParams, id: "1", result: "supported"},
		{name: "check 7 meta is not an object",
			send:   post(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":1}}`, header("2026-07-28")),
			status: 400, code: badParams, id: "1"},
		{name: "check 7 meta is not an object before",
			send:   post(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":1}}`, header("2025-06-18")),
			status: 200, code: badParams, id: "1"},
		{name: "check 7 initialize", send: post(initRequest), status: 200, id: "1"},
		{name: "check 7 initialize beside a modern header", send: post(initRequest, header("2026-07-28")),
			status: 200, id: "1", result: `"protocolVersion":"2025-06-18"`},
		{name: "check 7 initialize beside an unknown header", send: post(initRequest, header("1.0")), status: 200,
			id: "1"},
		{name: "check 7 initialize in an envelope", send: post(modern("initialize", `"protocolVersion":"2025-06-18"`)),
			status: 404, code: noMethod, id: "1"},
		{name: "check 7 header unsupported", send: post(pingRequest, header("2024-10-07")),
			status: 400, code: invalid, id: "1", result: `"requested":"2024-10-07"`},
		{name: "check 7 header empty", send: post(pingRequest, header("")), status: 400, code: invalid, id: "1"},
		{name: "check 7 legacy version in meta", send: post(legacyMeta, header("2025-06-18")), status: 200, id: "1"},
		{name: "check 7 legacy version in meta alone", send: post(legacyMeta, "MCP-Protocol-Version"), status: 200,
			id: "1"},
		{name: "check 7 legacy version in meta, modern header", send: post(legacyMeta, header("2026-07-28")),
			status: 400, code: mismatch, id: "1"},
		{name: "check 7 notification", send: post(initializedNote), status: 202},
		{name: "check 7 notification without meta", send: post(initializedNote, header("2026-07-28")), status: 202},
		{name: "check 7 notification with meta",
			send:   post(`{"jsonrpc":"2.0","method":"notifications/x","params":{` + envelope + `}}`),
			status: 202},
		{name: "check 7 notification unknown", send: post(`{"jsonrpc":"2.0","method":"no/such"}`), status: 202},
		{name: "check 7 notification of an unsupported version", send: post(initializedNote, header("2024-10-07")),
			status: 400, code: invalid, id: "null"},
		{name: "check 7 notification with malformed meta",
			send:   post(`{"jsonrpc":"2.0","method":"notifications/x","params":{"_meta":1}}`),
			status: 400, code: badParams, id: "null"},
		{name: "check 7 response", send: post(`{"jsonrpc":"2.0","id":1,"result":{}}`, header("2025-06-18")),
			status: 202},
		{name: "check 7 error response without id", send: post(`{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}`),
			status: 202},
		{name: "check 7 response in 2026-07-28", send: post(`{"jsonrpc":"2.0","id":1,"result":{}}`,
			header("2026-07-28")),
			status: 400, code: invalid},
		{name: "check 7 unknown session", send: post(pingRequest, "Mcp-Session-Id: none"), status: 404, code: invalid,
			id: "1"},
		{name: "check 7 notification of an unknown session", send: post(initializedNote, "Mcp-Session-Id: none"),
			status: 404, code: invalid, id: "null"},
		{name: "check 7 modern ignores sessions", send: post(modernRequest, "Mcp-Session-Id: none", "Last-Event-ID: 7-7"),
			status: 200, id: "1"},
	}
}

// Rungs 8 to 10: the version, in the header and in the body.
func checksVersions() []httpCheck {
	unknown := strings.Replace(modernRequest, "2026-07-28", "v999", 1)
	incomplete := `{"jsonrpc":"2.0","id":1,"method":"tools/list",` +
		`"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"v999"}}}`
	return []httpCheck{
		{name: "check 8 both agree", send: post(modernRequest), status: 200, id: "1", result: `"resultType":"complete"`},
		{name: "check 8 header name in lower case",
			send:   post(modernRequest, "MCP-Protocol-Version", "mcp-protocol-version: 2026-07-28"),
			status: 200, id: "1"},
		{name: "check 8 no header", send: post(modernRequest, "MCP-Protocol-Version"), status: 400, code: mismatch,
			id: "1"},
		{name: "check 8 legacy header", send: post(modernRequest, "MCP-Protocol-Version: 2025-06-18"),
			status: 400, code: mismatch, id: "1"},
		{name: "check 8 unknown header", send: post(modernRequest, "MCP-Protocol-Version: v999"),
			status: 400, code: mismatch, id: "1"},
		{name: "check 8 second header differs", send: post(modernRequest, "+MCP-Protocol-Version: 2025-06-18"),
			status: 400, code: mismatch, id: "1"},
		{name: "check 8 before check 10", send: post(unknown, "MCP-Protocol-Version: 2026-07-28"),
			status: 400, code: mismatch, id: "1"},
		{name: "check 8 before check 9", send: post(incomplete, "MCP-Protocol-Version: 2026-07-28"),
			status: 400, code: mismatch, id: "1"},
		{name: "check 9 no capabilities", send: post(strings.Replace(incomplete, "v999", "2026-07-28", 1)),
			status: 400, code: badParams, id: "1"},
		{name: "check 9 capabilities are not object", send: post(strings.Replace(modernRequest, "{}", "[]", 1)),
			status: 400, code: badParams, id: "1"},
		{name: "check 9 version is not a string",
			send: post(strings.Replace(modernRequest, `"2026-07-28"`, "20260728", 1),
				"MCP-Protocol-Version: 2026-07-28"),
			status: 400, code: badParams, id: "1"},
		{name: "check 9 before check 10", send: post(incomplete), status: 400, code: badParams, id: "1"},
		{name: "check 10 unknown in both", send: post(unknown),
			status: 400, code: noVersion, id: "1", result: `{"requested":"v999","supported":["2026-07-28","2025-11-25"`},
		{name: "check 10 before check 11", send: post(unknown, "Mcp-Method"), status: 400, code: noVersion, id: "1"},
		{name: "check 10 before check 12", send: post(strings.Replace(unknown, "tools/list", "no/such", 1)),
			status: 400, code: noVersion, id: "1"},
	}
}

// Rung 11: the headers for method and name, which proxies use, match the body.
func checksMethodHeaders() []httpCheck {
	call := modern("tools/call", `"name":"echo"`)
	name := func(value string) rawRequest { return post(call, "Mcp-Name: "+value) }
	unicode := modern("prompts/get", `"name":"gr\u00fc\u00dfe"`)
	literal := modern("prompts/get", `"name":"=?base64?ZWNobw==?="`)
	read := modern("resources/read", `"uri":"test://text"`)
	ok := func(name string, send rawRequest) httpCheck {
		return httpCheck{name: "check 11 " + name, send: send, status: 200, id: "1"}
	}
	no := func(name string, send rawRequest) httpCheck {
		return httpCheck{name: "check 11 " + name, send: send, status: 400, code: mismatch, id: "1"}
	}
	return []httpCheck{
		no("no method", post(modernRequest, "Mcp-Method")),
		no("other method", post(modernRequest, "Mcp-Method: tools/call")),
		no("method in upper case", post(modernRequest, "Mcp-Method: TOOLS/LIST")),
		no("second method differs", post(modernRequest, "+Mcp-Method: tools/call")),
		ok("method twice", post(modernRequest, "+Mcp-Method: tools/list")),
		ok("field name in upper case", post(modernRequest, "Mcp-Method", "MCP-METHOD: tools/list")),
		no("before check 12", post(modern("no/such", ""), "Mcp-Method: tools/list")),
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
		no("encoded bytes that are not text", name("=?base64?/w==?=")),
		no("prefix without suffix", name("=?base64?ZWNobw==")),
		no("suffix without prefix", name("ZWNobw==?=")),
		no("prefix in upper case", name("=?BASE64?ZWNobw==?=")),
		no("before unknown names", post(modern("prompts/get", `"name":"none"`), "Mcp-Name: ask")),
		{name: "check 11 name that must be encoded", send: post(unicode), status: 200, code: badParams, id: "1"},
		no("bytes outside ascii", post(unicode, "Mcp-Name: grüße")),
		{name: "check 11 name that looks encoded", send: post(literal), status: 200, code: badParams, id: "1"},
		no("name that looks encoded, as it is", post(literal, "Mcp-Name: =?base64?ZWNobw==?=")),
		ok("uri", post(read, "Mcp-Name: test://text")),
		no("no uri", post(read, "Mcp-Name")),
		no("other uri", post(read, "Mcp-Name: test://other")),
		no("task", post(modern("tasks/get", `"taskId":"a"`), "Mcp-Name: b")),
		{name: "check 11 no name in the body either", send: post(modern("tools/call", ""), "Mcp-Name"),
			status: 200, code: badParams, id: "1"},
		ok("name where none belongs", post(modernRequest, "Mcp-Name: echo")),
		ok("not before 2026-07-28",
			post(pingRequest, "MCP-Protocol-Version: 2025-11-25", "Mcp-Method: tools/list", "Mcp-Name: x")),
	}
}

// Rungs 12, 13 and 15: the method, the client's capabilities, and execution.
func checksDispatch() []httpCheck {
	var checks []httpCheck
	for _, method := range []string{
		"no/such", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
		"notifications/initialized", "roots/list",
	} {
		checks = append(checks, httpCheck{
			name:   "check 12 " + method,
			send:   post(modern(method, "")),
			status: 404,
			code:   noMethod,
			id:     "1",
		})
	}
	sampling := strings.Replace(modern("tools/call", `"name":"needs"`), `clientCapabilities":{}`,
		`clientCapabilities":{"sampling":{}}`, 1)
	return append(checks,
		httpCheck{name: "check 12 before 2026-07-28", send: post(`{"jsonrpc":"2.0","id":1,"method":"no/such"}`),
			status: 200, code: noMethod, id: "1"},
		httpCheck{name: "check 12 of 2026-07-28, before", send: post(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`),
			status: 200, code: noMethod, id: "1"},
		httpCheck{name: "check 13 capability missing", send: post(modern("tools/call", `"name":"needs"`)),
			status: 400, code: noCapability, id: "1", result: `{"requiredCapabilities":{"sampling":{}}}`},
		httpCheck{name: "check 13 capability there", send: post(sampling), status: 200, id: "1"},
		httpCheck{name: "check 15 result", send: post(modern("tools/call", `"name":"echo","arguments":{"message":"hi"}`)),
			status: 200, id: "1", result: `"text":"hi"`},
		httpCheck{name: "check 15 error of a tool", send: post(modern("tools/call", `"name":"fail"`)),
			status: 200, id: "1", result: `"isError":true`},
		httpCheck{name: "check 15 unknown tool", send: post(modern("tools/call", `"name":"none"`)),
			status: 200, code: badParams, id: "1"},
		httpCheck{name: "check 15 unknown resource", send: post(modern("resources/read", `"uri":"test://none"`)),
			status: 200, code: badParams, id: "1", result: `{"uri":"test://none"}`},
		httpCheck{name: "check 15 unknown resource before 2026-07-28",
			send:   post(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://none"}}`),
			status: 200, code: mcp.CodeResourceNotFound, id: "1"},
		httpCheck{name: "check 15 panic", send: post(modern("tools/call", `"name":"panic"`)),
			status: 200, code: mcp.CodeToolCrashed, id: "1"},
		httpCheck{name: "check 15 bad cursor", send: post(modern("tools/list", `"cursor":"x"`)),
			status: 200, code: badParams, id: "1"},
		httpCheck{
			name: "check 15 bad level",
			send: post(strings.Replace(modernRequest, `clientCapabilities":{}`,
				`clientCapabilities":{},"io.modelcontextprotocol/logLevel":"x"`, 1)),
			status: 200,
			code:   badParams,
			id:     "1",
		},
		httpCheck{name: "check 15 initialize without params", send: post(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`),
			status: 200, code: badParams, id: "1"},
	)
}

// Rung 14: arguments that clients must repeat in headers.
func checksParamHeaders() []httpCheck {
	call := func(arguments string, fields ...string) rawRequest {
		return post(modern("tools/call", `"name":"headers","arguments":{`+arguments+`}`), fields...)
	}
	ok := func(name string, send rawRequest) httpCheck {
		return httpCheck{name: "check 14 " + name, send: send, status: 200, id: "1"}
	}
	no := func(name string, send rawRequest) httpCheck {
		return httpCheck{name: "check 14 " + name, send: send, status: 400, code: mismatch, id: "1"}
	}
	return []httpCheck{
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
		{name: "check 14 unknown tool", send: post(modern("tools/call", `"name":"none"`), "Mcp-Param-Region: x"),
			status: 200, code: badParams, id: "1"},
		ok("not before 2026-07-28",
			post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"headers",`+
				`"arguments":{"region":"eu"}}}`)),
	}
}

// Options that change individual checks.
func TestHTTPChecksWithOptions(t *testing.T) {
	events := "Accept: text/event-stream"
	servers := map[string]string{
		"post only":   serveHTTP(t, newDemo(), &mcpserver.HTTPOptions{PostOnly: true}),
		"no sessions": serveHTTP(t, newDemo(), &mcpserver.HTTPOptions{NoSessions: true}),
		"small":       serveHTTP(t, newDemo(), &mcpserver.HTTPOptions{MaxBody: int64(len(pingRequest))}),
	}
	for _, c := range []struct {
		server string
		httpCheck
	}{
		{
			"post only",
			httpCheck{
				name:   "get",
				send:   request("GET", events, "Mcp-Session-Id: x"),
				status: 405,
				code:   invalid,
				allow:  "POST, DELETE, OPTIONS",
			},
		},
		{"post only", httpCheck{name: "delete", send: request("DELETE", "Mcp-Session-Id: x"), status: 404, code: invalid}},
		{"post only", httpCheck{name: "nothing to hear", send: post(initRequest), status: 200, id: "1",
			result: `"tools":{}`}},
		{
			"no sessions",
			httpCheck{
				name:   "get",
				send:   request("GET", events, "Mcp-Session-Id: x"),
				status: 405,
				code:   invalid,
				allow:  "POST, OPTIONS",
			},
		},
		{
			"no sessions",
			httpCheck{
				name:   "delete",
				send:   request("DELETE", "Mcp-Session-Id: x"),
				status: 405,
				code:   invalid,
				allow:  "POST, OPTIONS",
			},
		},
		{"no sessions", httpCheck{name: "initialize", send: post(initRequest), status: 200, id: "1", result: `"tools":{}`}},
		{"no sessions", httpCheck{name: "session id ignored", send: post(pingRequest, "Mcp-Session-Id: x"), status: 200,
			id: "1"}},
		{"small", httpCheck{name: "fits", send: post(pingRequest), status: 200, id: "1"}},
		{"small", httpCheck{name: "does not fit", send: post(pingRequest + " "), status: 413, code: invalid}},
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
func TestHTTPResponseHeaders(t *testing.T) {
	addr := serveHTTP(t, newDemo(), nil)
	for _, c := range []struct {
		name string
		send rawRequest
		want map[string]string // an empty value: the field is absent
	}{
		{"json", post(modernRequest),
			map[string]string{"Content-Type": "application/json", "Access-Control-Allow-Origin": "",
				"Mcp-Session-Id": ""}},
		{"events", post(modernRequest, "Accept: text/event-stream"),
			map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache",
				"X-Accel-Buffering": "no"}},
		{"progress",
			post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress",` +
				`"_meta":{"progressToken":1}}}`),
			map[string]string{"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"}},
		{"accepted", post(initializedNote), map[string]string{"Content-Type": "", "Content-Length": "0"}},
		{
			"page of an accepted origin",
			post(pingRequest, "Origin: http://localhost:5173"),
			map[string]string{
				"Access-Control-Allow-Origin":      "http://localhost:5173",
				"Vary":                             "Origin",
				"Access-Control-Expose-Headers":    "Mcp-Session-Id, WWW-Authenticate, Retry-After, RateLimit, RateLimit-Policy",
				"Access-Control-Allow-Credentials": "",
			},
		},
		{"page of another origin", post(pingRequest, "Origin: http://evil.example.com"),
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

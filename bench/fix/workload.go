package fix

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Kind is the kind of measurement and the transport.
type Kind string

const (
	HTTP       Kind = "http"        // requests over kept-alive connections
	Stdio      Kind = "stdio"       // requests over pipes, Window in flight
	StartHTTP  Kind = "start-http"  // spawn to the first HTTP 200
	StartStdio Kind = "start-stdio" // spawn to the answer to initialize
	WebSocket  Kind = "websocket"   // requests over WebSockets, Window in flight on each

	IdleSession   Kind = "idle-session"   // memory of idle sessions
	IdleStream    Kind = "idle-stream"    // and of their GET streams
	IdleWebSocket Kind = "idle-websocket" // and of WebSockets
)

// Idle reports whether the workload measures the memory of idle clients.
func (k Kind) Idle() bool {
	return k == IdleSession || k == IdleStream || k == IdleWebSocket
}

// Socket reports whether clients connect over WebSockets.
func (k Kind) Socket() bool { return k == WebSocket || k == IdleWebSocket }

// Pipes reports whether the peer serves on its standard streams.
func (k Kind) Pipes() bool { return k == Stdio || k == StartStdio }

// The protocol versions of the workloads.
const (
	Legacy = "2025-06-18"
	Modern = "2026-07-28"
)

// Request ids have a fixed width, so that a generator can increment them in place: the
// digits are at the same offset of every request body.
const (
	IDOffset = len(idPrefix)
	IDDigits = 10
	InitID   = 1_000_000_000 // of initialize
	FirstID  = 1_000_000_001 // of the request whose answer is checked
)

const idPrefix = `{"jsonrpc":"2.0","id":`

// Workload is one row of the comparison. It is read-only.
type Workload struct {
	Name    string
	Kind    Kind
	Version string // of the protocol
	Session bool   // initialize first and send the session id with each request
	Tools   int    // NTOOLS of the peer
	Window  int    // requests in flight on stdio or on one WebSocket
	Events  int    // notifications before the answer, which is then an event stream
	With    string // additional features of the server: auth, jwt, policy, metrics, ratelimit, log, or all
	Count   int    // idle clients

	method string
	target string // tool or resource
	params string // without _meta
}

// Workloads returns every workload in the order of the report.
func Workloads() []Workload {
	echo := Workload{
		method:  "tools/call",
		target:  Echo,
		Tools:   Called,
		Kind:    HTTP,
		Version: Legacy,
		params:  `"name":"echo","arguments":{"message":"` + Message + `"}`,
	}
	with := func(name string, change func(*Workload)) Workload {
		w := echo
		w.Name = name
		change(&w)
		return w
	}
	besides := func(what string) Workload {
		return with("http-echo-2025+"+what, func(w *Workload) { w.With = what })
	}
	list := func(n int) func(*Workload) {
		return func(w *Workload) {
			w.method = "tools/list"
			w.target = ""
			w.params = ""
			w.Tools = n
		}
	}
	pipelined := func(name string, kind Kind, window int) Workload {
		return with(name, func(w *Workload) {
			w.Kind = kind
			w.Session = true
			w.Window = window
		})
	}
	idle := func(kind Kind, clients int) Workload {
		return with(string(kind), func(w *Workload) {
			w.Kind = kind
			w.Session = true
			w.Count = clients
		})
	}
	return []Workload{
		with("http-echo-2025", func(*Workload) {}),
		with("http-echo-2026", func(w *Workload) { w.Version = Modern }),
		with("http-echo-session", func(w *Workload) { w.Session = true }),
		with("http-text-10k", func(w *Workload) {
			w.target = Blob
			w.params = blobParams
		}),
		with("http-list-50", list(50)),
		with("http-list-1000", list(1000)),
		with("http-read-10k", func(w *Workload) {
			w.method = "resources/read"
			w.target = BlobURI
			w.params = `"uri":"` + BlobURI + `"`
		}),
		with("http-progress-10", func(w *Workload) {
			w.target = Progress
			w.Events = Steps
			w.params = `"name":"progress","arguments":{},"_meta":{"progressToken":1}`
		}),
		besides("auth"), besides("jwt"), besides("policy"), besides("metrics"), besides("ratelimit"), besides("log"),
		besides("all"),
		pipelined("ws-echo-1", WebSocket, 1),
		pipelined("ws-echo-16", WebSocket, 16),
		pipelined("stdio-echo-1", Stdio, 1),
		pipelined("stdio-echo-64", Stdio, 64),
		pipelined("start-stdio", StartStdio, 0),
		with("start-http", func(w *Workload) { w.Kind = StartHTTP }),
		idle(IdleSession, 10_000),
		idle(IdleStream, 1000),
		idle(IdleWebSocket, 1000),
	}
}

const blobParams = `"name":"blob","arguments":{}`

// Proxied returns the workloads of gateways: the echo of a session, and the 10 KB text in
// one.
func Proxied() []Workload {
	echo, err := Find("http-echo-session")
	if err != nil {
		panic(err) // it is in the list above
	}
	text := echo
	echo.Name = "echo"
	text.Name = "text-10k"
	text.target = Blob
	text.params = blobParams
	return []Workload{echo, text}
}

// Token is the bearer token of the clients of a server with auth. The workload with jwt
// uses [JWT].
const Token = "a-bearer-token-of-ordinary-length-0123456789"

// Find returns the workload of that name.
func Find(name string) (Workload, error) {
	all := Workloads()
	i := slices.IndexFunc(all, func(w Workload) bool { return w.Name == name })
	if i < 0 {
		return Workload{}, fmt.Errorf("unknown workload %q", name)
	}
	return all[i], nil
}

// Body returns the request as JSON without a newline, with id in [IDDigits] digits at
// [IDOffset].
func (w Workload) Body(id int) []byte {
	params := w.params
	if w.Version == Modern {
		params = join(params, modernMeta)
	}
	return fmt.Appendf(nil, `%s%0*d,"method":%q,"params":{%s}}`, idPrefix,
		IDDigits, id, w.method, params)
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + Modern +
	`","io.modelcontextprotocol/clientCapabilities":{}}`

func join(members ...string) string {
	return strings.Join(slices.DeleteFunc(members, func(m string) bool {
		return m == ""
	}), ",")
}

// Header returns the HTTP header fields of the request as pairs of name and value,
// without Host, Content-Length and the session id.
func (w Workload) Header() [][2]string {
	header := [][2]string{
		{"Content-Type", "application/json"},
		{"Accept", "application/json, text/event-stream"},
		{"MCP-Protocol-Version", w.Version},
	}
	if w.With == "jwt" || w.With == "policy" {
		header = append(header, [2]string{"Authorization", "Bearer " + JWT()})
	} else if w.With != "" {
		header = append(header, [2]string{"Authorization", "Bearer " + Token})
	}
	if w.Version != Modern {
		return header
	}
	header = append(header, [2]string{"Mcp-Method", w.method})
	if w.target != "" {
		header = append(header, [2]string{"Mcp-Name", w.target})
	}
	return header
}

// InitBody returns the initialize request of a session, with the id [InitID].
func InitBody() []byte {
	return fmt.Appendf(nil, `%s%d,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},`+
		`"clientInfo":{"name":"bench","version":"1.0.0"}}}`, idPrefix, InitID, Legacy)
}

// InitializedBody returns the notification that ends the handshake.
func InitializedBody() []byte {
	return []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// Notification returns the nth notification before the answer.
func (w Workload) Notification(n int) []byte {
	return fmt.Appendf(nil,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":%d,"total":%d}}`,
		n, w.Events)
}

// Event returns a message as an event of an event stream.
func Event(msg []byte) []byte {
	return fmt.Appendf(nil, "event: message\ndata: %s\n\n", msg)
}

// Answer returns a correct server's final answer to the request [FirstID]. The floors
// send it unchanged.
func (w Workload) Answer() []byte {
	members := w.resultMembers()
	if w.Version == Modern {
		members = join(members, `"resultType":"complete"`,
			`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"`+ServerName+`","version":"`+ServerVersion+`"}}`)
	}
	return fmt.Appendf(nil, `%s%d,"result":{%s}}`, idPrefix, FirstID, members)
}

func (w Workload) resultMembers() string {
	switch {
	case w.method == "tools/list":
		return `"tools":` + string(mustJSON(Tools(w.Tools)))
	case w.method == "resources/read":
		return `"contents":[{"uri":"` + BlobURI + `","mimeType":"` + BlobMIME + `","text":` + string(mustJSON(Text())) + `}]`
	case w.target == Blob:
		return `"content":[{"type":"text","text":` + string(mustJSON(Text())) + `}]`
	default:
		return `"content":[{"type":"text","text":"` + Message + `"}]`
	}
}

// InitAnswer returns a correct server's answer to [InitBody].
func InitAnswer() []byte {
	return fmt.Appendf(nil, `%s%d,"result":{"protocolVersion":%q,"capabilities":{"resources":{},"tools":{}},`+
		`"serverInfo":{"name":%q,"version":%q}}}`, idPrefix, InitID, Legacy, ServerName, ServerVersion)
}

// mustJSON encodes values of this package, which cannot fail.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// PutID writes id to a body returned by [Workload.Body].
func PutID(body []byte, id int) {
	for i := IDOffset + IDDigits - 1; i >= IDOffset; i-- {
		body[i] = byte('0' + id%10)
		id /= 10
	}
}

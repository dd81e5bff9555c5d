// Command testserver is the MCP servers that the page of slipway inspect is tested with. It
// writes JSON-RPC itself, since no library would send what some of them send.
//
//	testserver large       1,000 tools, floods of notifications, results of megabytes, on stdio
//	testserver zoo         every kind of field, content, question and notification, on stdio; it
//	                       does not start while $ZOO_CRASHED exists, which its tool crash creates
//	testserver hostile     every string tries to break out of the page, on stdio
//	testserver app         a tool with a user interface, on stdio
//	testserver dies        writes to stderr and exits
//	testserver http        prints the URL of a folder: /mcp, /zoo, /401, /login, /hang, /404, /dies
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	mode := ""
	if len(os.Args) > 1 {
		mode = os.Args[1]
	}
	switch mode {
	case "large":
		serveStdio(newLarge("1.4.0", "open"))
	case "zoo":
		serveStdio(newZoo(os.Getenv("ZOO_CRASHED")))
	case "hostile":
		serveStdio(newHostile())
	case "app":
		serveStdio(withApp{})
	case "dies":
		fmt.Fprintln(os.Stderr, "FATAL: missing environment variable API_KEY")
		os.Exit(1)
	case "http":
		serveHTTP()
	default:
		fmt.Fprintln(os.Stderr, "usage: testserver large|zoo|hostile|app|dies|http")
		os.Exit(2)
	}
}

// object is a JSON object.
type object = map[string]any

// message is a request or a notification from the client, or its answer.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method"`
	Params struct {
		Name      string         `json:"name"`
		URI       string         `json:"uri"`
		Arguments map[string]any `json:"arguments"`
		Meta      struct {
			Token any `json:"progressToken"`
		} `json:"_meta"`
		ProtocolVersion string `json:"protocolVersion"`
	} `json:"params"`
	// Result and Error are set in answers to questions of the server.
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`

	raw    []byte          // the whole message
	modern bool            // of 2026-07-28
	done   <-chan struct{} // closed when the client of an HTTP request has gone
}

// asker is a service that asks the client. ask returns the result, or the error, of the answer.
type asker interface {
	attach(ask func(method string, params object) json.RawMessage)
}

// service answers requests. send writes a message to the client; it may be called at any time.
type service interface {
	// answer returns a result, an error, or neither to answer never.
	answer(m *message, send func(object)) (result any, failure object)
}

// serveStdio answers each request in a goroutine, so a call that takes long stops no other.
func serveStdio(s service) {
	var mu sync.Mutex // guards out
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	send := func(o object) {
		text := encode(o)
		mu.Lock()
		defer mu.Unlock()
		_, _ = out.Write(append(text, '\n')) // without a reader, the process ends soon
		_ = out.Flush()
	}
	questions := &questions{send: send, open: make(map[string]chan json.RawMessage)}
	if a, ok := s.(asker); ok {
		a.attach(questions.ask)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		m := message{raw: line}
		switch {
		case json.Unmarshal(line, &m) != nil || m.ID == nil:
		case m.Method == "":
			questions.answered(&m)
		default:
			m.modern = isModern(&m)
			go reply(s, &m, send)
		}
	}
}

// isModern reports whether a request carries the envelope of 2026-07-28.
func isModern(m *message) bool {
	return strings.Contains(string(m.raw), `"io.modelcontextprotocol/protocolVersion"`)
}

// questions are the requests of the server that wait for an answer.
type questions struct {
	send func(object)

	mu sync.Mutex // guards the following
	// next is the last id used. open has the channel of each question by its id.
	next int
	open map[string]chan json.RawMessage
}

// ask sends a request to the client and waits for its answer, without a limit: tests decide
// when to answer.
func (q *questions) ask(method string, params object) json.RawMessage {
	q.mu.Lock()
	q.next++
	id := fmt.Sprintf(`"question-%d"`, q.next)
	answer := make(chan json.RawMessage, 1)
	q.open[id] = answer
	q.mu.Unlock()
	q.send(object{
		"jsonrpc": "2.0",
		"id":      json.RawMessage(id),
		"method":  method,
		"params":  params,
	})
	return <-answer
}

// answered passes the result or error of a response to the question that waits for it.
// Responses to unknown ids are ignored.
func (q *questions) answered(m *message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	answer := q.open[string(m.ID)]
	delete(q.open, string(m.ID))
	switch {
	case answer == nil:
	case m.Error != nil:
		answer <- m.Error
	default:
		answer <- m.Result
	}
}

// reply sends the answer of a service to a request. A service that returns neither a result
// nor an error never answers.
func reply(s service, m *message, send func(object)) {
	result, failure := s.answer(m, send)
	if result == nil && failure == nil {
		return
	}
	o := object{"jsonrpc": "2.0", "id": m.ID}
	if failure != nil {
		o["error"] = failure
	} else {
		o["result"] = result
	}
	send(o)
}

// encode returns a message as JSON. A result that is JSON already is copied: encoding megabytes again
// takes the server longer than the page takes to show them.
func encode(o object) []byte {
	result, ok := o["result"].(json.RawMessage)
	if ok {
		o["result"] = nil
	}
	text, _ := json.Marshal(o) // it holds nothing that cannot be encoded
	if ok {
		text = bytes.Replace(text, []byte(`"result":null`), append([]byte(`"result":`), result...), 1)
	}
	return text
}

// missing returns the error for an unknown method.
func missing(m *message) (any, object) {
	return nil, object{"code": -32601, "message": "no method " + m.Method}
}

// text returns a tool result with one text.
func text(s string) object {
	return object{"content": []object{{"type": "text", "text": s}}}
}

// serveHTTP serves all HTTP servers of the tests on a free port of the loopback address,
// prints the URL as its first line, and runs until it is killed: /mcp and /zoo work, /401
// requires a token, /hang never answers, and /dies closes the connection.
func serveHTTP() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/401", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="demo", error="invalid_token"`)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":"this server wants a token"}`)
	})
	serveLogin(mux, "http://"+listener.Addr().String())
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/dies", func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	})
	large := newLarge("1.5.0-rc", "new")
	mux.HandleFunc("POST /mcp", func(w http.ResponseWriter, r *http.Request) {
		post(large, w, r)
	})
	// The second one is for a test that changes it.
	for _, path := range []string{"/zoo", "/zoo-to-change"} {
		zoo := newZoo("")
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			post(zoo, w, r)
		})
	}
	fmt.Printf("http://%s\n", listener.Addr())
	fmt.Fprintln(os.Stderr, http.Serve(listener, mux))
	os.Exit(1)
}

// post answers with a stream of events if there are notifications, and else with JSON.
func post(s service, w http.ResponseWriter, r *http.Request) {
	var m message
	raw, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil || json.Unmarshal(raw, &m) != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	m.raw = raw
	m.modern = isModern(&m)
	m.done = r.Context().Done()
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	var mu sync.Mutex // guards w
	reply(s, &m, func(o object) {
		encoded := encode(o)
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(w, "event: message\ndata: %s\n\n", encoded)
		w.(http.Flusher).Flush()
	})
}

// large has many tools, and results that are hard to show.
type large struct {
	// version is that of the server. Comparing two versions shows what has changed.
	version string
	state   string // of each issue
	tools   []object
}

// newLarge returns a server with 1,000 tools: the special ones first, then generated ones.
func newLarge(version, state string) *large {
	l := &large{
		version: version,
		state:   state,
	}
	special := []struct{ name, about string }{
		{"flood", "Sends 10,000 log notifications"},
		{"big_text", "Returns 5 MB of text"},
		{"big_json", "Returns 4 MB of structured content"},
		{"hang", "Never answers"},
		{"steps", "Reports progress five times"},
		{"fails", "Returns a tool error"},
		{"refuses", "Returns a JSON-RPC error"},
	}
	for _, s := range special {
		l.tools = append(l.tools, object{
			"name":        s.name,
			"description": s.about,
			"inputSchema": object{"type": "object", "properties": object{
				"n": object{"type": "integer", "description": "how many", "minimum": 0},
			}},
			"annotations": object{"readOnlyHint": true},
		})
	}
	verbs := []string{"get", "list", "create", "update", "delete"}
	for i := len(l.tools); i < 1000; i++ {
		verb := verbs[i%len(verbs)]
		tool := object{
			"name":        fmt.Sprintf("%s_issue_%d", verb, i),
			"title":       fmt.Sprintf("%s issue %d", strings.ToUpper(verb[:1])+verb[1:], i),
			"description": "Works on an issue of the tracker. Number " + fmt.Sprint(i) + ".",
			"inputSchema": object{
				"type":     "object",
				"required": []string{"title"},
				"properties": object{
					"title": object{"type": "string", "minLength": 3, "description": "one line"},
					"state": object{"type": "string", "enum": []string{"open", "closed", "all"}, "default": "open"},
					"limit": object{"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
				},
			},
		}
		if i%len(verbs) < 2 {
			tool["annotations"] = object{"readOnlyHint": true}
		}
		l.tools = append(l.tools, tool)
	}
	return l
}

// answer implements server.
func (l *large) answer(m *message, send func(object)) (any, object) {
	switch m.Method {
	case "initialize":
		return object{
			"protocolVersion": "2025-11-25",
			"serverInfo":      object{"name": "tracker", "version": l.version},
			"capabilities":    object{"tools": object{}, "logging": object{}},
			"instructions":    "A server with **1,000 tools**.",
		}, nil
	case "ping", "logging/setLevel":
		return object{}, nil
	case "tools/list":
		return object{"tools": l.tools}, nil
	case "tools/call":
		return l.call(m, send)
	}
	return missing(m)
}

// call runs a tool by its name: floods of notifications, results of 5 MB, progress in steps,
// a call that never ends, and both kinds of errors. Any other of the 1,000 tools returns text
// and structured content.
func (l *large) call(m *message, send func(object)) (any, object) {
	n := 0
	if given, ok := m.Params.Arguments["n"].(float64); ok {
		n = int(given)
	}
	switch m.Params.Name {
	case "flood":
		if n == 0 {
			n = 10_000
		}
		for i := range n {
			send(object{"jsonrpc": "2.0", "method": "notifications/message", "params": object{
				"level": "info", "logger": "flood", "data": fmt.Sprintf("line %d of the flood", i),
			}})
		}
		return text("flooded"), nil
	case "big_text":
		const line = `The quick brown fox jumps over the lazy dog. 0123456789\n`
		return json.RawMessage(`{"content":[{"type":"text","text":"` + strings.Repeat(line, 5_000_000/56) + `"}]}`), nil
	case "big_json":
		return bigJSON(), nil
	case "hang":
		return nil, nil
	case "steps":
		for i := 1; i <= 5; i++ {
			send(object{"jsonrpc": "2.0", "method": "notifications/progress", "params": object{
				"progressToken": m.Params.Meta.Token, "progress": i, "total": 5, "message": "indexing",
			}})
			time.Sleep(time.Duration(max(n, 50)) * time.Millisecond)
		}
		return text("done"), nil
	case "fails":
		failed := text("the tracker is not reachable")
		failed["isError"] = true
		return failed, nil
	case "refuses":
		return nil, object{
			"code":    -32602,
			"message": "n is out of range",
			"data":    object{"n": n},
		}
	}
	return object{
		"content":           []object{{"type": "text", "text": "**Issue 12** is `" + l.state + "`."}},
		"structuredContent": object{"id": 12, "state": l.state, "arguments": m.Params.Arguments},
	}, nil
}

// bigJSON returns structured content with 40,000 rows.
func bigJSON() json.RawMessage {
	out := make([]byte, 0, 5<<20)
	out = append(out, `{"content":[{"type":"text","text":"40,000 rows"}],"structuredContent":{"rows":[`...)
	for i := range 40_000 {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"id":`...)
		out = strconv.AppendInt(out, int64(i), 10)
		out = append(out, `,"name":"row number `...)
		out = strconv.AppendInt(out, int64(i), 10)
		out = append(out, `","open":`...)
		out = strconv.AppendBool(out, i%3 == 0)
		out = append(out, `,"score":`...)
		out = strconv.AppendFloat(out, float64(i)/7, 'f', -1, 64)
		out = append(out, `,"tags":["a","b"]}`...)
	}
	return append(out, `]}}`...)
}

// serveLogin serves an endpoint that requires a login, whose authorization server has the
// metadata of OpenID alone.
func serveLogin(mux *http.ServeMux, base string) {
	mux.HandleFunc("/login", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate",
			`Bearer resource_metadata="`+base+`/.well-known/oauth-protected-resource/login"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	document := func(path string, v any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v) // the client is gone
		})
	}
	document("/.well-known/oauth-protected-resource/login", map[string]any{
		"resource":              base + "/login",
		"authorization_servers": []string{base + "/as"},
		"scopes_supported":      []string{"files:read"},
	})
	document("/as/.well-known/openid-configuration", map[string]any{
		"issuer":                 base + "/as",
		"authorization_endpoint": base + "/as/authorize",
		"token_endpoint":         base + "/as/token",
		"registration_endpoint":  base + "/as/register",
	})
}

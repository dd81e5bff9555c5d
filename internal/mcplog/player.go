package mcplog

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/internal/canonical"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/mcp"
)

// Script answers requests as a recording did. It is safe for concurrent use.
type Script struct {
	mu sync.Mutex
	// answers are the recorded responses by request.
	answers map[string]*turns
	methods map[string]bool     // those of the requests with a response
	names   map[string][]string // the recorded names, by method
	seen    map[string]bool     // method and name of each
}

// turns are the recorded responses to equal requests.
type turns struct {
	responses []*Exchange
	// next is the index of the next response; the last one is repeated.
	next int
}

// NewScript returns the script of a recording. It skips requests without a
// response. Equal requests get their recorded responses in order, then the last one again.
func NewScript(rec *Recording) *Script {
	s := &Script{
		answers: make(map[string]*turns),
		methods: make(map[string]bool),
		names:   make(map[string][]string),
		seen:    make(map[string]bool),
	}
	s.add(rec.Exchanges())
	s.addLists(rec)
	return s
}

// requests are the requests for elements of [lists], with the member that identifies one.
// Without a list, clients make none of them.
var requests = []struct{ list, method, member string }{
	{"tools/list", "tools/call", "name"},
	{"resources/list", "resources/read", "uri"},
	{"resources/templates/list", "", ""},
	{"prompts/list", "prompts/get", "name"},
}

// addLists adds the lists that the recorded client did not request, such as one that knew
// them from before: as the server sent them to the recording program, or else the names in
// the recorded requests.
func (s *Script) addLists(rec *Recording) {
	var upstream []*Exchange
	if rec.served() && len(rec.Header.Sources) == 1 {
		upstream = rec.side(false, false)
	}
	for _, r := range requests {
		if s.methods[r.list] {
			continue
		}
		s.add(slices.DeleteFunc(slices.Clone(upstream), func(x *Exchange) bool { return x.Method != r.list }))
		if s.methods[r.list] || !s.methods[r.method] {
			continue
		}
		s.add([]*Exchange{{
			Response: &Event{},
			Method:   r.list,
			Result:   s.namesOf(r.method, lists[r.list], r.member),
		}})
	}
}

// namesOf returns the result of a list that has the recorded names with a result.
func (s *Script) namesOf(request, result, member string) []byte {
	out := fmt.Appendf(nil, `{%q:[`, result)
	listed := 0
	succeeded := s.succeeded(request)
	for _, name := range s.names[request] {
		if !succeeded[name] {
			continue
		}
		if listed > 0 {
			out = append(out, ',')
		}
		listed++
		out = jsonscan.AppendQuote(fmt.Appendf(out, `{%q:`, member), name)
		switch result {
		case "tools":
			out = append(out, `,"inputSchema":{"type":"object"}`...)
		case "resources":
			out = jsonscan.AppendQuote(append(out, `,"name":`...), name)
		}
		out = append(out, '}')
	}
	return append(out, `]}`...)
}

// succeeded returns the names for which a recorded request of a method has a result.
func (s *Script) succeeded(method string) map[string]bool {
	found := make(map[string]bool)
	for _, t := range s.answers {
		for _, x := range t.responses {
			if x.Method == method && x.Failure == nil {
				found[x.Name()] = true
			}
		}
	}
	return found
}

// add adds the exchanges that have a response.
func (s *Script) add(exchanges []*Exchange) {
	for _, x := range exchanges {
		if x.Response == nil {
			continue
		}
		s.methods[x.Method] = true
		key := keyOf(x.Method, x.Params)
		if s.answers[key] == nil {
			s.answers[key] = &turns{}
		}
		s.answers[key].responses = append(s.answers[key].responses, x)
		if name := x.Name(); name != "" && !s.seen[x.Method+" "+name] {
			s.seen[x.Method+" "+name] = true
			s.names[x.Method] = append(s.names[x.Method], name)
		}
	}
}

// keyOf returns what equal requests have in common: the method, and the parameters that
// decide about the answer, in canonical form.
func keyOf(method string, params []byte) string {
	if method == "initialize" || method == "server/discover" {
		return method
	}
	out := []byte(method + " {")
	for i, m := range decisive(params) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsonscan.AppendQuote(out, m.Name), ':')
		out = canonical.AppendExact(out, m.Value)
	}
	return string(append(out, '}'))
}

// decisive returns the members of params that decide about the answer, sorted by name.
// Absent and empty arguments are the same.
func decisive(params []byte) []jsonscan.Field {
	members := slices.DeleteFunc(jsonscan.Members(params), func(m jsonscan.Field) bool {
		return m.Name == "_meta" ||
			m.Name == "arguments" && len(jsonscan.Members(m.Value)) == 0
	})
	order.By(members, func(a, b jsonscan.Field) int {
		return strings.Compare(a.Name, b.Name)
	})
	return members
}

// answer returns the response to a request: of equal requests, the first gets the first
// recorded response, and so on; the last one is repeated.
func (s *Script) answer(m *peer.Message) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.answers[keyOf(string(m.Method), m.Params)]
	if t == nil {
		return s.missing(m)
	}
	x := t.responses[t.next]
	t.next = min(t.next+1, len(t.responses)-1)
	return response(m.ID, x.Result, x.Failure)
}

// response returns a message with a result, or with an error object.
func response(id, result, failure []byte) []byte {
	if failure == nil {
		return peer.Result(id, result)
	}
	out := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	return append(append(append(out, `,"error":`...), failure...), '}')
}

// missing answers a request that was not recorded.
func (s *Script) missing(m *peer.Message) []byte {
	method := string(m.Method)
	switch method {
	case "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return peer.Result(m.ID, []byte(`{}`))
	}
	if !s.methods[method] {
		return peer.Failure(m.ID, int(mcp.CodeMethodNotFound),
			"the recording has no answer to "+method)
	}
	x := Exchange{Params: m.Params}
	name := x.Name()
	if slices.Contains(s.names[method], name) {
		text := fmt.Sprintf("the recording has answers for %q, but none for these arguments", name)
		if example := s.argumentsOf(method, name); example != nil {
			text += fmt.Sprintf("; it has some for %s", example)
		}
		return peer.Failure(m.ID, int(mcp.CodeInvalidParams), text)
	}
	text := fmt.Sprintf("the recording has no %s of %q", method, name)
	if near := nearest.Nearest(name, s.names[method], 1); len(near) > 0 {
		text += fmt.Sprintf(", but one of %q", near[0])
	}
	return peer.Failure(m.ID, int(mcp.CodeInvalidParams), text)
}

// argumentsOf returns recorded arguments for a name as an example, unless they are long.
func (s *Script) argumentsOf(method, name string) []byte {
	const most = 200
	var example []byte
	for _, t := range s.answers {
		x := t.responses[0]
		if x.Method != method || x.Name() != name {
			continue
		}
		arguments := jsonscan.Member(x.Params, "arguments")
		if arguments == nil {
			arguments = []byte("{}")
		}
		if len(arguments) <= most && (example == nil || string(arguments) < string(example)) {
			example = arguments
		}
	}
	return example
}

// Conn is a connection to a server that follows a script. It implements server.Conn.
type Conn struct {
	// script answers, and out carries the answers to the reader.
	script *Script
	out    chan []byte
	once   sync.Once
	closed chan struct{}
}

// Dial returns a connection to a server that follows the script.
func (s *Script) Dial(context.Context) (*Conn, error) {
	return &Conn{
		script: s,
		out:    make(chan []byte, maxWaiting),
		closed: make(chan struct{}),
	}, nil
}

// maxWaiting is how many responses may wait to be read.
const maxWaiting = 1000

// WriteMessage answers a request, and ignores other messages.
func (c *Conn) WriteMessage(msg []byte) error {
	var m peer.Message
	if m.Scan(msg) != nil || m.Method == nil || m.ID == nil {
		return nil
	}
	select {
	case c.out <- bytes.ReplaceAll(c.script.answer(&m), []byte{'\n'}, nil):
		return nil
	case <-c.closed:
		return io.ErrClosedPipe
	}
}

// ReadMessage returns the next response.
func (c *Conn) ReadMessage(ctx context.Context) ([]byte, error) {
	select {
	case msg := <-c.out:
		return msg, nil
	case <-c.closed:
	case <-ctx.Done():
	}
	return nil, io.EOF
}

// Close ends the connection.
func (c *Conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// Len returns the number of requests that the script can answer.
func (s *Script) Len() int { return len(s.answers) }

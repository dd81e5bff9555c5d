package server_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// round is the outcome of one round of a request of 2026-07-28.
type round struct {
	Type     string                     `json:"resultType"`
	Requests map[string]json.RawMessage `json:"inputRequests"`
	State    string                     `json:"requestState"`
	text     string                     // of a final result
	code     mcp.Code                   // of an error
	raw      string
}

// keys returns the sorted keys of the questions, or the final outcome of the request.
func (r *round) keys() string {
	switch {
	case r.code != 0:
		return fmt.Sprint("error ", r.code)
	case r.Type == "input_required":
		return "asks " + strings.Join(slices.Sorted(maps.Keys(r.Requests)), " ")
	}
	return r.text
}

// round plays one round. request contains the params, without those added by the round;
// answers is an inputResponses object, or "" for none; state may be "" for none.
func (p *peer) round(method, request, answers, state string) *round {
	p.t.Helper()
	if answers != "" {
		request += `,"inputResponses":` + answers
	}
	if state != "" {
		request += `,"requestState":"` + state + `"`
	}
	got := messages(p.t,
		p.call(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, len(p.said)+1, method,
			request)), 1)[0]
	return roundOf(p.t, got)
}

func roundOf(t *testing.T, m wireMessage) *round {
	t.Helper()
	r := &round{raw: string(m.Result)}
	if m.Error != nil {
		r.code, r.raw = m.Error.Code, m.Error.Message
		return r
	}
	if err := json.Unmarshal(m.Result, r); err != nil {
		t.Fatal(err)
	}
	var result struct {
		Content  []struct{ Text string }
		Contents []struct{ Text string }
		Messages []struct{ Content struct{ Text string } }
	}
	if err := json.Unmarshal(m.Result, &result); err != nil {
		t.Fatal(err)
	}
	for _, c := range append(result.Content, result.Contents...) {
		r.text += c.Text
	}
	for _, m := range result.Messages {
		r.text += m.Content.Text
	}
	return r
}

const (
	askTool = `"name":"ask"`
	accept  = `{"action":"accept","content":{"name":"Ann"}}`
)

func connectModern(t *testing.T, transport string, ask askFunc, opts *mcpserver.Options) *peer {
	t.Helper()
	return connect(t, transport, mcp.Version20260728, mcpserver.New(newAsker(ask), opts), allCaps)
}

// In 2026-07-28, every question ends its request with the question as the result, and the
// repeated request with the answer completes.
func TestRoundOfEveryQuestion(t *testing.T) {
	for _, q := range questions {
		t.Run(q.name, func(t *testing.T) {
			onTransports(t, func(t *testing.T, transport string) {
				p := connectModern(t, transport, q.ask, nil)
				r := p.round("tools/call", askTool, "", "")
				if r.keys() != "asks input-1" || r.State == "" {
					t.Fatalf("first round: %s", r.raw)
				}
				want := fmt.Sprintf(`{"method":%q,"params":%s}`, q.method, q.request)
				if got := canonicalJSON(t, string(r.Requests["input-1"])); got != canonicalJSON(t, want) {
					t.Errorf("asked %s, want %s", got, want)
				}
				if r = p.round("tools/call", askTool, `{"input-1":`+q.answer+`}`, r.State); r.text != q.want {
					t.Errorf("the source got %q, want %q", r.text, q.want)
				}
			})
		})
	}
}

// Three methods may ask. Clients must not cache questions, so these have no cache hint.
func TestRoundsOfEachMethod(t *testing.T) {
	for _, c := range []struct{ method, params, want string }{
		{"tools/call", askTool, "accept {\"name\":\"Ann\"}"},
		{"prompts/get", askTool, "accept {\"name\":\"Ann\"}"},
		{"resources/read", `"uri":"ask://it"`, "accept {\"name\":\"Ann\"}"},
		{"completion/complete", `"ref":{"type":"ref/resource","uri":"ask://{v}"},"argument":{"name":"v","value":""}`,
			fmt.Sprint("error ", mcp.CodeInternalError)},
	} {
		t.Run(c.method, func(t *testing.T) {
			onTransports(t, func(t *testing.T, transport string) {
				p := connectModern(t, transport, askName, nil)
				r := p.round(c.method, c.params, "", "")
				for _, member := range []string{"ttlMs", "cacheScope", `"content`, `"messages`} {
					if strings.Contains(r.raw, member) {
						t.Errorf("%s in %s", member, r.raw)
					}
				}
				if r.Type == "input_required" {
					if !strings.Contains(r.raw, `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"asker"`) {
						t.Errorf("no server info in %s", r.raw)
					}
					r = p.round(c.method, c.params, `{"input-1":`+accept+`}`, r.State)
				}
				if got := r.keys(); got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
			})
		})
	}
}

// A requestState is ignored by other methods.
func TestRoundsOfOtherMethods(t *testing.T) {
	p := newBrowser(newAsker(askName), nil)
	for _, method := range []string{"tools/list", "server/discover", "prompts/list"} {
		if got := p.post(t, modern(method, `"requestState":"x","inputResponses":7`)); got.code != 0 {
			t.Errorf("%s: error %d %s", method, got.code, got.message)
		}
	}
}

func askTwo(ctx context.Context, r *mcp.Request) (string, error) {
	answers, err := r.Ask(ctx, form("who"), form("whom"))
	if err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	return string(answers[0]) + string(answers[1]), nil
}

// The possible answers of a client, and the questions that follow.
func TestRoundAnswers(t *testing.T) {
	both := strings.Repeat(accept, 2)
	for _, c := range []struct{ name, answers, want string }{
		{"all", `{"who":` + accept + `,"whom":` + accept + `}`, both},
		{"declined", `{"who":{"action":"decline"},"whom":{"action":"cancel"}}`,
			`{"action":"decline"}{"action":"cancel"}`},
		{"others, too", `{"who":` + accept + `,"whom":` + accept + `,"when":7,"":{}}`, both},
		{"none", `{}`, "asks who whom"},
		{"null", `null`, "asks who whom"},
		{"wrong keys", `{"input-1":` + accept + `,"WHO":` + accept + `}`, "asks who whom"},
		{"one", `{"who":` + accept + `}`, "asks whom"},
		{"one of them null", `{"who":null,"whom":` + accept + `}`, "asks who"},
		{"a number", `{"who":7,"whom":` + accept + `}`, "asks who"},
		{"a string", `{"who":"Ann","whom":` + accept + `}`, "asks who"},
		{"no action", `{"who":{},"whom":` + accept + `}`, "asks who"},
		{"accepted without content", `{"who":{"action":"accept"},"whom":` + accept + `}`, "asks who"},
		{"an array", `[]`, fmt.Sprint("error ", badParams)},
		{"text", `"who"`, fmt.Sprint("error ", badParams)},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := connectModern(t, httpTransport, askTwo, nil)
				first := p.round("tools/call", askTool, "", "")
				if first.keys() != "asks who whom" {
					t.Fatalf("first round: %s", first.raw)
				}
				if got := p.round("tools/call", askTool, c.answers, first.State).keys(); got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
				// A client that does not return the state is served as well.
				if got := p.round("tools/call", askTool, c.answers, "").keys(); got != c.want {
					t.Errorf("without the state %s, want %s", got, c.want)
				}
			})
		})
	}
}

// An answer of one round need not be repeated in the next.
func TestManyRounds(t *testing.T) {
	ask := func(ctx context.Context, r *mcp.Request) (string, error) {
		got := ""
		for range 3 {
			s, err := askName(ctx, r)
			if err != nil {
				return "", err
			}
			got += s
		}
		roots, err := askRoots(ctx, r)
		return got + roots, err
	}
	onTransports(t, func(t *testing.T, transport string) {
		p := connectModern(t, transport, ask, nil)
		r := p.round("tools/call", askTool, "", "")
		for i := range 3 {
			key := fmt.Sprint("input-", i+1)
			if got := r.keys(); got != "asks "+key {
				t.Fatalf("round %d: %s", i, got)
			}
			r = p.round("tools/call", askTool, fmt.Sprintf(`{%q:{"action":"accept","content":{"name":"%d"}}}`, key, i),
				r.State)
		}
		if got := p.round("tools/call", askTool, `{"input-4":{"roots":[]}}`, r.State).text; got !=
			`accept {"name":"0"}accept {"name":"1"}accept {"name":"2"}[]` {
			t.Errorf("the source got %q", got)
		}
	})
}

// In every version, a source can immediately read the state that it has set.
func TestRoundStateWithinARequest(t *testing.T) {
	ask := func(_ context.Context, r *mcp.Request) (string, error) {
		before, err := r.State()
		if err != nil {
			return "", err
		}
		r.SetState(json.RawMessage(`{"step":1}`))
		after, err := r.State()
		return fmt.Sprintf("%s then %s", before, after), err
	}
	for _, version := range []mcp.Version{mcp.Version20241105, mcp.Version20251125, mcp.Version20260728} {
		onTransports(t, func(t *testing.T, transport string) {
			p := connect(t, transport, version, mcpserver.New(newAsker(ask), nil), allCaps)
			for range 2 { // the next request starts without it
				if got := p.round("tools/call", askTool, "", "").text; got != ` then {"step":1}` {
					t.Errorf("%v: the source finds %s", version, got)
				}
			}
		})
	}
}

// The state that a source keeps between rounds is only readable by the source.
func TestRoundState(t *testing.T) {
	const secret = `{"pin":"0815-4711"}`
	var states []string
	ask := func(ctx context.Context, r *mcp.Request) (string, error) {
		state, err := r.State()
		if err != nil {
			return "", err
		}
		states = append(states, string(state))
		if state == nil {
			r.SetState(json.RawMessage(secret))
		}
		return askName(ctx, r)
	}
	onTransports(t, func(t *testing.T, transport string) {
		states = nil
		p := connectModern(t, transport, ask, nil)
		r := p.round("tools/call", askTool, "", "")
		plain, err := base64.RawURLEncoding.DecodeString(r.State)
		if err != nil || bytes.Contains(plain, []byte("0815")) {
			t.Errorf("the client can read the state: %q (%v)", plain, err)
		}
		r = p.round("tools/call", askTool, "{}", r.State)
		p.round("tools/call", askTool, `{"input-1":`+accept+`}`, r.State)
		p.round("tools/call", askTool, `{"input-1":`+accept+`}`, "")
		if want := []string{"", secret, secret, ""}; !slices.Equal(states, want) {
			t.Errorf("states %q, want %q", states, want)
		}
	})
	t.Run("before", func(t *testing.T) {
		states = nil
		newBrowser(newAsker(ask), nil).post(t, askCall)
		if want := []string{""}; !slices.Equal(states, want) {
			t.Errorf("states %q, want none", states)
		}
		var nobody *mcp.Request
		nobody.SetState(json.RawMessage(secret))
		if state, err := nobody.State(); state != nil || err != nil {
			t.Errorf("without a request: %s, %v", state, err)
		}
	})
}

// A state is rejected, before the Source is called, unless it is unchanged, has not
// expired, and belongs to this request of this client.
func TestRoundStateIsHeldAgainstTheRequest(t *testing.T) {
	refused := fmt.Sprint("error ", badParams)
	const request = askTool + `,"arguments":{"a":1,"b":{"c":"x","d":[1,2]}}`
	const answers = `{"input-1":` + accept + `}`
	const done = `accept {"name":"Ann"}`
	for _, c := range []struct {
		name           string
		method, params string
		state          func(string) string
		want           string
	}{
		{"as it was", "tools/call", request, nil, done},
		{"members in another order", "tools/call", askTool + `,"arguments":{ "b":{"d":[1,2],"c":"\u0078"},"a":1}`, nil,
			done},
		{"more of _meta", "tools/call", request + `,"task":{"ttl":1}`, nil, done},
		{"another argument", "tools/call", strings.Replace(request, `"x"`, `"y"`, 1), nil, refused},
		{"arguments in an array in another order", "tools/call", strings.Replace(request, `[1,2]`, `[2,1]`, 1), nil,
			refused},
		{"no arguments", "tools/call", askTool, nil, refused},
		{"another tool", "tools/call", strings.Replace(request, `"ask"`, `"too"`, 1), nil, refused},
		{"another method", "prompts/get", askTool, nil, refused},
		{"cut", "tools/call", request, func(s string) string { return s[:len(s)-1] }, refused},
		{"longer", "tools/call", request, func(s string) string { return s + "AA" }, refused},
		{"not base64", "tools/call", request, func(s string) string { return "!" + s }, refused},
		{"made up", "tools/call", request,
			func(string) string { return base64.RawURLEncoding.EncodeToString(make([]byte, 100)) }, refused},
		{"padded", "tools/call", request, func(s string) string { return s + "=" }, refused},
		{"line break", "tools/call", request, func(s string) string { return s[:9] + `\r\n` + s[9:] }, refused},
		{"line break at the end", "tools/call", request, func(s string) string { return s + `\n` }, refused},
		{"null", "tools/call", request + `,"requestState":null`, func(string) string { return "" }, refused},
		{"empty", "tools/call", request + `,"requestState":""`, func(string) string { return "" }, refused},
		{"a number", "tools/call", request + `,"requestState":7`, func(string) string { return "" }, refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			onTransports(t, func(t *testing.T, transport string) {
				source := newAsker(askName)
				p := connect(t, transport, mcp.Version20260728, mcpserver.New(source, nil), allCaps)
				state := p.round("tools/call", request, "", "").State
				if c.state != nil {
					state = c.state(state)
				}
				if got := p.round(c.method, c.params, answers, state).keys(); got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
				if c.want == refused && source.calls != 1 {
					t.Errorf("the source was called %d times, want once", source.calls)
				}
			})
		})
	}
	t.Run("any character changed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := connectModern(t, httpTransport, askName, nil)
			state := p.round("tools/call", askTool, "", "").State
			const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
			for i := range state {
				n := strings.IndexByte(alphabet, state[i]) ^ 1 // only its last bit
				other := alphabet[n : n+1]
				if got := p.round("tools/call", askTool, answers, state[:i]+other+state[i+1:]).keys(); got != refused {
					t.Fatalf("character %d changed: %s", i, got)
				}
			}
		})
	})
}

// A state is opened after the gate has admitted the request, because its context is a digest of
// the arguments: a caller without permission cannot make the server compute it.
func TestRoundStateAfterTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		denied := false
		gate := gateFunc(func(context.Context, mcpserver.Operation) error {
			if denied {
				return mcp.Errorf(mcp.CodeToolDenied, "denied")
			}
			return nil
		})
		p := connectModern(t, httpTransport, askName, &mcpserver.Options{Gate: gate})
		forged := base64.RawURLEncoding.EncodeToString(make([]byte, 100))
		if got, want := p.round("tools/call", askTool, "", forged).keys(), fmt.Sprint("error ", badParams); got != want {
			t.Errorf("admitted: %s, want %s", got, want)
		}
		denied = true
		want := fmt.Sprint("error ", int(mcp.CodeToolDenied))
		if got := p.round("tools/call", askTool, "", forged).keys(); got != want {
			t.Errorf("denied: %s, want %s", got, want)
		}
	})
}

// A forged state costs a small multiple of the arguments.
func TestRoundStateCost(t *testing.T) {
	arguments := `"arguments":{"a":[` + strings.Repeat(`{"a":1},`, 100_000) + `0]}`
	for name, state := range map[string]string{
		"short": "AAAA",
		"long":  base64.RawURLEncoding.EncodeToString(make([]byte, 100)),
	} {
		body := modern("tools/call", askTool+`,`+arguments+`,"requestState":"`+state+`"`)
		h := mcpserver.New(newAsker(askName), nil).HTTPHandler(nil)
		r := newRerun(h, body, modernHeader("tools/call", "ask"))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r.serve()
		runtime.ReadMemStats(&after)
		n := after.TotalAlloc - before.TotalAlloc
		most := uint64(16 * len(body))
		if state == "AAAA" {
			most = uint64(4 * len(body))
		}
		if n > most {
			t.Errorf("a %s state in %d bytes makes the server allocate %d, want at most %d", name, len(body), n, most)
		}
	}
}

func TestRoundStateBelongsToItsPrincipal(t *testing.T) {
	b := newBrowser(newAsker(askName), nil)
	as := func(principal, state string) *round {
		b.principal = principal
		body := strings.Replace(modern("tools/call", askTool+`,"inputResponses":{"input-1":`+accept+`}`+state),
			`clientCapabilities":{}`, `clientCapabilities":`+allCaps, 1)
		got := b.post(t, body)
		if got.code != 0 {
			return &round{code: got.code}
		}
		return roundOf(t, wireMessage{Result: json.RawMessage(got.result)})
	}
	b.principal = "ann"
	first := b.post(t,
		strings.Replace(modern("tools/call", askTool), `clientCapabilities":{}`, `clientCapabilities":`+allCaps, 1))
	state := `,"requestState":"` + roundOf(t, wireMessage{Result: json.RawMessage(first.result)}).State + `"`
	for principal, want := range map[string]mcp.Code{"ann": 0, "bob": badParams, "": badParams} {
		if got := as(principal, state); got.code != want {
			t.Errorf("as %q: error %d, want %d", principal, got.code, want)
		}
	}
}

func TestRoundStateExpires(t *testing.T) {
	for _, c := range []struct {
		name string
		opts *mcpserver.Options
		ttl  time.Duration
	}{
		{"default", nil, 10 * time.Minute},
		{"set", &mcpserver.Options{StateTTL: time.Minute}, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := connectModern(t, httpTransport, askName, c.opts)
				state := p.round("tools/call", askTool, "", "").State
				time.Sleep(c.ttl - time.Second)
				if got := p.round("tools/call", askTool, "{}", state); got.Type != "input_required" {
					t.Errorf("a second before: %s", got.raw)
				}
				time.Sleep(3 * time.Second)
				if got := p.round("tools/call", askTool, "{}", state); got.code != badParams {
					t.Errorf("two seconds after: %s", got.raw)
				}
			})
		})
	}
}

// Replicas that share keys can continue each other's requests, even while a key is being
// replaced. Session ids are sealed with the same keys, but are not accepted as states.
func TestStateKeys(t *testing.T) {
	key := func(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }
	server := func(keys ...[]byte) *mcpserver.Server {
		return mcpserver.New(newAsker(askName), &mcpserver.Options{StateKeys: keys, Replica: "10.0.0.7:80"})
	}
	synctest.Test(t, func(t *testing.T) {
		old := connect(t, httpTransport, mcp.Version20260728, server(key(1)), allCaps)
		state := old.round("tools/call", askTool, "", "").State
		session := connect(t, httpTransport, mcp.Version20250618, old.server, allCaps).web.header.Get("Mcp-Session-Id")
		for _, c := range []struct {
			name   string
			server *mcpserver.Server
			opens  bool
		}{
			{"same key", server(key(1)), true},
			{"new key in front", server(key(2), key(1)), true},
			{"old key gone", server(key(2)), false},
			{"no keys", server(), false},
		} {
			p := connect(t, httpTransport, mcp.Version20260728, c.server, allCaps)
			if got := p.round("tools/call", askTool, "{}", state); (got.code == 0) != c.opens {
				t.Errorf("%s: %s", c.name, got.raw)
			}
			if got := p.round("tools/call", askTool, "{}", session); got.code != badParams {
				t.Errorf("%s: a session id as a state: %s", c.name, got.raw)
			}
			replica, ok := c.server.SessionReplica(session)
			if ok != c.opens || ok && replica != "10.0.0.7:80" {
				t.Errorf("%s: SessionReplica = %q, %v", c.name, replica, ok)
			}
			if replica, ok := c.server.SessionReplica(state); ok {
				t.Errorf("%s: a state as a session of %q", c.name, replica)
			}
		}
		renewed := connect(t, httpTransport, mcp.Version20260728, server(key(2), key(1)), allCaps).
			round("tools/call", askTool, "", "").State
		if got := old.round("tools/call", askTool, "{}", renewed); got.code != badParams {
			t.Errorf("sealed with the old key still: %s", got.raw)
		}
	})
	for _, made := range []string{"", "x", "!", base64.RawURLEncoding.EncodeToString(make([]byte, 60))} {
		if replica, ok := server().SessionReplica(made); ok {
			t.Errorf("SessionReplica(%q) = %q, true", made, replica)
		}
	}
}

// Once the source has asked, the questions are sent, regardless of what it returns.
func TestRoundStandsWhateverTheSourceReturns(t *testing.T) {
	ask := func(ctx context.Context, r *mcp.Request) (string, error) {
		if _, err := r.Roots(ctx); !errors.Is(err, mcp.ErrInputRequired) {
			return "", fmt.Errorf("Roots = %v, want %v", err, mcp.ErrInputRequired)
		}
		return "an answer without the answer", nil
	}
	synctest.Test(t, func(t *testing.T) {
		if got := connectModern(t, httpTransport, ask, nil).round("tools/call", askTool, "", "").keys(); got !=
			"asks input-1" {
			t.Errorf("%s, want the question", got)
		}
	})
}

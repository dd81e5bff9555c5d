package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// asker is a Source that asks the client the given question.
type asker struct {
	mcp.Unimplemented
	ask     func(ctx context.Context, r *mcp.Request) (string, error)
	catalog *mcp.Catalog
	calls   int
}

func newAsker(ask func(ctx context.Context, r *mcp.Request) (string, error)) *asker {
	return &asker{ask: ask, catalog: &mcp.Catalog{
		Server:    mcp.Implementation{Name: "asker", Version: "1"},
		Tools:     []mcp.Tool{{Name: "ask", Description: "asks"}, {Name: "too", Description: "asks, too"}},
		Prompts:   []mcp.Prompt{{Name: "ask"}},
		Resources: []mcp.Resource{{Name: "ask", URI: "ask://it"}},
		Templates: []mcp.ResourceTemplate{{Name: "t", URITemplate: "ask://{v}"}}, Completions: true,
	}}
}

func (a *asker) Catalog(context.Context) (*mcp.Catalog, error) { return a.catalog, nil }

func (a *asker) answer(ctx context.Context) (string, error) {
	a.calls++
	return a.ask(ctx, mcp.RequestFrom(ctx))
}

func (a *asker) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	s, err := a.answer(ctx)
	if err != nil {
		return nil, err
	}
	return text(s), nil
}

func (a *asker) GetPrompt(ctx context.Context, _ *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	s, err := a.answer(ctx)
	if err != nil {
		return nil, err
	}
	return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text(s)}}}, nil
}

func (a *asker) ReadResource(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	s, err := a.answer(ctx)
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: s}}}, nil
}

func (a *asker) Complete(ctx context.Context, _ *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	s, err := a.answer(ctx)
	if err != nil {
		return nil, err
	}
	return &mcp.CompleteResult{Completion: mcp.Completion{Values: []string{s}}}, nil
}

const (
	askCall  = `{"jsonrpc":"2.0","id":"c1","method":"tools/call","params":{"name":"ask"}}`
	askCall2 = `{"jsonrpc":"2.0","id":"c2","method":"tools/call","params":{"name":"ask"}}`
	allCaps  = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`
	nameForm = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
)

func form(key string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Key: key, Message: "name?", RequestedSchema: json.RawMessage(nameForm)}
}

// The kinds of questions, and how the source reports the answer.

func askName(ctx context.Context, r *mcp.Request) (string, error) {
	answer, err := r.Elicit(ctx, form(""))
	if err != nil {
		return "", err
	}
	return answer.Action + " " + string(answer.Content), nil
}

func askVisit(ctx context.Context, r *mcp.Request) (string, error) {
	answer, err := r.Elicit(ctx, &mcp.ElicitParams{Mode: "url", Message: "visit", URL: "https://visit.example/"})
	if err != nil {
		return "", err
	}
	return answer.Action, nil
}

func askModel(ctx context.Context, r *mcp.Request) (string, error) {
	answer, err := r.Sample(ctx, &mcp.CreateMessageParams{
		Messages:     []mcp.SamplingMessage{mcp.SamplingText(mcp.RoleUser, "2+2?")},
		MaxTokens:    9,
		SystemPrompt: "be brief",
		Temperature:  ptr(0.5),
	})
	if err != nil {
		return "", err
	}
	return answer.Role + " " + answer.Text(), nil
}

func askModelWithTools(ctx context.Context, r *mcp.Request) (string, error) {
	answer, err := r.Sample(ctx, &mcp.CreateMessageParams{
		Messages: []mcp.SamplingMessage{mcp.SamplingText(mcp.RoleUser, "2+2?")}, MaxTokens: 9,
		Tools:      []mcp.Tool{{Name: "add", Description: "adds", InputSchema: json.RawMessage(`{"type":"object"}`)}},
		ToolChoice: json.RawMessage(`{"mode":"auto"}`),
	})
	if err != nil {
		return "", err
	}
	return answer.StopReason, nil
}

func askRoots(ctx context.Context, r *mcp.Request) (string, error) {
	answer, err := r.Roots(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(answer.Roots), nil
}

type askFunc = func(ctx context.Context, r *mcp.Request) (string, error)

// questions are all kinds of questions: the first version that has them, the request to
// the client, an answer, and what the source returns for it.
var questions = []struct {
	name            string
	ask             askFunc
	since           mcp.Version
	capability      string
	method, request string
	answer, want    string
}{
	{"form", askName, mcp.Version20250618, "elicitation", "elicitation/create",
		`{"message":"name?","requestedSchema":` + nameForm + `}`, `{"action":"accept","content":{"name":"Ann"}}`,
		`accept {"name":"Ann"}`},
	{"url", askVisit, mcp.Version20251125, "elicitation/url", "elicitation/create",
		`{"mode":"url","message":"visit","url":"https://visit.example/"}`, `{"action":"accept"}`, "accept"},
	{"sampling", askModel, mcp.Version20241105, "sampling", "sampling/createMessage",
		`{"messages":[{"role":"user","content":{"type":"text","text":"2+2?"}}],"systemPrompt":"be brief",` +
			`"temperature":0.5,"maxTokens":9}`,
		`{"role":"assistant","content":{"type":"text","text":"4"},"model":"m"}`, "assistant 4"},
	{"sampling with tools", askModelWithTools, mcp.Version20251125, "sampling/tools", "sampling/createMessage",
		`{"messages":[{"role":"user","content":{"type":"text","text":"2+2?"}}],"maxTokens":9,"tools":[{"name":"add",` +
			`"description":"adds","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"auto"}}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"u1","name":"add","input":{}}],"model":"m",` +
			`"stopReason":"toolUse"}`,
		"toolUse"},
	{"roots", askRoots, mcp.Version20241105, "roots", "roots/list",
		`{}`, `{"roots":[{"uri":"file:///a","name":"a"},{"uri":"file:///b"}]}`, "[{file:///a a} {file:///b }]"},
}

// In every version before 2026-07-28 that supports it, a question is sent as a request of
// the server while the client's request waits.
func TestAskLegacy(t *testing.T) {
	for _, q := range questions {
		for _, v := range legacyVersions(q.since) {
			t.Run(q.name+" "+v.String(), func(t *testing.T) {
				onTransports(t, func(t *testing.T, transport string) {
					p := connect(t, transport, v, mcpserver.New(newAsker(q.ask), nil), allCaps)
					asked := messages(t, p.call(askCall), 1)[0]
					if asked.Method != q.method || asked.ID == nil {
						t.Fatalf("asked %s with id %s, want %s", asked.Method, asked.ID, q.method)
					}
					if got := withoutID(t, asked.Params); got != canonicalJSON(t, q.request) {
						t.Errorf("params %s, want %s", got, q.request)
					}
					p.send(reply(asked, q.answer))
					if got := textOf(t, messages(t, p.received(), 1)[0]); got != q.want {
						t.Errorf("the source got %q, want %q", got, q.want)
					}
				})
			})
		}
	}
}

// legacyVersions returns the versions with a handshake, starting with since.
func legacyVersions(since mcp.Version) (all []mcp.Version) {
	for _, v := range mcp.Versions() {
		if v >= since && !v.Modern() {
			all = append(all, v)
		}
	}
	return all
}

func reply(to wireMessage, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, to.ID, result)
}

// withoutID returns params in canonical form, without the random elicitationId.
func withoutID(t *testing.T, params json.RawMessage) string {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal(params, &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "elicitationId")
	got, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func canonicalJSON(t *testing.T, text string) string {
	t.Helper()
	return withoutID(t, json.RawMessage(text))
}

// The possible answers to a question, and what the source receives.
func TestAskAnswers(t *testing.T) {
	const malformed = "error: the client's answer to %s is malformed"
	for _, c := range []struct {
		name, answer string // the result or the error
		ask          askFunc
		want         string
	}{
		{"declined", `"result":{"action":"decline"}`, askName, "decline "},
		{"cancelled by the user", `"result":{"action":"cancel"}`, askName, "cancel "},
		{"more members", `"result":{"action":"accept","content":{"name":"Ann","x":1},"_meta":{},"more":1}`, askName,
			`accept {"name":"Ann","x":1}`},
		{"no action", `"result":{}`, askName, fmt.Sprintf(malformed, "elicitation/create")},
		{"unknown action", `"result":{"action":"maybe","content":{}}`, askName, fmt.Sprintf(malformed,
			"elicitation/create")},
		{"accepted without content", `"result":{"action":"accept"}`, askName, fmt.Sprintf(malformed,
			"elicitation/create")},
		{"content that is not an object", `"result":{"action":"accept","content":"Ann"}`, askName,
			fmt.Sprintf(malformed, "elicitation/create")},
		{"null", `"result":null`, askName, fmt.Sprintf(malformed, "elicitation/create")},
		{"a number", `"result":7`, askName, fmt.Sprintf(malformed, "elicitation/create")},
		{"an error", `"error":{"code":-32603,"message":"no user here"}`, askName,
			`error: the client answered elicitation/create with an error: {"code":-32603,"message":"no user here"}`},
		{"url accepted", `"result":{"action":"accept"}`, askVisit, "accept"},
		{"url declined", `"result":{"action":"decline"}`, askVisit, "decline"},
		{"message of several blocks",
			`"result":{"role":"assistant","content":[{"type":"text","text":"4"},{"type":"text","text":"!"}],` +
				`"model":"m"}`,
			askModel, "assistant 4!"},
		{"message without a role", `"result":{"content":{"type":"text","text":"4"},"model":"m"}`, askModel,
			fmt.Sprintf(malformed, "sampling/createMessage")},
		{"message of a string", `"result":{"role":"assistant","content":"4","model":"m"}`, askModel,
			fmt.Sprintf(malformed, "sampling/createMessage")},
		{"sampling refused", `"error":{"code":-1,"message":"the user says no"}`, askModel,
			`error: the client answered sampling/createMessage with an error: {"code":-1,"message":"the user says no"}`},
		{"no roots", `"result":{"roots":[]}`, askRoots, "[]"},
		{"roots that are not array", `"result":{"roots":{}}`, askRoots, fmt.Sprintf(malformed, "roots/list")},
		{"roots missing", `"result":{}`, askRoots, fmt.Sprintf(malformed, "roots/list")},
		{"roots of the wrong type", `"result":{"roots":[7]}`, askRoots, ""}, // must be an error, with any text
	} {
		t.Run(c.name, func(t *testing.T) {
			onTransports(t, func(t *testing.T, transport string) {
				p := connect(t, transport, mcp.Version20251125, mcpserver.New(newAsker(c.ask), nil), allCaps)
				asked := messages(t, p.call(askCall), 1)[0]
				p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, asked.ID, c.answer))
				got := textOf(t, messages(t, p.received(), 1)[0])
				if got != c.want && (c.want != "" || !strings.HasPrefix(got, "error: the client's answer")) {
					t.Errorf("the source got %q, want %q", got, c.want)
				}
			})
		})
	}
}

// A client is only asked if it has declared the capability and its version supports it.
func TestAskUndeclared(t *testing.T) {
	type question struct {
		name     string
		ask      askFunc
		declared string
		required string // "" : it is asked
		until    mcp.Version
	}
	var all []question
	for _, q := range questions {
		required := nested(q.capability)
		all = append(all, question{q.name + ", nothing declared", q.ask, `{}`, required, mcp.LatestVersion},
			question{q.name + ", null", q.ask, strings.Replace(required, "{}", "null", 1), required, mcp.LatestVersion},
			question{q.name + ", declared", q.ask, allCaps, "", mcp.LatestVersion},
			question{q.name + ", before its time", q.ask, allCaps, required, q.since - 1})
	}
	all = append(all,
		question{"form, elicitation alone", askName, `{"elicitation":{}}`, "", mcp.LatestVersion},
		question{"form, url alone", askName, `{"elicitation":{"url":{}}}`, `{"elicitation":{"form":{}}}`,
			mcp.LatestVersion},
		question{"url, elicitation alone", askVisit, `{"elicitation":{}}`, `{"elicitation":{"url":{}}}`,
			mcp.LatestVersion},
		question{"url, form alone", askVisit, `{"elicitation":{"form":{}}}`, `{"elicitation":{"url":{}}}`,
			mcp.LatestVersion},
		question{"tools, sampling alone", askModelWithTools, `{"sampling":{}}`, `{"sampling":{"tools":{}}}`,
			mcp.LatestVersion},
	)
	for _, q := range all {
		for _, v := range []mcp.Version{
			mcp.Version20241105,
			mcp.Version20250326,
			mcp.Version20250618,
			mcp.Version20251125,
			mcp.Version20260728,
		} {
			early := strings.HasSuffix(q.name, "before its time")
			if early && v > q.until || !early && v < mcp.Version20251125 {
				continue
			}
			t.Run(q.name+" "+v.String(), func(t *testing.T) {
				onTransports(t, func(t *testing.T, transport string) {
					p := connect(t, transport, v, mcpserver.New(newAsker(q.ask), nil), q.declared)
					got := messages(t, p.call(askCall), 1)[0]
					switch {
					case q.required == "":
						if got.Method == "" && !strings.Contains(string(got.Result), `"input_required"`) {
							t.Errorf("answered %s%v, want a question", got.Result, got.Error)
						}
						if got.Method != "" {
							p.send(reply(got, `{}`)) // so that it ends
						}
					case v.Modern():
						if got.Error == nil ||
							got.Error.Code != noCapability ||
							string(got.Error.Data) != `{"requiredCapabilities":`+q.required+`}` {
							t.Errorf("answered %s%v, want error %d about %s", got.Result, got.Error, noCapability,
								q.required)
						}
					default:
						if want := "error: the client does not support this: it would have to declare " +
							q.required; textOf(t, got) != want {
							t.Errorf("answered %s, want %s", got.Result, want)
						}
					}
				})
			})
		}
	}
}

// nested returns the capabilities object for a path such as elicitation/url.
func nested(path string) string {
	name, rest, more := strings.Cut(path, "/")
	if !more {
		return `{"` + name + `":{}}`
	}
	return `{"` + name + `":` + nested(rest) + `}`
}

const cancelC1 = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c1"}}`

// A client that cancels while being asked gets no answer, and its late answer does not
// affect later questions.
func TestAskCancelledWhileWaiting(t *testing.T) {
	onTransports(t, func(t *testing.T, transport string) {
		p := connect(t, transport, mcp.Version20250618, mcpserver.New(newAsker(askName), nil), allCaps)
		first := messages(t, p.call(askCall), 1)[0]
		if got := p.call(cancelC1); got != "" {
			t.Errorf("answered after the cancellation: %s", got)
		}
		second := messages(t, p.call(askCall), 1)[0]
		if string(second.ID) == string(first.ID) {
			t.Errorf("both questions have the id %s", first.ID)
		}
		if got := p.call(reply(first, `{"action":"accept","content":{"name":"late"}}`)); got != "" {
			t.Errorf("a late answer led to %s", got)
		}
		p.send(reply(second, `{"action":"accept","content":{"name":"new"}}`))
		if got := textOf(t, messages(t, p.received(), 1)[0]); got != `accept {"name":"new"}` {
			t.Errorf("the source got %q", got)
		}
	})
}

// Answers are matched to their questions in any order, both for two requests and for two
// questions of one request.
func TestAskTwoAtOnce(t *testing.T) {
	answer := func(name string) string { return `{"action":"accept","content":{"name":"` + name + `"}}` }
	onTransports(t, func(t *testing.T, transport string) {
		p := connect(t, transport, mcp.Version20251125, mcpserver.New(newAsker(askName), nil), allCaps)
		first := messages(t, p.call(askCall), 1)[0]
		second := messages(t, p.call(askCall2), 1)[0]
		p.send(reply(second, answer("second")))
		if got := messages(t, p.received(), 1)[0]; string(got.ID) != `"c2"` || textOf(t, got) !=
			`accept {"name":"second"}` {
			t.Errorf("id %s: %s", got.ID, got.Result)
		}
		p.send(reply(first, answer("first")))
		if got := messages(t, p.received(), 1)[0]; string(got.ID) != `"c1"` || textOf(t, got) !=
			`accept {"name":"first"}` {
			t.Errorf("id %s: %s", got.ID, got.Result)
		}
	})
	onTransports(t, func(t *testing.T, transport string) {
		p := connect(t, transport, mcp.Version20251125, mcpserver.New(newAsker(askBothAtOnce), nil), allCaps)
		asked := messages(t, p.call(askCall), 2)
		if asked[0].Method != "elicitation/create" {
			asked[0], asked[1] = asked[1], asked[0]
		}
		p.send(reply(asked[1], `{"roots":[]}`))
		p.send(reply(asked[0], answer("both")))
		if got := textOf(t, messages(t, p.received(), 1)[0]); got != `accept {"name":"both"} []` {
			t.Errorf("the source got %q", got)
		}
	})
}

func askBothAtOnce(ctx context.Context, r *mcp.Request) (string, error) {
	type outcome struct {
		text string
		err  error
	}
	roots := make(chan outcome, 1)
	go func() {
		s, err := askRoots(ctx, r)
		roots <- outcome{s, err}
	}()
	name, err := askName(ctx, r)
	other := <-roots
	return name + " " + other.text, errors.Join(err, other.err)
}

// In versions without rounds, Ask sends the questions one after the other.
func TestAskInOrder(t *testing.T) {
	ask := func(ctx context.Context, r *mcp.Request) (string, error) {
		answers, err := r.Ask(ctx, form(""), &mcp.ListRootsParams{})
		if err != nil {
			return "", err
		}
		return string(answers[0]) + string(answers[1]), nil
	}
	onTransports(t, func(t *testing.T, transport string) {
		p := connect(t, transport, mcp.Version20250618, mcpserver.New(newAsker(ask), nil), allCaps)
		p.send(reply(messages(t, p.call(askCall), 1)[0], `{"action":"decline"}`))
		p.send(reply(messages(t, p.received(), 1)[0], `{"roots":[]}`))
		if got := textOf(t, messages(t, p.received(), 1)[0]); got != `{"action":"decline"}{"roots":[]}` {
			t.Errorf("the source got %q", got)
		}
	})
}

// Over HTTP, a question is sent on the response to its request, not on the stream for
// changes.
func TestAskOnTheRequestsOwnStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, httpTransport, mcp.Version20251125, mcpserver.New(newAsker(askName), nil), allCaps)
		p.listen()
		asked := messages(t, p.call(askCall), 1)[0]
		if got := p.heard(); got != "" {
			t.Errorf("heard %s on the GET stream", got)
		}
		p.send(reply(asked, `{"action":"cancel"}`))
		messages(t, p.received(), 1)
	})
}

// If the client cannot be asked, the question fails immediately.
func TestAskNobody(t *testing.T) {
	if s, err := askRoots(t.Context(), nil); err == nil {
		t.Errorf("a source that is called directly got %q", s)
	}
	addr := serveHTTP(t, newAsker(askRoots), nil)
	if got := post(askCall).do(t, addr); !strings.Contains(got.result, "names no session") {
		t.Errorf("without a session: %s", got.body)
	}
	begin := strings.Replace(initRequest, `"capabilities":{}`, `"capabilities":`+allCaps, 1)
	session := post(begin).do(t, addr).header.Get("Mcp-Session-Id")
	got := post(askCall, "Accept: application/json", "Mcp-Session-Id: "+session).do(t, addr)
	if !strings.Contains(got.result, "needs a session and an event stream") {
		t.Errorf("a client that takes no event stream: %s", got.body)
	}
}

// Responses that do not belong to a question are dropped.
func TestAskStrayResponses(t *testing.T) {
	onTransports(t, func(t *testing.T, transport string) {
		p := connect(t, transport, mcp.Version20250618, mcpserver.New(newAsker(askRoots), nil), allCaps)
		asked := messages(t, p.call(askCall), 1)[0]
		for _, stray := range []string{
			`{"jsonrpc":"2.0","id":77,"result":{"roots":[]}}`,
			fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s","result":{"roots":[]}}`, asked.ID),
			`{"jsonrpc":"2.0","id":-1,"result":{"roots":[]}}`,
			`{"jsonrpc":"2.0","error":{"code":-32700,"message":"?"}}`,
		} {
			if got := p.call(stray); got != "" {
				t.Errorf("%s led to %s", stray, got)
			}
		}
		p.send(reply(asked, `{"roots":[]}`))
		messages(t, p.received(), 1)
		if got := p.call(reply(asked, `{"roots":[]}`)); got != "" {
			t.Errorf("answering twice led to %s", got)
		}
	})
}

// Answers from another session are ignored.
func TestAskAnsweredByAnotherSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mcpserver.New(newAsker(askRoots), nil)
		mine := connect(t, httpTransport, mcp.Version20250618, server, allCaps)
		other := connect(t, httpTransport, mcp.Version20250618, server, allCaps)
		asked := messages(t, mine.call(askCall), 1)[0]
		other.send(reply(asked, `{"roots":[{"uri":"file:///theirs"}]}`))
		if got := mine.received() + other.received(); got != "" {
			t.Errorf("answered by another session: %s", got)
		}
		mine.send(reply(asked, `{"roots":[]}`))
		if got := textOf(t, messages(t, mine.received(), 1)[0]); got != "[]" {
			t.Errorf("the source got %q", got)
		}
	})
}

// A question ends when its request ends: with the session, on a timeout, or with the
// connection.
func TestAskEnds(t *testing.T) {
	asking := func() (ask askFunc, ended chan error) {
		ended = make(chan error, 1)
		return func(ctx context.Context, r *mcp.Request) (string, error) {
			_, err := r.Roots(ctx)
			ended <- err
			return "", err
		}, ended
	}
	synctest.Test(t, func(t *testing.T) { // the session
		ask, ended := asking()
		b := newBrowser(newAsker(ask), nil)
		session := b.post(t,
			strings.Replace(initRequest, `"capabilities":{}`, `"capabilities":`+allCaps, 1),
		).header.Get("Mcp-Session-Id")
		b.session = session
		answer := b.start(t, askCall)
		b.do(t, "DELETE", "")
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("after DELETE: %v", err)
		}
		<-answer
	})
	synctest.Test(t, func(t *testing.T) { // the time limit
		ask, ended := asking()
		p := connect(t, stdioTransport, mcp.Version20250618,
			mcpserver.New(newAsker(ask), &mcpserver.Options{RequestTimeout: time.Minute}), allCaps)
		p.call(askCall)
		if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the time limit: %v", err)
		}
		messages(t, p.received(), 1)
	})
	synctest.Test(t, func(t *testing.T) { // the source's own limit
		p := connect(t, stdioTransport, mcp.Version20250618, mcpserver.New(newAsker(
			func(ctx context.Context, r *mcp.Request) (string, error) {
				ctx, stop := context.WithTimeout(ctx, time.Second)
				defer stop()
				return askRoots(ctx, r)
			},
		), nil), allCaps)
		p.call(askCall)
		time.Sleep(time.Second)
		got := messages(t, p.received(), 2)
		if string(got[0].Params) != `{"requestId":1}` ||
			!strings.Contains(string(got[1].Result), "context deadline exceeded") {
			t.Errorf("said %s and answered %s%v, want the question cancelled first", got[0].Params, got[1].Result,
				got[1].Error)
		}
	})
}

// Prompts and resources may ask, too.
func TestAskFromPromptsAndResources(t *testing.T) {
	for _, request := range []string{
		`{"jsonrpc":"2.0","id":"c1","method":"prompts/get","params":{"name":"ask"}}`,
		`{"jsonrpc":"2.0","id":"c1","method":"resources/read","params":{"uri":"ask://it"}}`,
	} {
		onTransports(t, func(t *testing.T, transport string) {
			p := connect(t, transport, mcp.Version20250326, mcpserver.New(newAsker(askRoots), nil), allCaps)
			p.send(reply(messages(t, p.call(request), 1)[0], `{"roots":[{"uri":"file:///x"}]}`))
			if got := messages(t, p.received(), 1)[0]; !strings.Contains(string(got.Result), "file:///x") {
				t.Errorf("answered %s%v", got.Result, got.Error)
			}
		})
	}
}

// TestQuestionWithoutRoom guards requests that ask while the memory for messages is full: the question is not sent,
// so nothing would ever answer it.
func TestQuestionWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed error
		source := newAsker(func(ctx context.Context, r *mcp.Request) (string, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			_, failed = r.Elicit(ctx, &mcp.ElicitParams{
				Message: strings.Repeat("x", 20<<10), RequestedSchema: json.RawMessage(nameForm),
			})
			return "", failed
		})
		// The body uses more than half of the memory, and so more than the share of its client.
		b := newBrowser(source, &mcpserver.Options{Budget: mcpserver.Budget{RequestBytes: 200 << 10}})
		init := b.post(t, strings.Replace(initRequest, `"capabilities":{}`, `"capabilities":`+allCaps, 1))
		b.session = init.header.Get("Mcp-Session-Id")
		b.post(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"a":%q}}}`,
			strings.Repeat("x", 110<<10)))
		var e *mcp.Error
		if !errors.As(failed, &e) || e.Code != mcp.CodeToolBusy {
			t.Errorf("the question ends with %v, want that there is no room", failed)
		}
	})
}

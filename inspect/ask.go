package inspect

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// question is a question of a server that waits for the user of the page.
type question struct {
	// ID numbers the questions of all sources, and Call is the page's call that it belongs
	// to, or 0.
	ID     int    `json:"id"`
	Source int    `json:"src"`
	Call   int    `json:"call,omitempty"`
	Method string `json:"method"`
	// Mode is "form" or "url", for an elicitation.
	Mode string `json:"mode,omitempty"`
	// Params are as received; Form is what the page shows for a schema in them.
	Params json.RawMessage `json:"params,omitempty"`
	Form   *schema.Form    `json:"form,omitempty"`
	Since  int64           `json:"since"`

	// answer receives the outcome once.
	answer chan questionAnswer // capacity 1
}

// questionAnswer is the outcome of a question to the user of the page.
type questionAnswer struct {
	// result is what the user has entered, or err why there is none.
	result json.RawMessage
	err    error
}

// askList is the open questions.
type askList struct {
	mu   sync.Mutex
	next int
	// open are the questions that wait for the user.
	open map[int]*question
}

func newAskList() *askList { return &askList{open: make(map[int]*question)} }

// list returns the open questions, oldest first.
func (l *askList) list() []*question {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := []*question{}
	for _, q := range l.open {
		list = append(list, q)
	}
	slices.SortFunc(list, func(a, b *question) int { return a.ID - b.ID })
	return list
}

// add gives a question its number and lists it as open.
func (l *askList) add(q *question) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	q.ID = l.next
	l.open[q.ID] = q
}

// take removes an open question.
func (l *askList) take(id int) *question {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.open[id]
	delete(l.open, id)
	return q
}

// get returns an open question, or nil if it does not exist or was answered.
func (l *askList) get(id int) *question {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[id]
}

// ask shows a question of a server on the page, and waits for the answer. Meanwhile, the time of its
// call does not run, or of all calls of the source if it belongs to none.
func (in *Inspector) ask(
	ctx context.Context, t *target, method string, params json.RawMessage,
) (json.RawMessage, error) {
	q := &question{
		Source: t.id,
		Call:   in.calls.notifying(client.NotifyFrom(ctx)),
		Method: method,
		Params: slices.Clone(params),
		Since:  time.Now().UnixNano(),
		answer: make(chan questionAnswer, 1),
	}
	if method == "elicitation/create" {
		q.Mode = "form"
		if mode, ok := jsonscan.Unquote(jsonscan.Member(params, "mode")); ok {
			q.Mode = mode
		}
		if requested := jsonscan.Member(params, "requestedSchema"); requested != nil {
			q.Form, _ = schema.NewForm(slices.Clone(requested), nil) // without a form, the page offers JSON
		}
	}
	for _, limit := range in.calls.limits(t.id, q.Call) {
		defer limit.pause()()
	}
	in.asks.add(q)
	in.feed.after(func() { in.publish("ask", q) })
	by := "end"
	defer func() {
		in.asks.take(q.ID)
		in.publish("answered", map[string]any{
			"ask": q.ID,
			"by":  by,
		})
	}()
	select {
	case a := <-q.answer:
		by = "user"
		return a.result, a.err
	case <-ctx.Done():
		by = "server"
		return nil, ctx.Err()
	case <-in.quit.Done():
		return nil, context.Canceled
	}
}

// serveAnswer serves POST api/answer.
func (in *Inspector) serveAnswer(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Ask     int             `json:"ask"`
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
		Result  json.RawMessage `json:"result"`
		Refuse  *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"refuse"`
	}
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	var a questionAnswer
	switch {
	case body.Refuse != nil:
		a.err = &mcp.Error{
			Code:    mcp.Code(body.Refuse.Code),
			Message: body.Refuse.Message,
		}
	case jsonscan.IsObject(body.Result):
		a.result = body.Result
	case body.Action == "accept" && jsonscan.IsObject(body.Content):
		a.result = mustJSON(map[string]any{
			"action":  body.Action,
			"content": body.Content,
		})
	case slices.Contains([]string{"accept", "decline", "cancel"}, body.Action):
		a.result = mustJSON(map[string]string{"action": body.Action})
	default:
		return badRequest("an answer has an action (accept, decline or cancel), a result or a refusal")
	}
	// The answer is valid. Of two pages that answer, the first to take the question does.
	q := in.asks.take(body.Ask)
	if q == nil {
		return notFound("question %d is no longer open", body.Ask)
	}
	q.answer <- a
	return done(w)
}

package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// contactForm has every kind of field that is possible in a form.
const contactForm = `{"type":"object","properties":{` +
	`"name":{"type":"string","minLength":2},"mail":{"type":"string","format":"email"},"born":{"type":"string",` +
	`"format":"date"},` +
	`"age":{"type":"integer","minimum":0},"plan":{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b",` +
	`"title":"B"}]},` +
	`"tags":{"type":"array","items":{"type":"string","enum":["x","y"]}}},"required":["name"]}`

func askContact(ctx context.Context, r *mcp.Request) (string, error) {
	return answerTo(ctx, r, &mcp.ElicitParams{Message: "who?", RequestedSchema: json.RawMessage(contactForm)})
}

// askRelayed asks like a Source that forwards questions between two servers.
func askRelayed(ctx context.Context, r *mcp.Request) (string, error) {
	q, err := server.Forward("", "elicitation/create",
		json.RawMessage(`{"x-more":1.0,"message":"who?","requestedSchema":`+contactForm+`}`))
	if err != nil {
		return "", err
	}
	return answerTo(ctx, r, q)
}

func answerTo(ctx context.Context, r *mcp.Request, q mcp.Question) (string, error) {
	answers, err := r.Ask(ctx, q)
	if err != nil {
		return "", err
	}
	return string(answers[0]), nil
}

// wrongForms are answers that do not match requestedSchema, and the explanations shown to
// the user.
var wrongForms = []struct{ name, content, why string }{
	{"required field missing", `{}`, "name: required"},
	{"wrong type", `{"name":5}`, "name: must be a string (got 5)"},
	{"too short", `{"name":"A"}`, "name: must have at least 2 characters"},
	{"not a mail address", `{"name":"Ann","mail":"nowhere"}`, "mail: must be an email address"},
	{"not a date", `{"name":"Ann","born":"31/12/1999"}`, "born: must be a date such as"},
	{"not an integer", `{"name":"Ann","age":1.5}`, "age: must be an integer"},
	{"out of range", `{"name":"Ann","age":-1}`, "age: must be"},
	{"not a choice", `{"name":"Ann","plan":"c"}`, "plan: must be"},
	{"not a choice of several", `{"name":"Ann","tags":["x","z"]}`, "tags[1]: must be one of"},
}

// A form that does not match requestedSchema is never passed to the source: the user is
// asked again, with the reason, and a correct answer is then accepted.
func TestWrongFormIsAskedAgain(t *testing.T) {
	const right = `{"action":"accept","content":{"name":"Ann","mail":"ann@example.com","born":"1999-12-31",` +
		`"age":1e1,"plan":"b","tags":["y"]}}`
	for _, asker := range []struct {
		name string
		ask  askFunc
	}{{"own", askContact}, {"relayed", askRelayed}} {
		for _, c := range wrongForms {
			wrong := `{"action":"accept","content":` + c.content + `}`
			t.Run(asker.name+"/"+c.name+"/legacy", func(t *testing.T) {
				onTransports(t, func(t *testing.T, transport string) {
					p := connect(t, transport, mcp.Version20251125, server.New(newAsker(asker.ask), nil), allCaps)
					asked := messages(t, p.call(askCall), 1)[0]
					p.send(reply(asked, wrong))
					again := messages(t, p.received(), 1)[0]
					if again.Method != "elicitation/create" ||
						!strings.Contains(string(again.Params), "not accepted: "+strings.ReplaceAll(c.why, `"`, `\"`)) {
						t.Fatalf("after a wrong answer came %s %s, want the question again with %q", again.Method,
							again.Params, c.why)
					}
					p.send(reply(again, right))
					if got := textOf(t, messages(t, p.received(), 1)[0]); got != right {
						t.Errorf("the source got %q, want %q", got, right)
					}
				})
			})
			t.Run(asker.name+"/"+c.name+"/modern", func(t *testing.T) {
				onTransports(t, func(t *testing.T, transport string) {
					p := connectModern(t, transport, asker.ask, nil)
					r := p.round("tools/call", askTool, "", "")
					r = p.round("tools/call", askTool, `{"input-1":`+wrong+`}`, r.State)
					if r.keys() != "asks input-1" ||
						!strings.Contains(string(r.Requests["input-1"]), "not accepted: "+strings.ReplaceAll(c.why, `"`,
							`\"`)) {
						t.Fatalf("after a wrong answer: %s, want the question again with %q", r.raw, c.why)
					}
					if r = p.round("tools/call", askTool, `{"input-1":`+right+`}`, r.State); r.text != right {
						t.Errorf("the source got %q, want %q", r.raw, right)
					}
				})
			})
		}
	}
}

// The user may decline, and a URL has no form.
func TestFormsThatNeedNoContent(t *testing.T) {
	for _, action := range []string{"decline", "cancel"} {
		answer := `{"action":"` + action + `","content":{}}`
		synctest.Test(t, func(t *testing.T) {
			p := connectModern(t, httpTransport, askContact, nil)
			if got := p.round("tools/call", askTool, `{"input-1":`+answer+`}`, "").text; got != answer {
				t.Errorf("%s: %s", action, got)
			}
		})
	}
}

// After three wrong answers the question fails. The error contains the names of the
// fields, but not the user's values, which the model must not see.
func TestWrongFormFails(t *testing.T) {
	const secret = "s3cret-words"
	wrong := fmt.Sprintf(`{"action":"accept","content":{"name":7,"mail":%q}}`, secret)
	check := func(t *testing.T, got string) {
		t.Helper()
		if !strings.Contains(got, "does not match requestedSchema, after 3 attempts") ||
			!strings.Contains(got, "name") ||
			strings.Contains(got, secret) {
			t.Errorf("after three wrong answers: %s", got)
		}
	}
	t.Run("legacy", func(t *testing.T) {
		onTransports(t, func(t *testing.T, transport string) {
			p := connect(t, transport, mcp.Version20251125, server.New(newAsker(askContact), nil), allCaps)
			asked := messages(t, p.call(askCall), 1)[0]
			for range 2 {
				p.send(reply(asked, wrong))
				asked = messages(t, p.received(), 1)[0]
			}
			p.send(reply(asked, wrong))
			check(t, textOf(t, messages(t, p.received(), 1)[0]))
		})
	})
	t.Run("modern", func(t *testing.T) {
		onTransports(t, func(t *testing.T, transport string) {
			p := connectModern(t, transport, askContact, nil)
			r := p.round("tools/call", askTool, "", "")
			for range 2 {
				if r = p.round("tools/call", askTool, `{"input-1":`+wrong+`}`, r.State); r.keys() != "asks input-1" {
					t.Fatalf("ended early: %s", r.raw)
				}
			}
			check(t, p.round("tools/call", askTool, `{"input-1":`+wrong+`}`, r.State).raw)
		})
	})
	t.Run("task", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := &worker{work: func(ctx context.Context) (*mcp.CallToolResult, error) {
				s, err := askContact(ctx, mcp.RequestFrom(ctx))
				return text(s), err
			}}
			p := connectWorker(t, httpTransport, w, nil)
			id := p.begin().ID
			synctest.Wait()
			for attempt := range 3 {
				asked := p.get(id)
				if len(asked.Requests) != 1 ||
					strings.Contains(string(asked.Requests["input-1"].Params), "not accepted") != (attempt > 0) {
					t.Fatalf("attempt %d: %s asks %s", attempt, asked.Status, asked.Requests["input-1"].Params)
				}
				p.wantAck("tasks/update", id, `"inputResponses":{"input-1":`+wrong+`}`)
				synctest.Wait()
			}
			check(t, string(p.get(id).Result))
		})
	})
}

// An invalid schema fails before the user sees the form. One from another server is
// passed on, and that server checks the answers.
func TestFormThatIsNoSchema(t *testing.T) {
	const broken = `{"type":"object","properties":{"name":{"type":"string","minLength":-1}}}`
	own := func(ctx context.Context, r *mcp.Request) (string, error) {
		return answerTo(ctx, r, &mcp.ElicitParams{Message: "who?", RequestedSchema: json.RawMessage(broken)})
	}
	relayed := func(ctx context.Context, r *mcp.Request) (string, error) {
		q, err := server.Forward("", "elicitation/create",
			json.RawMessage(`{"message":"who?","requestedSchema":`+broken+`}`))
		if err != nil {
			return "", err
		}
		return answerTo(ctx, r, q)
	}
	synctest.Test(t, func(t *testing.T) {
		if got := connectModern(t, httpTransport, own, nil).
			round("tools/call", askTool, "", ""); !strings.Contains(got.text, "requestedSchema: ") {
			t.Errorf("own: %s", got.raw)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p := connectModern(t, httpTransport, relayed, nil)
		r := p.round("tools/call", askTool, "", "")
		if r = p.round("tools/call", askTool, `{"input-1":`+accept+`}`, r.State); r.text != accept {
			t.Errorf("relayed: %s", r.raw)
		}
	})
}

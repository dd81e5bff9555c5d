package mcplog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// vault is a source whose answers contain secrets.
type vault struct {
	library
	secret, password, note string
	asked                  []string // the arguments of calls
}

func (v *vault) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	v.asked = append(v.asked, p.Name+" "+string(p.Arguments))
	result := &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("the key of " + p.Name + " is " + v.secret + ".")}}
	if p.Name == "find" {
		result.StructuredContent, _ = mcp.Marshal(map[string]any{"pin": v.secret, "all": []string{v.password, v.note}})
	}
	return result, nil
}

// TestReplayRedacts replays recordings without secrets on servers with them: the same ones, others
// that no scanner knows, and more of them.
func TestReplayRedacts(t *testing.T) {
	opts := &mcplog.WriterOptions{
		Environment: []string{"MAIL_PASSWORD=correct horse"},
		Redact:      []string{"$.params.arguments.pin", "$.result.content.*.text", "$.result.structuredContent.pin"},
	}
	first := &vault{secret: "first-9876", password: "correct horse"}
	text := recordOf(t, first, false, opts, func(src *client.Source) {
		for _, call := range [][2]string{{"find", `{"word":"a"}`}, {"find", `{"pin":1234}`}, {"next", `{}`}} {
			_, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: call[0], Arguments: json.RawMessage(call[1])})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	rec := readRecording(t, text)
	old := readRecording(t, text) // of a time before the paths were recorded
	old.Header.Redact = nil
	for name, c := range map[string]struct {
		rec         *mcplog.Recording
		src         *vault
		environment []string
		want        []string
	}{
		"the same server":              {rec, &vault{secret: "first-9876", password: "correct horse"}, opts.Environment, nil},
		"other secrets":                {rec, &vault{secret: "other-9876", password: "battery"}, nil, nil},
		"other secrets, without paths": {old, &vault{secret: "other-9876", password: "battery"}, nil, nil},
		"a new place": {
			rec, &vault{secret: "first-9876", password: "correct horse", note: "now correct horse"}, opts.Environment,
			[]string{`find/structuredContent/all/1: "" -> "now [redacted]"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.src.asked = nil
			outcomes, err := mcplog.Replay(t.Context(), c.rec, c.src, &mcplog.ReplayOptions{Environment: c.environment})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range outcomes {
				for _, d := range o.Differences {
					got = append(got, fmt.Sprintf("%s%s: %s -> %s", o.Name, d.Pointer, d.Before, d.After))
				}
				if o.Skipped != "" {
					got = append(got, o.Name+": "+o.Skipped)
				}
			}
			want := append(c.want, "find: "+mcplog.RedactedArguments)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff([]string{`find {"word":"a"}`, `next {}`}, c.src.asked); diff != "" {
				t.Errorf("calls (-want +got)\n%s", diff)
			}
		})
	}
}

// TestReplayHides verifies that a value which differs from a redacted one is not shown.
func TestReplayHides(t *testing.T) {
	opts := &mcplog.WriterOptions{Redact: []string{"$.result.content.*.text"}}
	text := recordOf(t, &vault{secret: "first-9876"}, false, opts, func(src *client.Source) {
		if _, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: "next"}); err != nil {
			t.Fatal(err)
		}
	})
	rec := readRecording(t, text)
	for _, paths := range [][]string{rec.Header.Redact, nil} {
		rec.Header.Redact = paths
		outcomes, err := mcplog.Replay(t.Context(), rec, &longer{vault{secret: "other-9876"}, "and other-9876"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		shown, _ := json.Marshal(outcomes)
		differ := 0
		for _, o := range outcomes {
			differ += len(o.Differences)
		}
		if strings.Contains(string(shown), "9876") || differ != 1 {
			t.Errorf("paths %q: %s", paths, shown)
		}
	}
}

// TestReplayAdditional verifies that an additional element of an array is shown, unless it may be a
// redacted one that moved.
func TestReplayAdditional(t *testing.T) {
	opts := &mcplog.WriterOptions{Environment: []string{"MAIL_PASSWORD=first-9876"}}
	text := recordOf(t, &vault{secret: "first-9876"}, false, opts, func(src *client.Source) {
		if _, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: "next"}); err != nil {
			t.Fatal(err)
		}
	})
	for more, want := range map[string]string{
		"a note":                       "a note",
		"the key of next is new-9876.": "[redacted]",
	} {
		src := &longer{vault{secret: "other-9876"}, more}
		outcomes, err := mcplog.Replay(t.Context(), readRecording(t, text), src, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []mcplog.Difference
		for _, o := range outcomes {
			got = append(got, o.Differences...)
		}
		if len(got) != 1 || got[0].Pointer != "/content/1" || got[0].Before != nil ||
			!strings.Contains(string(got[0].After), want) {
			t.Errorf("%s: %v, want %s at /content/1", more, got, want)
		}
	}
}

// longer is a vault with one more text in each answer.
type longer struct {
	vault
	more string
}

func (l *longer) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	result, err := l.vault.CallTool(ctx, p)
	result.Content = append(result.Content, mcp.Text(l.more))
	return result, err
}

// asker asks for a password before it answers.
type asker struct {
	library
	got string
}

func (a *asker) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	answer, err := mcp.RequestFrom(ctx).Elicit(ctx, &mcp.ElicitParams{
		Message:         "password",
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"password":{"type":"string"}}}`),
	})
	if err != nil {
		return nil, err
	}
	a.got = string(answer.Content)
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("thanks")}}, nil
}

// TestReplayRedactedAnswer verifies that [redacted] is no answer to a question of the server.
func TestReplayRedactedAnswer(t *testing.T) {
	var text bytes.Buffer
	w, err := mcplog.NewWriter(&text, &mcplog.Header{}, &mcplog.WriterOptions{
		Redact: []string{"$.result.content.password"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct {
		sent bool
		body string
	}{
		{false, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
			`"capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`},
		{true, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{false, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"find","arguments":{}}}`},
		{true, `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"password",` +
			`"requestedSchema":{"type":"object","properties":{"password":{"type":"string"}}}}}`},
		{false, `{"jsonrpc":"2.0","id":"q","result":{"action":"accept","content":{"password":"xyz"}}}`},
		{true, `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"thanks"}]}}`},
	} {
		w.Tap(0)(&tap.Event{
			Kind: tap.Message,
			Sent: m.sent,
			Body: []byte(m.body),
		})
	}
	src := &asker{}
	outcomes, err := mcplog.Replay(t.Context(), readRecording(t, text.Bytes()), src, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(outcomes) != 1 || outcomes[0].Skipped != mcplog.RedactedAnswer || outcomes[0].Differences != nil {
		t.Errorf("outcomes %+v", outcomes)
	}
	if src.got != "" {
		t.Errorf("the answer was %s", src.got)
	}
}

// silent is a source that never answers some calls.
type silent struct{ library }

func (s *silent) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if p.Name == "find" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.library.CallTool(ctx, p)
}

// TestReplayMissing verifies that a replay continues after an answer that does not come.
func TestReplayMissing(t *testing.T) {
	text := record(t, false, nil, func(src *client.Source) { ask(t, src) })
	rec := readRecording(t, text)
	synctest.Test(t, func(t *testing.T) {
		var done int
		outcomes, err := mcplog.Replay(t.Context(), rec, &silent{library{edition: "first"}}, &mcplog.ReplayOptions{
			Timeout: time.Second,
			Done:    func(*mcplog.Outcome) { done++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		var missing, answered []string
		for _, o := range outcomes {
			switch {
			case o.Error != "":
				missing = append(missing, o.Name+": "+o.Error)
			case o.Skipped == "":
				answered = append(answered, strings.TrimSpace(o.Method+" "+o.Name))
			}
			if len(o.Differences) > 0 {
				t.Errorf("%s: %v", o.Name, o.Differences)
			}
		}
		if diff := cmp.Diff(slices.Repeat([]string{"find: no response within 1s"}, 2), missing); diff != "" {
			t.Errorf("missing (-want +got)\n%s", diff)
		}
		want := []string{
			"tools/list", "resources/list", "resources/templates/list",
			"tools/call next", "tools/call next", "resources/read book://2",
		}
		if diff := cmp.Diff(want, answered); diff != "" || done != len(outcomes) {
			t.Errorf("%d of %d reported, answered (-want +got)\n%s", done, len(outcomes), diff)
		}
	})
}

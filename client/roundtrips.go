package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// A server of 2026-07-28 asks in its response, and expects a retry of the request with
// the input (multi round-trip requests). A client of 2026-07-28 is asked in the same way:
// the server's state travels with it, sealed by our own server. An earlier client is
// asked while its request waits.

// roundState is the state between two rounds. It travels with a 2026-07-28 client.
type roundState struct {
	// Parked is the ticket of a call to an earlier server that waits for answers.
	Parked string `json:"parked,omitempty"`

	// For a 2026-07-28 server: its state, and its questions.
	Round int                        `json:"round,omitempty"`
	State json.RawMessage            `json:"state,omitempty"`
	Asked map[string]json.RawMessage `json:"asked,omitempty"` // {method, params} by the server's key
}

// maxRounds limits the rounds of one request.
const maxRounds = 20

// loadRoundState returns what an earlier round of the request has stored, or an empty
// state in the first.
func loadRoundState(req *mcp.Request) (*roundState, error) {
	b := &roundState{}
	raw, err := req.State()
	if err != nil || raw == nil {
		return b, err
	}
	return b, json.Unmarshal(raw, b)
}

// rounds repeats a request to a 2026-07-28 server until it has no more questions.
func (ses *session) rounds(ctx context.Context, e *errand, req *mcp.Request) ([]byte, error) {
	b, err := loadRoundState(req)
	if err != nil {
		return nil, err
	}
	for {
		var extra []byte
		if b.Round > 0 {
			if extra, err = ses.ask(ctx, req, b); err != nil {
				return nil, err
			}
		}
		result, err := ses.once(ctx, e, req, extra)
		if err != nil || !needsInput(result) {
			return result, err
		}
		if b.Round++; b.Round > maxRounds {
			return nil, mcp.Errorf(e.unavailable,
				"the server asks for input more than %d times", maxRounds)
		}
		b.State = bytes.Clone(jsonscan.Member(result, "requestState"))
		b.Asked = nil
		if asked := jsonscan.Member(result, "inputRequests"); asked != nil {
			if err := json.Unmarshal(asked, &b.Asked); err != nil {
				return nil, fmt.Errorf("the server's questions: %w", err)
			}
		}
	}
}

// needsInput reports whether a result asks for input.
func needsInput(result []byte) bool {
	return bytes.Contains(result, []byte(`"input_required"`)) &&
		memberString(result, "resultType") == "input_required"
}

// ask asks the client the server's questions, and returns the members to add to the
// params of the next round.
func (ses *session) ask(ctx context.Context, req *mcp.Request, b *roundState) ([]byte, error) {
	keys := slices.Sorted(maps.Keys(b.Asked))
	answers, err := ses.answers(ctx, req, b, keys)
	if errors.Is(err, mcp.ErrInputRequired) {
		state, encodeErr := mcp.Marshal(b)
		if encodeErr != nil {
			return nil, encodeErr
		}
		req.SetState(state)
	}
	if err != nil {
		return nil, err
	}
	var extra []byte
	if len(keys) > 0 {
		extra = append(extra, `"inputResponses":{`...)
		for i, key := range keys {
			if i > 0 {
				extra = append(extra, ',')
			}
			extra = append(append(jsonscan.AppendQuote(extra, key), ':'), answers[i]...)
		}
		extra = append(extra, '}', ',')
	}
	if b.State != nil {
		extra = append(append(append(extra, `"requestState":`...), b.State...), ',')
	}
	return extra, nil
}

// answers returns the answers to the server's questions in the order of keys: from the
// program if it made the request, otherwise from the client. It returns an error that
// makes the client retry if some are missing.
func (ses *session) answers(
	ctx context.Context,
	req *mcp.Request,
	b *roundState,
	keys []string,
) ([]json.RawMessage, error) {
	questions := make([]mcp.Question, len(keys))
	answers := make([]json.RawMessage, len(keys))
	for i, key := range keys {
		method := memberString(b.Asked[key], "method")
		params := jsonscan.Member(b.Asked[key], "params")
		if req == nil && ses.src.opts.Questions.Answer != nil {
			var err error
			if answers[i], err = ses.src.answerByProgram(ctx, method, params); err != nil {
				return nil, err
			}
			continue
		}
		// The server may reuse a key. For our client it is another question.
		ours := key
		if b.Round > 1 {
			ours = fmt.Sprintf("%s~%d", key, b.Round)
		}
		var err error
		if questions[i], err = server.Forward(ours, method, params); err != nil {
			return nil, fmt.Errorf("the server's question %q: %w", key, err)
		}
	}
	if req == nil && ses.src.opts.Questions.Answer != nil || len(keys) == 0 {
		return answers, nil
	}
	return req.Ask(ctx, questions...)
}

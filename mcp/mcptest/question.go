package mcptest

import (
	"encoding/json"
	"errors"

	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/mcp"
)

// answer answers a request from the server, up to 2025-11-25.
func (c *Client) answer(m message) {
	result, err := c.ask(string(m.Method), json.RawMessage(m.Params))
	var reply []byte
	var e *mcp.Error
	switch {
	case err == nil:
		encoded, err := mcp.Marshal(result)
		if err != nil {
			c.tb.Errorf("answer %s: %v", m.Method, err)
			return
		}
		reply = peer.Result(m.ID, encoded)
	case errors.As(err, &e):
		reply = peer.Failure(m.ID, int(e.Code), e.Message)
	default:
		reply = peer.Failure(m.ID, int(mcp.CodeInternalError), err.Error())
	}
	if _, err = c.link.send(reply, c.versionHeader("")); err != nil && !isClosed(err) {
		c.tb.Errorf("answer %s: %v", m.Method, err)
	}
}

// ask passes a request from the server to the test.
func (c *Client) ask(method string, params json.RawMessage) (any, error) {
	if method == "ping" {
		return struct{}{}, nil
	}
	if c.opts.Answer == nil {
		return nil, mcp.Errorf(mcp.CodeMethodNotFound, "method %q not found", method)
	}
	return c.opts.Answer(method, params)
}

// answerRound answers the questions in a result, and adds the answers to the members of
// the request to be repeated. more is false if the result is final.
func (c *Client) answerRound(result json.RawMessage, members map[string]json.RawMessage) (more bool, err error) {
	var round struct {
		ResultType    string `json:"resultType"`
		InputRequests map[string]struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		} `json:"inputRequests"`
		RequestState json.RawMessage `json:"requestState"`
	}
	if err := json.Unmarshal(result, &round); err != nil || round.ResultType != "input_required" {
		return false, err
	}
	answers := make(map[string]any)
	for key, q := range round.InputRequests {
		if answers[key], err = c.ask(q.Method, q.Params); err != nil {
			return false, err
		}
	}
	encoded, err := mcp.Marshal(answers)
	if err != nil {
		return false, err
	}
	members["inputResponses"] = encoded
	delete(members, "requestState")
	if round.RequestState != nil {
		members["requestState"] = round.RequestState
	}
	return true, nil
}

package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/mcp"
)

// answerOf returns the result or error of a response.
func answerOf(m *peer.Message) (result []byte, err error) {
	if m.Failure != nil {
		return nil, wireError(m.Failure)
	}
	if m.Result == nil || m.Result[0] != '{' {
		return nil, errors.New("the server's answer has neither a result object nor an error")
	}
	return m.Result, nil
}

// wireError converts a JSON-RPC error object to an [*mcp.Error].
func wireError(raw []byte) error {
	var e peer.Error
	if json.Unmarshal(raw, &e) != nil {
		return fmt.Errorf("the server answered with an error of another form than JSON-RPC's: %s", truncate(string(raw), 200))
	}
	code, err := strconv.Atoi(string(e.Code))
	if err != nil {
		code = int(mcp.CodeInternalError)
	}
	if e.Message == "" {
		e.Message = "the server gave no reason"
	}
	return &mcp.Error{
		Code:    mcp.Code(code),
		Message: e.Message,
		Data:    e.Data,
	}
}

// memberString returns the string member with that name, or "".
func memberString(raw []byte, name string) string {
	s, _ := jsonscan.Unquote(jsonscan.Member(raw, name))
	return s
}

// response returns the response to a request of the server.
func response(id, result []byte, err error) []byte {
	if err == nil {
		return peer.Result(id, result)
	}
	var e *mcp.Error
	code := mcp.CodeInternalError
	if errors.As(err, &e) {
		code = e.Code
	}
	return peer.Failure(id, int(code), err.Error())
}

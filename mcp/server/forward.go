package server

import (
	"encoding/json"
	"strconv"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// ForwardProgress is [mcp.Request.Progress] for a progress notification from another server.
// params are those of its notifications/progress, a valid object. They are sent to the
// client unchanged, including unknown members, except that the token is replaced with the
// client's, and message is omitted in versions without it.
func (rc *request) ForwardProgress(params json.RawMessage) {
	progress, err := strconv.ParseFloat(string(jsonscan.Member(params, "progress")), 64)
	if err != nil {
		return
	}
	rc.notifyProgress(progress, func(dst []byte) ([]byte, bool) {
		return appendOthers(dst, params, func(key []byte) bool {
			return string(key) != "progressToken" &&
				(string(key) != "message" || rc.version >= mcp.Version20250326)
		})
	})
}

// appendOthers appends the members of a valid object that keep accepts, each preceded by
// a comma and without whitespace between tokens.
func appendOthers(dst []byte, object json.RawMessage, keep func(key []byte) bool) ([]byte, bool) {
	_, err := jsonscan.Object(object, jsonscan.Space(object, 0), 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.Value(object, i)
		if err == nil && keep(key) {
			dst = append(jsonscan.AppendQuote(append(dst, ','), key), ':')
			dst = jsonscan.AppendCompact(dst, object[i:end])
		}
		return end, err
	})
	return dst, err == nil
}

// ForwardLog is [mcp.Request.Log] for a log line of another server. params are those of its
// notifications/message, a valid object, and are sent to the client unchanged.
func (rc *request) ForwardLog(params json.RawMessage) {
	name, _ := jsonscan.Unquote(jsonscan.Member(params, "level"))
	level, known := mcp.ParseLogLevel(name)
	data := jsonscan.Member(params, "data")
	if !known || data == nil {
		if data == nil {
			data = json.RawMessage("null")
		}
		if !known {
			level = mcp.LogInfo
		}
		logger, _ := jsonscan.Unquote(jsonscan.Member(params, "logger"))
		rc.Log(level, logger, json.RawMessage(data))
		return
	}
	if !rc.wantsLog(level) {
		return
	}
	_ = rc.notify(func(dst []byte) ([]byte, bool) {
		dst = append(dst, `{"jsonrpc":"2.0","method":"notifications/message","params":`...)
		return append(jsonscan.AppendCompact(dst, params), '}'), true
	})
}

package freeze

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/slipway-mcp/slipway/staticmcp"
)

// maxLine is the longest line of a file with calls, in bytes.
const maxLine = 16 << 20

// ReadCalls reads calls, one JSON object per line:
//
//	{"tool":"get_item","arguments":{"id":1}}
//	{"uri":"doc://readme"}
//	{"prompt":"review","arguments":{"language":"go"}}
func ReadCalls(r io.Reader) ([]staticmcp.Question, error) {
	var list []staticmcp.Question
	err := eachLine(r, func(n int, line []byte) error {
		var q staticmcp.Question
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&q); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		given := 0
		for _, name := range []string{q.Tool, q.URI, q.Prompt} {
			if name != "" {
				given++
			}
		}
		if given != 1 {
			return fmt.Errorf("line %d: want one of tool, uri and prompt", n)
		}
		list = append(list, q)
		return nil
	})
	return list, err
}

// ReadTraffic extracts the requests of clients from a recording of JSON-RPC messages, one
// per line: either the message itself, or an object of the recorder that contains it as a
// member. Other JSON is ignored; a line that is not JSON is an error.
func ReadTraffic(r io.Reader) ([]staticmcp.Question, error) {
	var list []staticmcp.Question
	seen := make(map[string]bool)
	err := eachLine(r, func(n int, line []byte) error {
		if !json.Valid(line) {
			return fmt.Errorf("line %d: not JSON", n)
		}
		q, ok := asked(line, 0)
		if ok && !seen[keyOf(q)] {
			seen[keyOf(q)] = true
			list = append(list, q)
		}
		return nil
	})
	return list, err
}

// asked returns the question in a recorded message.
func asked(raw json.RawMessage, depth int) (q staticmcp.Question, ok bool) {
	var message struct {
		Method string `json:"method"`
		Params struct {
			Name      string          `json:"name"`
			URI       string          `json:"uri"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"params"`
	}
	if json.Unmarshal(raw, &message) == nil {
		p := message.Params
		switch message.Method {
		case "tools/call":
			return staticmcp.Question{
				Tool:      p.Name,
				Arguments: p.Arguments,
			}, p.Name != ""
		case "resources/read":
			return staticmcp.Question{URI: p.URI}, p.URI != ""
		case "prompts/get":
			return staticmcp.Question{
				Prompt:    p.Name,
				Arguments: p.Arguments,
			}, p.Name != ""
		}
	}
	const maxWrapped = 3
	if depth == maxWrapped {
		return q, false
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return asked(json.RawMessage(text), depth+1)
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return q, false
	}
	for _, name := range []string{"message", "msg", "request", "payload", "data", "body", "json"} {
		if inner, has := members[name]; has {
			if q, ok = asked(inner, depth+1); ok {
				return q, true
			}
		}
	}
	return q, false
}

// eachLine calls visit with each line that is not empty.
func eachLine(r io.Reader, visit func(n int, line []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			if err := visit(n, line); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("line %d: longer than %d bytes", n+1, maxLine)
	} else if err != nil {
		return err
	}
	return nil
}

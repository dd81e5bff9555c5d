package fix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/peer"
)

type result struct {
	ProtocolVersion string `json:"protocolVersion"`
	ResultType      string `json:"resultType"`
	IsError         bool   `json:"isError"`
	Content         []struct {
		Type, Text string
	} `json:"content"`
	Contents []struct {
		URI, Text string
	} `json:"contents"`
	Tools []Tool `json:"tools"`
}

// Check reports what is wrong with body as the answer to Body(id). The body is one
// JSON-RPC message, or an event stream with it.
func (w Workload) Check(body []byte, id int) error {
	res, err := decode(body, id)
	if err != nil {
		return err
	}
	if got := bytes.Count(body, []byte("notifications/progress")); got != w.Events {
		return fmt.Errorf("%d notifications of progress, want %d", got, w.Events)
	}
	if w.Version == Modern && res.ResultType != "complete" {
		return fmt.Errorf("resultType is %q, want complete", res.ResultType)
	}
	switch {
	case w.method == "tools/list":
		return checkTools(res.Tools, w.Tools)
	case w.method == "resources/read":
		if len(res.Contents) != 1 || res.Contents[0].URI != BlobURI ||
			res.Contents[0].Text != Text() {
			return fmt.Errorf("contents of %s are not the 10 KB text", BlobURI)
		}
	case w.target == Blob:
		return checkText(res, Text())
	default:
		return checkText(res, Message)
	}
	return nil
}

// Quick returns a check of bodies that is cheap enough for every answer of a run: the id
// and the text must be present as encoded by JSON, and no error. It is safe for
// concurrent use.
func (w Workload) Quick() func(body []byte, id int) error {
	text := Message
	if w.target == Blob {
		text = Text()
	}
	wanted := append([]byte(`"text":`), mustJSON(text)...)
	return func(body []byte, id int) error {
		var space [24]byte
		if !bytes.Contains(body,
			strconv.AppendInt(append(space[:0], `"id":`...), int64(id), 10)) {
			return fmt.Errorf("answer without the id %d: %.200s", id, body)
		}
		if !bytes.Contains(body, wanted) || bytes.Contains(body, []byte(`"isError":true`)) {
			return fmt.Errorf("answer without the text: %.200s", body)
		}
		return nil
	}
}

// CheckInit reports what is wrong with body as the answer to [InitBody]. A peer may
// answer with an older version of the protocol than requested.
func CheckInit(body []byte) error {
	res, err := decode(body, InitID)
	if err != nil {
		return err
	}
	if v := res.ProtocolVersion; v == "" || v > Legacy {
		return fmt.Errorf("protocolVersion is %q, want %q or older", v, Legacy)
	}
	return nil
}

// decode returns the result in an answer, which may be the last message of an event stream.
// It must have the id of the request.
func decode(body []byte, id int) (res result, err error) {
	var m peer.Message
	text := lastMessage(body)
	if err := m.Scan(text); err != nil {
		return res, fmt.Errorf("answer %.80q: %w", body, err)
	}
	switch version, _ := jsonscan.Unquote(jsonscan.Member(text, "jsonrpc")); {
	case version != "2.0" || string(m.ID) != fmt.Sprint(id):
		return res, fmt.Errorf("answer has jsonrpc %q and id %s, want 2.0 and %d",
			version, m.ID, id)
	case m.Failure != nil:
		return res, fmt.Errorf("answer is an error: %.200s", m.Failure)
	}
	if err := json.Unmarshal(m.Result, &res); err != nil {
		return res, fmt.Errorf("result %.80q: %w", m.Result, err)
	}
	return res, nil
}

// lastMessage returns the last message of an event stream, or body itself.
func lastMessage(body []byte) []byte {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return body
	}
	var data []byte
	for events := peer.NewEventReader(bytes.NewReader(body), len(body)+1); ; {
		ev, err := events.Next()
		if err != nil {
			return data
		}
		data = ev.Data
	}
}

// checkText reports a result that is not exactly one text block with the expected text.
func checkText(res result, want string) error {
	if res.IsError {
		return errors.New("the tool reports an error")
	}
	if len(res.Content) != 1 || res.Content[0].Type != "text" ||
		res.Content[0].Text != want {
		return fmt.Errorf("content is not one text of %d bytes with the expected words", len(want))
	}
	return nil
}

// checkTools verifies that got contains exactly the tools of NTOOLS=n, in any order:
// names, descriptions, and the number of properties.
func checkTools(got []Tool, n int) error {
	if len(got) != n {
		return fmt.Errorf("%d tools listed, want %d", len(got), n)
	}
	for _, want := range Tools(n) {
		i := slices.IndexFunc(got, func(t Tool) bool {
			return t.Name == want.Name
		})
		if i < 0 {
			return fmt.Errorf("tool %q is not listed", want.Name)
		}
		if got[i].Description != want.Description {
			return fmt.Errorf("tool %q has description %q", want.Name, got[i].Description)
		}
		if g, w := properties(got[i]), properties(want); g != w {
			return fmt.Errorf("tool %q has %d properties, want %d", want.Name, g, w)
		}
	}
	return nil
}

// properties returns how many arguments a tool declares, -1 if its schema is invalid.
func properties(t Tool) int {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(t.InputSchema, &schema) != nil {
		return -1
	}
	return len(schema.Properties)
}

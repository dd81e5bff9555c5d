package mcptest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/mcp"
)

// asMembers returns the encoded members of params, which must be an object or nil.
func asMembers(params any) (map[string]json.RawMessage, error) {
	encoded, err := mcp.Marshal(params)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &members); err != nil {
		return nil, fmt.Errorf("params must be an object: %w", err)
	}
	if members == nil {
		members = make(map[string]json.RawMessage)
	}
	return members, nil
}

// envelope encodes params with the fields that the version requires in every request.
func (c *Client) envelope(members map[string]json.RawMessage) (json.RawMessage, error) {
	if !c.version.Modern() {
		return mcp.Marshal(members)
	}
	meta := map[string]json.RawMessage{
		"io.modelcontextprotocol/protocolVersion":    json.RawMessage(`"` + c.version.String() + `"`),
		"io.modelcontextprotocol/clientCapabilities": c.opts.Capabilities,
		"io.modelcontextprotocol/clientInfo":         clientInfo,
	}
	if given, ok := members["_meta"]; ok {
		if err := json.Unmarshal(given, &meta); err != nil {
			return nil, fmt.Errorf("_meta must be an object: %w", err)
		}
	}
	encoded, err := mcp.Marshal(meta)
	if err != nil {
		return nil, err
	}
	members = maps.Clone(members)
	members["_meta"] = encoded
	return mcp.Marshal(members)
}

// namedBy is the member of the params that clients of 2026-07-28 repeat in Mcp-Name.
var namedBy = map[string]string{
	"tools/call":     "name",
	"prompts/get":    "name",
	"resources/read": "uri",
	"tasks/get":      "taskId",
	"tasks/update":   "taskId",
	"tasks/cancel":   "taskId",
}

// header returns the HTTP headers that the version requires for a message.
func (c *Client) header(method string, members map[string]json.RawMessage) (http.Header, error) {
	h := c.versionHeader(method)
	if !c.version.Modern() {
		return h, nil
	}
	h.Set("Mcp-Method", method)
	member, named := namedBy[method]
	if !named {
		return h, nil
	}
	name, _ := jsonscan.Unquote(members[member])
	h.Set("Mcp-Name", peer.HeaderValue(name))
	if method != "tools/call" {
		return h, nil
	}
	params, err := c.headerParams(name)
	for _, p := range params {
		if value, ok := p.Value(members["arguments"]); ok {
			h.Set(p.Name, peer.HeaderValue(value))
		}
	}
	return h, err
}

func (c *Client) versionHeader(method string) http.Header {
	h := make(http.Header)
	if c.version >= mcp.Version20250618 && method != "initialize" {
		h.Set("Mcp-Protocol-Version", c.version.String())
	}
	return h
}

// rawHeader returns the headers for a message that may be invalid.
func (c *Client) rawHeader(msg []byte) http.Header {
	var m struct {
		Method string                     `json:"method"`
		Params map[string]json.RawMessage `json:"params"`
	}
	if json.Unmarshal(msg, &m) != nil || m.Method == "" {
		return c.versionHeader("")
	}
	h, err := c.header(m.Method, m.Params)
	if err != nil {
		return c.versionHeader(m.Method)
	}
	return h
}

// memberText returns the string member of an object with that name, or "".
func memberText(object []byte, name string) string {
	text, _ := jsonscan.Unquote(jsonscan.Member(object, name))
	return text
}

// headerParams returns the arguments of a tool that 2026-07-28 clients repeat in a
// header, from its definition, which is requested once.
func (c *Client) headerParams(tool string) ([]mcp.HeaderParam, error) {
	if _, ok := c.link.(*httpLink); !ok {
		return nil, nil
	}
	c.mu.Lock()
	found, ok := c.params[tool]
	c.mu.Unlock()
	if ok {
		return found, nil
	}
	tools, err := list[mcp.Tool](c, "tools/list", "tools")
	if err != nil {
		return nil, fmt.Errorf("list the tools: %w", err)
	}
	for _, t := range tools {
		if t.Name == tool {
			found, _ = mcp.HeaderParams(t.InputSchema) // clients must not use an invalid one
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.params[tool] = found
	return found, nil
}

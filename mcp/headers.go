package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// The headers of Streamable HTTP, in the form that net/http uses for keys.
const (
	headerVersion     = "Mcp-Protocol-Version"
	headerMethod      = "Mcp-Method"
	headerName        = "Mcp-Name"
	headerParamPrefix = "Mcp-Param-"
	headerSession     = "Mcp-Session-Id"
)

func headerMismatch(format string, args ...any) *Error {
	e := Errorf(CodeHeaderMismatch, format, args...)
	e.status = http.StatusBadRequest
	return e
}

// first is header.Get for a key that is in canonical form already.
func first(h http.Header, key string) (value string, ok bool) {
	if values := h[key]; len(values) > 0 {
		return values[0], true
	}
	return "", false
}

func (rc *requestContext) checkVersionHeader(requested string) *Error {
	header, ok := first(rc.header, headerVersion)
	switch {
	case requested == "":
		return nil // reported as missing, whatever the header says
	case !ok:
		return headerMismatch("the MCP-Protocol-Version header is missing, want %q", requested)
	case header != requested:
		return headerMismatch("the MCP-Protocol-Version header says %q, the body %q", header, requested)
	}
	return nil
}

// checkMethodHeaders holds Mcp-Method and Mcp-Name against the body, so that
// what a proxy decides by the headers is what happens.
func (rc *requestContext) checkMethodHeaders() *Error {
	method, ok := first(rc.header, headerMethod)
	if !ok {
		return headerMismatch("the Mcp-Method header is missing, want %q", rc.msg.method)
	}
	if method != string(rc.msg.method) {
		return headerMismatch("the Mcp-Method header says %q, the body %q", method, rc.msg.method)
	}
	var raw []byte
	switch string(rc.msg.method) {
	case "tools/call", "prompts/get":
		raw = rc.msg.name
	case "resources/read":
		raw = rc.msg.uri
	default:
		return nil
	}
	want, ok := jsonscan.UnquoteBytes(raw)
	if !ok {
		return nil // the method itself reports the missing parameter
	}
	name, ok := first(rc.header, headerName)
	if !ok {
		return headerMismatch("the Mcp-Name header is missing, want %q", want)
	}
	if name != string(want) {
		if name, ok = decodeHeaderValue(name); !ok || name != string(want) {
			return headerMismatch("the Mcp-Name header differs from %q in the body", want)
		}
	}
	return nil
}

// decodeHeaderValue decodes the form =?base64?...?= for values that a header
// cannot hold as they are. Anything else stands for itself.
func decodeHeaderValue(value string) (decoded string, ok bool) {
	value = strings.Trim(value, " \t")
	body, found := strings.CutPrefix(value, "=?base64?")
	if !found {
		return value, true
	}
	if body, found = strings.CutSuffix(body, "?="); !found {
		return value, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(body)
	if err != nil || !utf8.Valid(b) || strings.ContainsAny(body, "\r\n") {
		return "", false
	}
	return string(b), true
}

// headerParam is a tool parameter that 2026-07-28 clients repeat in a header,
// because its schema says so by x-mcp-header.
type headerParam struct {
	path   []string // member names from the root of the arguments
	header string   // in canonical form
}

// schemaHeaderParams finds the annotated parameters of an input schema: strings,
// integers and booleans that can be reached through properties alone.
func schemaHeaderParams(schema json.RawMessage) []headerParam {
	if !bytes.Contains(schema, []byte(`x-mcp-header`)) {
		return nil
	}
	type node struct {
		Type       any                        `json:"type"`
		Header     string                     `json:"x-mcp-header"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var found []headerParam
	var walk func(raw json.RawMessage, path []string)
	walk = func(raw json.RawMessage, path []string) {
		var n node
		if json.Unmarshal(raw, &n) != nil || len(path) > jsonscan.MaxDepth {
			return
		}
		if n.Header != "" && (n.Type == "string" || n.Type == "integer" || n.Type == "boolean") {
			found = append(found, headerParam{path, http.CanonicalHeaderKey(headerParamPrefix + n.Header)})
		}
		for name, property := range n.Properties {
			walk(property, append(path[:len(path):len(path)], name))
		}
	}
	walk(schema, nil)
	return found
}

func (rc *requestContext) checkParamHeaders(params []headerParam, arguments []byte) *Error {
	for _, p := range params {
		value := arguments
		for _, name := range p.path {
			if !isObject(value) {
				value = nil
				break
			}
			value = member(value, name)
		}
		if string(value) == "null" {
			value = nil
		}
		header, ok := first(rc.header, p.header)
		where := strings.Join(p.path, ".")
		switch {
		case value == nil && !ok:
		case value == nil:
			return headerMismatch("the %s header is set, but the argument %s is not", p.header, where)
		case !ok:
			return headerMismatch("the %s header is missing: it must repeat the argument %s", p.header, where)
		case !headerEquals(header, value):
			return headerMismatch("the %s header differs from the argument %s", p.header, where)
		}
	}
	return nil
}

// maxHeaderNumber is the longest number in a header that is compared by value.
const maxHeaderNumber = 64

// headerEquals compares strings after decoding and numbers by value.
func headerEquals(header string, raw []byte) bool {
	decoded, ok := decodeHeaderValue(header)
	if !ok {
		return false
	}
	if s, isString := jsonscan.UnquoteBytes(raw); isString {
		return decoded == string(s)
	}
	if decoded == string(raw) {
		return true
	}
	if len(decoded) > maxHeaderNumber || len(raw) > maxHeaderNumber || strings.ContainsAny(decoded, "eE/") || bytes.ContainsAny(raw, "eE") {
		return false // exact arithmetic on 1e999999999 would never end
	}
	a, okA := new(big.Rat).SetString(decoded)
	b, okB := new(big.Rat).SetString(string(raw))
	return okA && okB && a.Cmp(b) == 0
}

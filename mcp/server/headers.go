package server

import (
	"encoding/base64"
	"errors"
	"math/big"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// The headers of Streamable HTTP, in the canonical form of net/http.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerSession = "Mcp-Session-Id"
)

// headerMismatch returns the error for a header that contradicts the body.
func headerMismatch(format string, args ...any) *mcp.Error {
	e := mcp.Errorf(mcp.CodeHeaderMismatch, format, args...)
	e.Status = http.StatusBadRequest
	return e
}

// first is header.Get for a key in canonical form.
func first(h http.Header, key string) (value string, ok bool) {
	if values := h[key]; len(values) > 0 {
		return values[0], true
	}
	return "", false
}

// checkVersionHeader verifies MCP-Protocol-Version against the version in the body.
func (rc *request) checkVersionHeader(requested string) *mcp.Error {
	if requested == "" {
		return nil // reported as missing, regardless of the header
	}
	headers := rc.header[headerVersion]
	if len(headers) == 0 {
		return headerMismatch("the MCP-Protocol-Version header is missing, want %q", requested)
	}
	for _, header := range headers {
		if header != requested {
			return headerMismatch("the MCP-Protocol-Version header is %q, but the body has %q", header, requested)
		}
	}
	return nil
}

// checkMethodHeaders verifies Mcp-Method and Mcp-Name against the body, so that proxies
// can rely on the headers for their decisions.
func (rc *request) checkMethodHeaders() *mcp.Error {
	methods := rc.header[headerMethod]
	if len(methods) == 0 {
		return headerMismatch("the Mcp-Method header is missing, want %q", rc.msg.method)
	}
	for _, method := range methods {
		if method != string(rc.msg.method) {
			return headerMismatch("the Mcp-Method header is %q, but the body has %q", method, rc.msg.method)
		}
	}
	var raw []byte
	switch string(rc.msg.method) {
	case "tools/call", "prompts/get":
		raw = rc.msg.name
	case "resources/read":
		raw = rc.msg.uri
	case "tasks/get", "tasks/update", "tasks/cancel":
		raw, _ = rc.param("taskId")
	default:
		return nil
	}
	want, ok := jsonscan.UnquoteBytes(raw)
	if !ok {
		return nil // the method itself reports the missing parameter
	}
	names := rc.header[headerName]
	if len(names) == 0 {
		return headerMismatch("the Mcp-Name header is missing, want %q", want)
	}
	for _, header := range names {
		name, ok := decodeHeaderValue(header)
		if !ok || name != string(want) {
			return headerMismatch("the Mcp-Name header differs from %q in the body", want)
		}
	}
	return nil
}

// decodeHeaderValue decodes the form =?base64?...?=, which is used for values that are
// not allowed in a header. Other values are returned unchanged, if they consist of
// visible ASCII characters, spaces and tabs.
func decodeHeaderValue(value string) (decoded string, ok bool) {
	value = strings.Trim(value, " \t")
	for i := range len(value) {
		c := value[i]
		if c < ' ' && c != '\t' || c > '~' {
			return "", false
		}
	}
	body, found := strings.CutPrefix(value, "=?base64?")
	if !found {
		return value, true
	}
	if body, found = strings.CutSuffix(body, "?="); !found {
		return value, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(body)
	if err != nil || !utf8.Valid(b) {
		return "", false
	}
	return string(b), true
}

// checkParamHeaders verifies the headers that repeat arguments of a tool against the
// arguments.
func (rc *request) checkParamHeaders(params []mcp.HeaderParam, arguments []byte) *mcp.Error {
	for _, p := range params {
		where := strings.Join(p.Path, ".")
		value, unique := argumentAt(arguments, p.Path)
		if !unique {
			return headerMismatch("the argument %s is duplicated, so that no %s header can repeat it", where, p.Name)
		}
		headers := rc.header[p.Name]
		switch {
		case value == nil && len(headers) > 0:
			return headerMismatch("the %s header is set, but the argument %s is not", p.Name, where)
		case value != nil && len(headers) == 0:
			return headerMismatch("the %s header is missing: it must repeat the argument %s", p.Name, where)
		}
		for _, header := range headers {
			if !headerEquals(header, value) {
				return headerMismatch("the %s header differs from the argument %s", p.Name, where)
			}
		}
	}
	return nil
}

// argumentAt returns the value at a path of member names, or nil if it is absent or null.
// unique is false if a name on the path is repeated, in which case readers may disagree
// about the value.
func argumentAt(arguments []byte, path []string) (value []byte, unique bool) {
	value = arguments
	for _, name := range path {
		if !jsonscan.IsObject(value) {
			return nil, true
		}
		object := value
		value = nil
		_, err := jsonscan.Object(object, 0, 0, func(key []byte, i int) (int, error) {
			end, err := jsonscan.Value(object, i)
			if err == nil && string(key) == name {
				if value != nil {
					return end, errTwice
				}
				value = object[i:end]
			}
			return end, err
		})
		if err != nil {
			return nil, false
		}
	}
	if string(value) == "null" {
		return nil, true
	}
	return value, true
}

var errTwice = errors.New("given twice")

// maxHeaderNumber is the maximum length of numbers that are compared by value.
const maxHeaderNumber = 64

// headerEquals compares strings after decoding, and numbers by value.
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
	if len(decoded) > maxHeaderNumber || len(raw) > maxHeaderNumber ||
		!isPlainNumber(decoded) || !isPlainNumber(raw) {
		return false // exact arithmetic on 1e999999999 would never end
	}
	a, okA := new(big.Rat).SetString(decoded)
	b, okB := new(big.Rat).SetString(string(raw))
	return okA && okB && a.Cmp(b) == 0
}

// isPlainNumber reports whether s consists of digits, minus signs and points only.
func isPlainNumber[T string | []byte](s T) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || '9' < c) && c != '-' && c != '.' {
			return false
		}
	}
	return len(s) > 0
}

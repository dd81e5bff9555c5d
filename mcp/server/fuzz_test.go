package server

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/mcp"
)

// Fuzz tests of the parsers of client input. They compare the results with encoding/json
// where that is possible. They are white-box tests, because the parsed forms are not
// exported.

var envelopeSeeds = []string{
	`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
	`{"method":"tools/call","params":{"name":"echo","arguments":{"a":[1.50,{}]},"_meta":{"progressToken":"x"}},` +
		`"jsonrpc":"2.0","id":"\u00fc"}`,
	"\t{ \"jsonrpc\" : \"2.0\" , \"id\" : -0 , \"method\" : \"resources\\/read\" , \"params\" : { \"uri\" : \"x:\" ," +
		" \"cursor\" : null } }\r\n",
	`{"jsonrpc":"2.0","id":9007199254740993,"result":{"a":1}}`,
	`{"jsonrpc":"2.0","error":{"code":1,"message":"m"},"id":null}`,
	`{"jsonrpc":"2.0","id":1e2,"method":"x","params":null}`,
	`{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}`,
	`{"jsonrpc":"2.0","id":1,"Method":"x"}`,
	`{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":1,"name":2}}`,
	`{"jsonrpc":"2.0","id":"\ud83d\ude00\ud800","method":"\u0070ing"}`,
	`[{"jsonrpc":"2.0","id":1,"method":"ping"},1,[]]`,
	`{"jsonrpc":"2.0","id":1,"method":"x"}{`, `{`, ``, "\xef\xbb\xbf{}", "{\"\xff\":1}", `null`, `"x"`,
	strings.Repeat("[", 513) + strings.Repeat("]", 513),
}

// depth returns the nesting depth of valid JSON.
func depth(text []byte) (deepest int) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	for now := 0; ; {
		token, err := dec.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			now++
			deepest = max(deepest, now)
		case json.Delim('}'), json.Delim(']'):
			now--
		}
	}
}

func FuzzEnvelope(f *testing.F) {
	for _, seed := range envelopeSeeds {
		f.Add([]byte(seed))
	}
	fuzzbound.Fuzz(f, func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		var m message
		e := m.scan(text)
		if !bytes.Equal(before, text) {
			t.Fatal("the text was changed")
		}
		valid := json.Valid(text) && utf8.Valid(text) && depth(text) <= jsonscan.MaxDepth
		if broken := e != nil && e.Code == mcp.CodeParseError; broken == valid {
			t.Fatalf("valid: %v, but scan = %v", valid, e)
		}
		if e != nil {
			if m.isRequest() && e.Code == mcp.CodeParseError {
				t.Fatalf("an id of what is not JSON: %s", m.id)
			}
			return
		}
		checkEnvelopeModel(t, text, &m)
		var meta requestMeta
		if e := meta.scan(m.meta); e != nil && e.Code != mcp.CodeInvalidParams {
			t.Fatalf("_meta: %v", e)
		}
	})
}

// checkEnvelopeModel compares an accepted message with the result of encoding/json.
func checkEnvelopeModel(t *testing.T, text []byte, m *message) {
	t.Helper()
	var model, params map[string]json.RawMessage
	if err := json.Unmarshal(text, &model); err != nil {
		t.Fatalf("accepted, but %v", err)
	}
	var method string
	if raw := model["method"]; raw != nil {
		if err := json.Unmarshal(raw, &method); err != nil {
			t.Fatalf("method %s: %v", raw, err)
		}
	}
	if string(m.method) != method {
		t.Errorf("method %q, want %q", m.method, method)
	}
	if m.response != (model["method"] == nil) {
		t.Errorf("response: %v for %s", m.response, text)
	}
	if id := model["id"]; !bytes.Equal(m.id, id) && !(m.response && string(id) == "null") {
		t.Errorf("id %s, want %s", m.id, id)
	}
	if raw := model["params"]; !bytes.Equal(m.params, raw) && string(raw) != "null" {
		t.Errorf("params %s, want %s", m.params, raw)
	}
	if m.params == nil {
		return
	}
	if err := json.Unmarshal(m.params, &params); err != nil {
		t.Fatalf("params: %v", err)
	}
	for name, got := range map[string][]byte{
		"name":      m.name,
		"uri":       m.uri,
		"arguments": m.arguments,
		"_meta":     m.meta,
		"cursor":    m.cursor,
	} {
		if !bytes.Equal(got, params[name]) {
			t.Errorf("params.%s is %s, want %s", name, got, params[name])
		}
	}
}

func FuzzBatch(f *testing.F) {
	for _, seed := range envelopeSeeds {
		f.Add([]byte("[" + seed + "]"))
		f.Add([]byte("[" + seed + ",\n " + seed + "]"))
	}
	fuzzbound.Fuzz(f, func(t *testing.T, text []byte) {
		if i := jsonscan.Space(text, 0); i == len(text) || text[i] != '[' {
			return // the surfaces check this first
		}
		var got []string
		e := checkBatch(text)
		if e == nil {
			eachElement(text, func(element []byte) { got = append(got, string(element)) })
		}
		var model []json.RawMessage
		valid := json.Unmarshal(text, &model) == nil && utf8.Valid(text) && depth(text) <= jsonscan.MaxDepth
		switch {
		case !valid || len(model) == 0 || len(model) > maxBatch:
			if e == nil || len(got) > 0 {
				t.Fatalf("accepted %q", text)
			}
		case e != nil:
			t.Fatalf("refused: %v", e)
		case len(got) != len(model):
			t.Fatalf("%d elements, want %d", len(got), len(model))
		default:
			for i := range got {
				if got[i] != string(model[i]) {
					t.Errorf("element %d is %s, want %s", i, got[i], model[i])
				}
			}
		}
	})
}

func FuzzHeaderValue(f *testing.F) {
	for _, seed := range []string{
		"echo", " padded\t", "=?base64?ZWNobw==?=", "=?base64?ZWNobw?=", "=?base64?ZWNobx==?=",
		"=?base64??=", "=?base64?", "?=", "=?base64?=", "grüße", "\x7f", "a\r\nb",
		"=?base64?ZW\nNobw==?=", "=?BASE64?ZWNobw==?=", "=?base64?/w==?=",
		"=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "42", "42.0", "-0", "1e3", "0x2a", "4_2", "84/2",
		"1p9999999", "--1", "9007199254740993", ".", "1.2.3", "true",
	} {
		f.Add(seed)
	}
	fuzzbound.Fuzz(f, func(t *testing.T, value string) {
		decoded, ok := decodeHeaderValue(value)
		if ok && !utf8.ValidString(decoded) {
			t.Errorf("decodeHeaderValue(%q) = %q, which is not text", value, decoded)
		}
		if ok && decoded != strings.Trim(value, " \t") {
			body := strings.TrimSuffix(strings.TrimPrefix(strings.Trim(value, " \t"), "=?base64?"), "?=")
			if base64.StdEncoding.EncodeToString([]byte(decoded)) != body {
				t.Errorf("decodeHeaderValue(%q) = %q, which is encoded otherwise", value, decoded)
			}
		}
		if utf8.ValidString(value) {
			encoded := "=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
			if back, ok := decodeHeaderValue(encoded); !ok || back != value {
				t.Errorf("decodeHeaderValue(%q) = %q, %v, want %q", encoded, back, ok, value)
			}
			if quoted, err := mcp.Marshal(value); err != nil || !headerEquals(encoded, quoted) {
				t.Errorf("%q does not equal itself", value)
			}
		}
		checkHeaderNumber(t, value)
	})
}

// checkHeaderNumber compares headerEquals with exact arithmetic.
func checkHeaderNumber(t *testing.T, value string) {
	t.Helper()
	for _, number := range []string{"42", "-7.50", "0", "9007199254740993"} {
		got := headerEquals(value, []byte(number))
		text := strings.Trim(value, " \t")
		if !json.Valid([]byte(text)) || strings.ContainsAny(text, "eE") || len(text) > maxHeaderNumber {
			continue // only JSON numbers are compared by value
		}
		a, okA := new(big.Rat).SetString(text)
		b, okB := new(big.Rat).SetString(number)
		if want := okA && okB && a.Cmp(b) == 0; got != want {
			t.Errorf("headerEquals(%q, %s) = %v, want %v", value, number, got, want)
		}
	}
}

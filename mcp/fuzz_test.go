package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

// Fuzz tests of the parsers of client input. They compare the results with encoding/json
// where that is possible. They are white-box tests, because the parsed forms are not
// exported.

var envelopeSeeds = []string{
	`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
	`{"method":"tools/call","params":{"name":"echo","arguments":{"a":[1.50,{}]},"_meta":{"progressToken":"x"}},"jsonrpc":"2.0","id":"\u00fc"}`,
	"\t{ \"jsonrpc\" : \"2.0\" , \"id\" : -0 , \"method\" : \"resources\\/read\" , \"params\" : { \"uri\" : \"x:\" , \"cursor\" : null } }\r\n",
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
		if broken := e != nil && e.Code == CodeParseError; broken == valid {
			t.Fatalf("valid: %v, but scan = %v", valid, e)
		}
		if e != nil {
			if m.isRequest() && e.Code == CodeParseError {
				t.Fatalf("an id of what is not JSON: %s", m.id)
			}
			return
		}
		checkEnvelopeModel(t, text, &m)
		var meta requestMeta
		if e := meta.scan(m.meta); e != nil && e.Code != CodeInvalidParams {
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
		e := eachMessage(text, func(element []byte) { got = append(got, string(element)) })
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

func FuzzCursor(f *testing.F) {
	for k := range listKinds {
		f.Add(encodeCursor(k, 4), byte(k), uint32(4))
	}
	f.Add("", byte(0), uint32(0))
	f.Add("AQAE-e53PA==", byte(0), uint32(1<<31-1))
	f.Add("AQAE-e5\n3PA", byte(1), uint32(1<<31))
	f.Add(base64.RawURLEncoding.EncodeToString([]byte{1, 0, 0x84, 0x00, 1, 2, 3, 4}), byte(0), uint32(300))
	fuzzbound.Fuzz(f, func(t *testing.T, cursor string, kind byte, offset uint32) {
		k := listKind(kind) % listKinds
		if n, ok := decodeCursor(cursor, k); ok && cursor != "" && encodeCursor(k, n) != cursor {
			t.Errorf("%q is taken for place %d, whose cursor is %q", cursor, n, encodeCursor(k, n))
		}
		if offset == 0 || offset > 1<<31-1 {
			return
		}
		ours := encodeCursor(k, int(offset))
		if n, ok := decodeCursor(ours, k); !ok || n != int(offset) {
			t.Errorf("decodeCursor(%q) = %d, %v, want %d", ours, n, ok, offset)
		}
		if _, ok := decodeCursor(ours, (k+1)%listKinds); ok {
			t.Errorf("%q is taken for a cursor of another list", ours)
		}
	})
}

func FuzzRaw(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"content":[]}`, `{ "_meta" : { } , "content" : [ ] }`,
		`{"_meta":{"a/b":"}"},"content":[]}`, `{"_meta":{"io.modelcontextprotocol\/serverInfo":1}}`,
		`{"resultType":"complete","ttlMs":1,"cacheScope":"public"}`, `{"ttlMs":1}`,
		`{"cacheScope":"private","_meta":{"x":{"_meta":{}}}}`, `{"a":1,"a":2}`, `{"\u005fmeta":{}}`,
		`{"_meta":[]}`, `{"_meta":null}`,
		`{"content":[{"type":"audio","data":"AA==","mimeType":"a"},{"type":"resource_link","name":"n","uri":"u:"}],"isError":true}`,
		`{"messages":[{"role":"user","content":{"type":"audio","data":"*"}}]}`,
		`{"content":"audio\"resource_link\""}`, "{\"a\":\"\xff\"}", `[]`, ` `, `{}{}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	info := []byte(`{"name":"s","version":"1"}`)
	fuzzbound.Fuzz(f, func(t *testing.T, doc []byte, cached bool) {
		original := bytes.Clone(doc)
		raw, err := ParseRaw(doc)
		if err != nil {
			return
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, original); err != nil {
			t.Fatalf("accepted what is not JSON: %v", err)
		}
		if !bytes.Equal(raw.Bytes(), compact.Bytes()) {
			t.Fatalf("kept %s, want %s", raw.Bytes(), compact.Bytes())
		}
		for v := Version20241105; v < Version20250618; v++ {
			if down := raw.downgraded(v); jsonscan.Valid(down) != nil || !isObject(down) {
				t.Errorf("for %v: %s", v, down)
			}
		}
		var hint *CacheHint
		if cached {
			hint = &CacheHint{TTL: time.Second}
		}
		checkSplice(t, raw, raw.appendModern([]byte("x"), info, hint)[1:], info, hint)
	})
}

// checkSplice compares a document with added members to the original.
func checkSplice(t *testing.T, raw *Raw, got, info []byte, hint *CacheHint) {
	t.Helper()
	var before, after map[string]json.RawMessage
	if err := json.Unmarshal(raw.Bytes(), &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &after); err != nil {
		t.Fatalf("spliced to %s: %v", got, err)
	}
	if _, err := ParseRaw(got); err != nil {
		t.Fatalf("spliced to %s: %v", got, err)
	}
	for name, value := range before {
		if name != "_meta" && !bytes.Equal(after[name], value) {
			t.Errorf("%s became %s, was %s", name, after[name], value)
		}
	}
	want := []string{"resultType", "_meta"}
	if hint != nil {
		want = append(want, "ttlMs", "cacheScope")
	}
	for _, name := range want {
		if after[name] == nil {
			t.Errorf("%s is missing in %s", name, got)
		}
	}
	var metaBefore, metaAfter map[string]json.RawMessage
	_ = json.Unmarshal(before["_meta"], &metaBefore)
	if err := json.Unmarshal(after["_meta"], &metaAfter); err != nil {
		t.Fatal(err)
	}
	if metaBefore[metaServerInfo] == nil {
		if !bytes.Equal(metaAfter[metaServerInfo], info) {
			t.Errorf("serverInfo %s, want %s", metaAfter[metaServerInfo], info)
		}
		delete(metaAfter, metaServerInfo)
	}
	if len(metaAfter) != len(metaBefore) {
		t.Errorf("_meta became %s, was %s", after["_meta"], before["_meta"])
	}
	for name, value := range metaBefore {
		if !bytes.Equal(metaAfter[name], value) {
			t.Errorf("_meta.%s became %s, was %s", name, metaAfter[name], value)
		}
	}
	added := len(after) - len(before)
	for _, name := range want {
		if before[name] == nil {
			added--
		}
	}
	if added != 0 {
		t.Errorf("more was added than asked for: %s", got)
	}
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
			t.Errorf("decodeHeaderValue(%q) = %q, which is no text", value, decoded)
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
			if quoted, err := Marshal(value); err != nil || !headerEquals(encoded, quoted) {
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

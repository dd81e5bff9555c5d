package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

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
		`{"content":[{"type":"audio","data":"AA==","mimeType":"a"},{"type":"resource_link","name":"n","uri":"u:"}],` +
			`"isError":true}`,
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
			if down := raw.downgraded(v); jsonscan.Valid(down) != nil || !jsonscan.IsObject(down) {
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

package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// extended is a Source with an additional method.
type extended struct{ *demo }

func (e *extended) ServeMethod(_ context.Context, method string, params json.RawMessage) (*mcp.MethodResult, error) {
	if params == nil {
		params = json.RawMessage(`"none"`)
	}
	switch method {
	case "frames/get":
		return &mcp.MethodResult{Result: parsed(`{"frame":1.50,"params":` + string(params) + `}`)}, nil
	case "frames/list":
		return &mcp.MethodResult{Result: parsed(`{"frames":[]}`), Cache: &mcp.CacheHint{TTL: time.Second, Public: true}}, nil
	case "frames/none":
		return nil, nil
	case "frames/empty":
		return &mcp.MethodResult{}, nil
	case "frames/broken":
		return nil, errors.New("secret")
	case "frames/refused":
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "which frame?")
	}
	return nil, mcp.MethodNotFound(method)
}

// Methods outside of the protocol are passed to the source, in every version. Methods of
// the protocol are not.
func TestExtender(t *testing.T) {
	const info = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"demo","title":"Demo","version":"1.0.0"}}`
	for _, c := range []struct {
		method, params string
		legacy, modern string
		code           mcp.Code
	}{
		{"frames/get", `"n":[1,2.0]`, `{"frame":1.50,"params":{"n":[1,2.0]}}`, `"frame":1.50`, 0},
		{"frames/list", ``, `{"frames":[]}`, `"ttlMs":1000,"cacheScope":"public"`, 0},
		{"frames/none", ``, "", "", mcp.CodeInternalError},
		{"frames/empty", ``, "", "", mcp.CodeInternalError},
		{"frames/broken", ``, "", "", mcp.CodeInternalError},
		{"frames/refused", ``, "", "", badParams},
		{"frames/other", ``, "", "", noMethod},
		{"tools/call", `"name":"none"`, "", "", badParams},
	} {
		t.Run(c.method, func(t *testing.T) {
			b := newBrowser(&extended{newDemo()}, nil)
			legacy := b.open(t).post(t, `{"jsonrpc":"2.0","id":1,"method":"`+c.method+`","params":{`+c.params+`}}`)
			if legacy.code != c.code || c.code == 0 && legacy.result != c.legacy {
				t.Errorf("legacy: %s", legacy.body)
			}
			modern := b.post(t, modern(c.method, c.params))
			if modern.code != c.code {
				t.Errorf("modern: %s", modern.body)
			}
			for _, want := range []string{c.modern, `"resultType":"complete"`, info} {
				if c.code == 0 && !strings.Contains(modern.result, want) {
					t.Errorf("modern: no %s in %s", want, modern.result)
				}
			}
			if strings.Contains(legacy.body+modern.body, "secret") {
				t.Errorf("told the client: %s%s", legacy.body, modern.body)
			}
			if want := map[bool]int{true: 404, false: 200}[c.code == noMethod]; modern.status != want || legacy.status != 200 {
				t.Errorf("status %d and %d", legacy.status, modern.status)
			}
		})
	}
	if got := newBrowser(newDemo(), nil).post(t, modern("frames/get", "")); got.code != noMethod {
		t.Errorf("a source without methods of its own: %s", got.body)
	}
}

// A source can distinguish missing params.
func TestExtenderWithoutParams(t *testing.T) {
	got := newBrowser(&extended{newDemo()}, nil).open(t).post(t, `{"jsonrpc":"2.0","id":1,"method":"frames/get"}`)
	if got.result != `{"frame":1.50,"params":"none"}` {
		t.Errorf("answered %s", got.body)
	}
}

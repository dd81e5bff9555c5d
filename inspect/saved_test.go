package inspect_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/inspect"
)

// The file of saved calls is replaced only by a page that has read all of it.
func TestSavedCalls(t *testing.T) {
	const one, two = `{"calls":[{"name":"a"}]}`, `{"calls":[{"name":"a"},{"name":"b"}]}`
	tests := map[string]struct {
		file, before, body string
		reads              bool // with the tag of the file
		want               int
	}{
		"new":              {"my.json", "", two, false, 200},
		"read":             {"my.json", one, two, true, 200},
		"empty":            {"my.json", "\n", two, true, 200},
		"unread":           {"my.json", one, two, false, 412},
		"unread, empty":    {"my.json", "\n", two, false, 412},
		"YAML":             {"my.yaml", "# mine\ncalls: []\n", two, true, 409},
		"new YAML":         {"my.yaml", "", two, false, 409},
		"a trailing comma": {"my.json", `{"calls":[],}`, two, true, 409},
		"another file":     {"my.json", `{"calls":{"a":1}}`, two, true, 409},
		"no list":          {"my.json", one, `{"calls":1}`, true, 400},
		"nothing":          {"my.json", one, ``, true, 400},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), tt.file)
			if tt.before != "" {
				if err := os.WriteFile(file, []byte(tt.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d := newDesk(t, &inspect.Options{Calls: file})
			send := func(method, body, tag string) *http.Response {
				r, _ := http.NewRequestWithContext(t.Context(), method, d.url+"/api/calls", strings.NewReader(body))
				r.Header.Set("Authorization", "Bearer "+token)
				if tag != "" {
					r.Header.Set("If-Match", tag)
				}
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				return resp
			}
			tag := ""
			if tt.reads {
				tag = send("GET", "", "").Header.Get("ETag")
			}
			if resp := send("PUT", tt.body, tag); resp.StatusCode != tt.want {
				t.Errorf("status %d, want %d", resp.StatusCode, tt.want)
			}
			want := tt.before
			if tt.want == 200 {
				want = tt.body
			}
			if got, _ := os.ReadFile(file); string(got) != want {
				t.Errorf("the file is %q, want %q", got, want)
			}
			info, err := os.Stat(file)
			if tt.before != "" && runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o600) {
				t.Errorf("the file of mode 0600 is now %v, %v", info, err)
			}
		})
	}
}

// An answer is verified against the expectations of a saved call, like slipway test does.
func TestVerify(t *testing.T) {
	d := newDesk(t, nil)
	d.ready("")
	s := d.stream(-1)
	d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"secret"}}`)
	s.until("its end", ended)
	d.post("/api/call", `{"source":1,"method":"no/such"}`)
	s.until("its end", ended)
	d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"hang"},"timeout":0.05}`)
	s.until("its end", ended)
	for _, c := range []struct {
		call           int
		expect, faults string
	}{
		{1, ``, ``},
		{1, `{"pointer":"/content/0/text","matches":"^the"}`, ``},
		{1, `{"pointer":"/content/0/text","matches":"^no"}`, `/expect/0 does not match`},
		{1, `{"below":"1m"},{"pointer":"/content/0","schema":{"required":["x"]}}`, `/expect/1 does not satisfy`},
		{1, `{"error":-1}`, `/expect/0 answers with a result`},
		{1, `{"sounds":"good"}`, `/expect/0 no "sounds"`},
		{2, ``, ` -32601`},
		{2, `{"error":-32601}`, ``},
		{3, ``, ` no answer in time`},
		{0, `{"error":-1}`, ``},
		{0, `{"below":"1m"},{"pointer":"a","equals":1}`, `/expect/1 is not a JSON pointer`},
	} {
		saved := fmt.Sprintf(`{"name":"a","expect":[%s]}`, c.expect)
		var got struct {
			Problems []struct{ Pointer, Message string }
		}
		text := d.post("/api/verify", fmt.Sprintf(`{"call":%d,"saved":%s}`, c.call, saved))
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		want, message, faulty := strings.Cut(c.faults, " ")
		if faulty != (len(got.Problems) > 0) ||
			faulty && (got.Problems[0].Pointer != want || !strings.Contains(got.Problems[0].Message, message)) {
			t.Errorf("call %d, %s: %s, want %q", c.call, c.expect, text, c.faults)
		}
	}
	for body, want := range map[string]int{
		`{"call":9,"saved":{"name":"a"}}`: 404,
		`{"call":1,"saved":{"name":"a"}}`: 200,
		`{"call":1}`:                      400,
	} {
		if status, text := d.do("POST", "/api/verify", body); status != want {
			t.Errorf("%s: %d %s, want %d", body, status, text, want)
		}
	}
}

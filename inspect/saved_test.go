package inspect_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

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

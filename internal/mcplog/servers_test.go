package mcplog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/mcplog"
)

// recordingOf returns a recording of servers, by the numbers in the header and the names there.
// Each has one call, whose answer is the number.
func recordingOf(ids []int, names []string) string {
	var b strings.Builder
	b.WriteString(`{"mcplog":1,"sources":[`)
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"name":%q}`, id, names[i])
	}
	b.WriteString("]}\n")
	for _, id := range ids {
		request := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`
		fmt.Fprintf(&b, `{"src":%d,"d":"out","kind":"request","body":%q}`+"\n", id, request)
	}
	for _, id := range ids {
		fmt.Fprintf(&b, `{"src":%d,"d":"in","kind":"response","body":%q}`+"\n", id,
			fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"n":%d}}`, id))
	}
	return b.String()
}

func TestOfServer(t *testing.T) {
	one := recordingOf([]int{1}, []string{"a"})
	two := recordingOf([]int{1, 2}, []string{"a", "b"})
	same := recordingOf([]int{1, 2, 3}, []string{"a", "a", "b"})
	for name, c := range map[string]struct {
		text   string
		server string
		want   string // the answer, or the error
	}{
		"the only one":      {one, "", `{"n":1}`},
		"one of two":        {two, "b", `{"n":2}`},
		"none of two":       {two, "", "the recording has 2 servers: a, b"},
		"in another order":  {recordingOf([]int{2, 1}, []string{"b", "a"}), "", "the recording has 2 servers: a, b"},
		"another":           {two, "c", `the recording has no server "c", but a, b`},
		"equal names":       {same, "a", `the recording has no server "a", but 1, 2, b`},
		"by number":         {same, "2", `{"n":2}`},
		"without names":     {recordingOf([]int{1, 2}, []string{"", ""}), "2", `{"n":2}`},
		"of clients":        {strings.ReplaceAll(one, `"src":1`, `"src":0`), "a", "cannot select"},
		"without a request": {`{"mcplog":1}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			rec, err := readRecording(t, []byte(c.text)).OfServer(c.server)
			var wrong *mcplog.ServerError
			if err != nil {
				if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), c.want) {
					t.Errorf("the error is %v, want %s", err, c.want)
				}
				return
			}
			got := ""
			for _, x := range rec.Exchanges() {
				got += string(x.Result)
			}
			if got != c.want {
				t.Errorf("answers %s, want %s", got, c.want)
			}
		})
	}
}

// A hint is a command argument, also for a file whose name starts like a flag.
func TestServerHint(t *testing.T) {
	for _, e := range []*mcplog.ServerError{
		{File: "-a.mcplog", Name: "b"},
		{File: "-a.mcplog", Names: []string{"b", "c"}},
	} {
		if got := e.Hint(); !strings.Contains(got, "./-a.mcplog") {
			t.Errorf("the hint is %s", got)
		}
	}
}

func TestSplitServer(t *testing.T) {
	for arg, want := range map[string][2]string{
		"a.mcplog":           {"a.mcplog", ""},
		"a.mcplog#b":         {"a.mcplog", "b"},
		"a#1.mcplog.gz#b#c":  {"a#1.mcplog.gz", "b#c"},
		"folder#1":           {"folder#1", ""},
		"a.mcplog#b.mcplog":  {"a.mcplog", "b.mcplog"},
		"https://h/x.json#y": {"https://h/x.json#y", ""},
	} {
		if file, server := mcplog.SplitServer(arg); [2]string{file, server} != want {
			t.Errorf("SplitServer(%q) = %q, %q, want %q", arg, file, server, want)
		}
	}
}

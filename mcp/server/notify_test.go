package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// chatty is a source that sends notifications while it returns, and afterwards.
type chatty struct {
	*demo
	tails sync.WaitGroup
}

func (c *chatty) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	request := mcp.RequestFrom(ctx)
	begun := make(chan struct{})
	c.tails.Go(func() {
		for i := range 50 {
			request.Progress(float64(i), 50, "")
			if i == 2 {
				close(begun)
			}
			request.Log(mcp.LogError, "", i)
		}
	})
	<-begun
	return text("done"), nil
}

// Under load, the notifications of a request arrive before its answer, and none after.
func TestNotificationsBeforeAnswer(t *testing.T) {
	source := &chatty{demo: newDemo()}
	addr := serveHTTP(t, source, nil)
	call := strings.Replace(modern("tools/call", `"name":"progress"`), `"_meta":{`,
		`"_meta":{"progressToken":"p","io.modelcontextprotocol/logLevel":"debug",`, 1)
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for range 25 {
				if err := checkOrder(addr, call); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	source.tails.Wait()
}

func checkOrder(addr, call string) error {
	r, err := http.NewRequest(http.MethodPost, "http://"+addr+"/mcp", strings.NewReader(call))
	if err != nil {
		return err
	}
	r.Header = clientHeader(call)
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer w.Body.Close()
	var events []string
	last := -1.0
	for in := bufio.NewScanner(w.Body); in.Scan(); {
		data, ok := strings.CutPrefix(in.Text(), "data: ")
		if !ok {
			continue
		}
		var m struct {
			Method string
			Params struct{ Progress float64 }
		}
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			return err
		}
		events = append(events, m.Method)
		if m.Method == "notifications/progress" {
			if m.Params.Progress <= last {
				return fmt.Errorf("progress %v after %v", m.Params.Progress, last)
			}
			last = m.Params.Progress
		}
	}
	if last < 2 ||
		strings.Count(strings.Join(events, ","), "notifications/") != len(events)-1 ||
		events[len(events)-1] != "" {
		return fmt.Errorf("events %q, want notifications and then the answer", events)
	}
	return nil
}

// The same on a stream that is shared by all requests.
func TestNotificationsBeforeAnswerOnStdio(t *testing.T) {
	const n = 50
	source := &chatty{demo: newDemo()}
	var in strings.Builder
	for i := range n {
		fmt.Fprintln(&in,
			strings.Replace(call(i, "progress"), `"_meta":{`, fmt.Sprintf(`"_meta":{"progressToken":%d,`, i), 1))
	}
	var out lockedBuffer
	if err := server.New(source, nil).ServeStdio(t.Context(), strings.NewReader(in.String()), &out, nil); err != nil {
		t.Fatal(err)
	}
	source.tails.Wait()
	answered := make(map[int]bool)
	for line := range strings.Lines(out.take()) {
		var m struct {
			ID     *int
			Params struct{ ProgressToken int }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		switch {
		case m.ID != nil:
			answered[*m.ID] = true
		case answered[m.Params.ProgressToken]:
			t.Errorf("after the answer: %s", line)
		}
	}
	if len(answered) != n {
		t.Errorf("%d answers, want %d", len(answered), n)
	}
}

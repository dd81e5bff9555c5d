package simulation

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/mediatype"
	"github.com/slipway-mcp/slipway/mcp"
)

// The load.
const (
	users          = 2 // that keep one session each
	callersOfUser  = 3
	clients        = 3 // of package client
	callersOfEach  = 2
	longestRequest = 12 * time.Second
	// longAnswer is the least size of the answers of several MB.
	longAnswer = 1 << 20
)

// user is a client with one session, whose requests are made one by one, so that each status is
// seen.
type user struct {
	world   *world
	name    string
	version string
	http    *http.Client
	session string
	token   string // "" unless callers have processes
}

// startLoad starts the clients. They end with ctx.
func (w *world) startLoad(ctx context.Context, load *sync.WaitGroup) []*user {
	var all []*user
	for i := range users {
		u := &user{
			world:   w,
			name:    "user" + strconv.Itoa(i),
			version: []string{"2025-06-18", "2025-11-25"}[i%2],
		}
		if w.opts.Callers {
			u.token = callerOf(u.name)
		}
		u.http = &http.Client{Transport: w.balancer.transport(u.name)}
		time.Sleep(3 * time.Millisecond) // so that no two clients begin at the same moment
		if err := u.begin(ctx); err != nil {
			w.violate("%s: initialize: %v", u.name, err)
			continue
		}
		all = append(all, u)
		for k := range callersOfUser {
			load.Go(func() { u.call(ctx, k) })
		}
		load.Go(func() { u.setLevels(ctx) })
		load.Go(func() { u.listen(ctx) })
	}
	versions := []mcp.Version{mcp.Version20250618, mcp.Version20251125, mcp.Version20260728}
	for i := range clients {
		time.Sleep(3 * time.Millisecond)
		load.Go(func() {
			w.runClient(ctx, "client"+strconv.Itoa(i), versions[i%len(versions)])
		})
	}
	return all
}

// runClient calls tools with package client.
func (w *world) runClient(ctx context.Context, name string, version mcp.Version) {
	header := make(http.Header)
	if w.opts.Callers {
		header.Set("Authorization", "Bearer "+callerOf(name))
	}
	src, err := client.Open(ctx, &client.Endpoint{
		URL:       endpoint,
		Header:    header,
		Transport: w.balancer.transport(name),
		NoListen:  true,
	}, &client.Options{Version: version})
	if err != nil {
		w.violate("%s: open: %v", name, err)
		return
	}
	defer src.Close()
	var callers sync.WaitGroup
	for k := range callersOfEach {
		callers.Go(func() {
			r := stream(w.seed, name+"/"+strconv.Itoa(k))
			for n := 0; pause(ctx, r); n++ {
				c := w.newCall(r, name, k, n)
				limited, cancel := context.WithTimeout(context.Background(), longestRequest)
				raw, _ := json.Marshal(c.args)
				result, err := src.CallTool(limited, &mcp.CallToolParams{
					Name:      c.tool,
					Arguments: raw,
				})
				cancel()
				if err == nil {
					var text string
					if text, err = textOf(result); err == nil {
						c.answer, err = parseAnswer(text, &c.args)
						if err != nil {
							w.violate("I1: %s of %s: %v", c.args.ID, name, err)
						}
					}
				}
				c.end(w, err)
			}
		})
	}
	callers.Wait()
}

// textOf returns the text of a result. An error of the tool is an error.
func textOf(r *mcp.CallToolResult) (string, error) {
	if r.Raw != nil {
		var result encodedResult
		if err := json.Unmarshal(r.Raw.Bytes(), &result); err != nil {
			return "", err
		}
		return result.text()
	}
	if len(r.Content) != 1 {
		return "", fmt.Errorf("a result with %d parts", len(r.Content))
	}
	if r.IsError {
		return "", errors.New("tool error: " + r.Content[0].Text)
	}
	return r.Content[0].Text, nil
}

// encodedResult is a tool result as a client decodes it, in one pass: many answers have several MB.
type encodedResult struct {
	Content []struct{ Text string }
	IsError bool
}

// text returns the text of a result. An error of the tool is an error.
func (r *encodedResult) text() (string, error) {
	decoded := &mcp.CallToolResult{IsError: r.IsError}
	for _, c := range r.Content {
		decoded.Content = append(decoded.Content, mcp.Text(c.Text))
	}
	return textOf(decoded)
}

// pause waits before the next call of a caller, and reports whether it should make one.
func pause(ctx context.Context, r *rand.Rand) bool {
	timer := time.NewTimer(between(r, 50*time.Millisecond, 450*time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// newCall draws a call.
func (w *world) newCall(r *rand.Rand, client string, caller, n int) *call {
	c := &call{
		client: client,
		tool:   toolRead,
		args: arguments{
			ID:    fmt.Sprintf("%s.%d.%d", client, caller, n),
			Micro: between(r, 0, 80*time.Millisecond).Microseconds(),
			Size:  r.IntN(300),
		},
		began: time.Since(w.began),
	}
	if r.IntN(2) == 0 {
		c.tool = toolWrite
	}
	if r.IntN(6) == 0 {
		c.args.Micro = between(r, 200*time.Millisecond, 1500*time.Millisecond).Microseconds()
	}
	if r.IntN(60) == 0 {
		c.args.Size = longAnswer + r.IntN(3<<20)
	}
	c.sent = c.began
	w.trace.add("%s begins %s %s", client, c.tool, c.args.ID)
	return c
}

// end records the end of a call.
func (c *call) end(w *world, err error) {
	c.ended = time.Since(w.began)
	if err != nil {
		c.err = err.Error()
	}
	w.trace.add("%s ends %s at %s by %s: %s %s", c.client, c.args.ID, c.entry, c.answer.By, c.outcome(), c.err)
	w.history.add(c)
}

// reply is a response to a request.
type reply struct {
	status  int
	session string
	body    []byte
	entry   string
	sent    time.Time
	// begun means that the connection was lost after the head of the response.
	begun bool
}

// post sends a message, to the machine named target unless it is "".
func (u *user) post(ctx context.Context, target, body string) (reply, error) {
	r := reply{sent: time.Now()}
	ctx = context.WithValue(ctx, targetKey{}, target)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if c, ok := info.Conn.(*conn); ok {
				r.entry = c.peer.host.name
				r.sent = time.Now()
			}
		},
	})
	req, err := u.request(ctx, http.MethodPost, strings.NewReader(body))
	if err != nil {
		return r, err
	}
	resp, err := u.http.Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	r.status = resp.StatusCode
	r.session = resp.Header.Get("Mcp-Session-Id")
	r.body, err = io.ReadAll(resp.Body)
	if err != nil {
		r.status, r.begun = 0, true
		return r, err
	}
	if mediatype.Of(resp.Header.Get("Content-Type")) == mediatype.EventStream {
		r.body = lastEvent(r.body)
	}
	return r, nil
}

// request returns a request with the header fields of the user's session, if there is one.
func (u *user) request(
	ctx context.Context,
	method string,
	body io.Reader,
) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, endpoint, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if u.token != "" {
		req.Header.Set("Authorization", "Bearer "+u.token)
	}
	if u.session != "" {
		req.Header.Set("Mcp-Session-Id", u.session)
		req.Header.Set("Mcp-Protocol-Version", u.version)
	}
	return req, nil
}

// lastEvent returns the data of the last event of a stream.
func lastEvent(b []byte) []byte {
	var last []byte
	for line := range bytes.Lines(b) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			last = bytes.TrimSpace(data)
		}
	}
	return last
}

// begin starts the session, and subscribes.
func (u *user) begin(ctx context.Context) error {
	r, err := u.post(ctx, "", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,`+
		`"capabilities":{},"clientInfo":{"name":%q,"version":"1"}}}`, u.version, u.name))
	if err != nil || r.status != http.StatusOK {
		return fmt.Errorf("status %d, %s: %w", r.status, r.body, err)
	}
	u.session = r.session
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"` + resource + `"}}`,
	} {
		if r, err = u.post(ctx, "", body); err != nil || r.status/100 != 2 {
			return fmt.Errorf("status %d, %s: %w", r.status, r.body, err)
		}
	}
	return nil
}

// call calls tools until ctx ends.
func (u *user) call(ctx context.Context, caller int) {
	r := stream(u.world.seed, u.name+"/"+strconv.Itoa(caller))
	for n := 0; pause(ctx, r); n++ {
		u.callOnce(u.world.newCall(r, u.name, caller, n), "")
	}
}

// callOnce makes a call and records it.
func (u *user) callOnce(c *call, target string) {
	c.session = true
	ctx, cancel := context.WithTimeout(context.Background(), longestRequest)
	defer cancel()
	c.args.Progress = hash(u.world.seed, "progress", c.args.ID, 0)%3 == 0
	raw, _ := json.Marshal(c.args)
	r, err := u.post(ctx, target, fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q,`+
		`"arguments":%s,"_meta":{"progressToken":1}}}`, c.args.ID, c.tool, raw))
	c.status, c.entry, c.sent, c.begun = r.status, r.entry, r.sent.Sub(u.world.began), r.begun
	if err == nil {
		c.answer, err = u.parse(&r, c)
	}
	c.end(u.world, err)
}

// parse parses the answer to a call.
func (u *user) parse(r *reply, c *call) (answer, error) {
	var m struct {
		ID     any
		Result *encodedResult
		Error  json.RawMessage
	}
	err := json.Unmarshal(r.body, &m)
	if err == nil && m.Result == nil && m.Error == nil {
		err = errors.New("the stream has ended without an answer")
	}
	if err != nil {
		u.world.violate("I1: %s: status %d: %v", c.args.ID, r.status, err)
		return answer{}, err
	}
	if m.Error != nil || r.status != http.StatusOK {
		return answer{}, fmt.Errorf("%s", m.Error)
	}
	text, err := m.Result.text()
	if err != nil {
		return answer{}, err
	}
	a, err := parseAnswer(text, &c.args)
	if err != nil || m.ID != c.args.ID {
		u.world.violate("I1: %s: id %v: %v", c.args.ID, m.ID, err)
	}
	return a, err
}

// levels are those that a user sets one after the other.
var levels = []string{"alert", "debug", "critical", "error", "notice", "emergency", "warning"}

// setLevels changes the log level until ctx ends. One that is refused is tried again.
func (u *user) setLevels(ctx context.Context) {
	r := stream(u.world.seed, u.name+"/levels")
	for n := 0; pause(ctx, r); {
		s := &setting{
			client: u.name,
			level:  levels[n%len(levels)],
			began:  time.Since(u.world.began),
		}
		limited, cancel := context.WithTimeout(context.Background(), longestRequest)
		re, err := u.post(limited, "", fmt.Sprintf(
			`{"jsonrpc":"2.0","id":"l%d","method":"logging/setLevel","params":{"level":%q}}`, n, s.level))
		cancel()
		s.ended = time.Since(u.world.began)
		s.acknowledged = err == nil && re.status == http.StatusOK && !bytes.Contains(re.body, []byte(`"error"`))
		u.world.trace.add("%s sets level %s: %v %d", u.name, s.level, s.acknowledged, re.status)
		u.world.history.set(s)
		if s.acknowledged {
			n++
		}
	}
}

// listen reads the notification stream until ctx ends, and opens it again whenever it ends.
func (u *user) listen(ctx context.Context) {
	r := stream(u.world.seed, u.name+"/stream")
	last := ""
	for {
		last = u.readStream(ctx, last)
		if !pause(ctx, r) {
			return
		}
	}
}

// readStream reads one stream to its end, and returns the id of the last event.
func (u *user) readStream(ctx context.Context, last string) string {
	req, err := u.request(ctx, http.MethodGet, nil)
	if err != nil {
		return last
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := u.http.Do(req)
	if err != nil {
		return last
	}
	defer resp.Body.Close()
	u.world.trace.add("%s listens: %d", u.name, resp.StatusCode)
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			last = id
		}
		if strings.Contains(lines.Text(), "notifications/resources/updated") {
			u.world.trace.add("%s is notified", u.name)
			u.world.history.notify(u.name, time.Since(u.world.began))
		}
	}
	return last
}

// reportChanges makes the source of some replica report a change from time to time, until ctx ends.
func (w *world) reportChanges(ctx context.Context, purpose string) {
	r := stream(w.seed, purpose)
	for {
		for range 4 {
			if !pause(ctx, r) {
				return
			}
		}
		w.changeAt(w.machines[r.IntN(len(w.machines))])
	}
}

// changeAt makes the source of a machine report a change.
func (w *world) changeAt(m *machine) {
	p := m.running()
	if p == nil {
		return
	}
	w.trace.add("%s reports a change", m.name)
	w.history.changed(change{
		machine: m.name,
		at:      time.Since(w.began),
	})
	p.app.change()
}

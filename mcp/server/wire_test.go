package server_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata/wire; review them like code")

// TestWire plays the conversations in testdata/wire. Each file starts with a description
// of what it guards. Its first section contains the client's messages, one per line, and
// names the source that receives them:
//
//	-- to demo --             in a session, or in an envelope, of every version
//	-- to demo as written --  without handshake or envelope; $VERSION varies
//	-- to demo on stdio --    on one of the transports only
//	-- to demo beyond the schema --  with content that no version knows
//
// The sections after it contain the server's messages, also one per line, and name the
// versions. Versions share a section if their answers are byte for byte the same, and so do
// HTTP and stdio.
func TestWire(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "wire", "*.txtar"))
	if err != nil || len(files) < 30 {
		t.Fatalf("found %d conversations (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { testWire(t, file) })
	}
}

func testWire(t *testing.T, file string) {
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	archive := txtar.Parse(want)
	if len(archive.Files) == 0 || len(strings.TrimSpace(string(archive.Comment))) == 0 {
		t.Fatal("a conversation needs a comment and messages")
	}
	c := newConversation(t, archive.Files[0])
	archive.Files = append(archive.Files[:1], c.play(t)...)
	got := txtar.Format(archive)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// conversation is the client's part of a conversation.
type conversation struct {
	source    func() mcp.Source
	asWritten bool
	beyond    bool   // the answers contain content that is in no version's schema
	only      string // "http", "stdio" or empty
	messages  []string
}

func newConversation(t *testing.T, f txtar.File) *conversation {
	c := &conversation{messages: strings.Split(strings.TrimSuffix(string(f.Data), "\n"), "\n")}
	rest, ok := strings.CutPrefix(f.Name, "to demo")
	c.source = func() mcp.Source { return newDemo() }
	if !ok {
		rest, ok = strings.CutPrefix(f.Name, "to gallery")
		c.source = func() mcp.Source { return newGallery() }
	}
	if !ok {
		t.Fatalf("section %q: want demo or gallery", f.Name)
	}
	rest, c.asWritten = strings.CutPrefix(rest, " as written")
	rest, c.beyond = strings.CutPrefix(rest, " beyond the schema")
	rest, c.only, _ = strings.Cut(rest, " on ")
	if rest != "" {
		t.Fatalf("section %q: cannot read %q", f.Name, rest)
	}
	return c
}

// play plays the conversation in every version and on both transports, and groups equal
// answers.
func (c *conversation) play(t *testing.T) []txtar.File {
	type answers struct{ where, text string }
	var found []answers
	names := make(map[answers][]string)
	note := func(where, version, text string) {
		a := answers{where, text}
		if names[a] == nil {
			found = append(found, a)
		}
		names[a] = append(names[a], version)
	}
	versions := mcp.Versions()
	slices.Reverse(versions)
	if c.asWritten && !strings.Contains(strings.Join(c.messages, ""), "$VERSION") {
		versions = versions[:1]
	}
	for _, v := range versions {
		name := v.String()
		if len(versions) == 1 {
			name = "answers"
		}
		overHTTP, overStdio := c.overHTTP(t, v), c.overStdio(t, v)
		if !c.asWritten && !c.beyond {
			client, _ := c.inVersion(v)
			checkTruth(t, v, client, overHTTP)
			checkTruth(t, v, client, overStdio)
		}
		switch {
		case c.only == "http" || c.only == "" && overHTTP == overStdio:
			note("", name, overHTTP)
		case c.only == "stdio":
			note("", name, overStdio)
		default:
			note("http ", name, overHTTP)
			note("stdio ", name, overStdio)
		}
	}
	var files []txtar.File
	for _, a := range found {
		files = append(files, txtar.File{Name: a.where + strings.Join(names[a], " "), Data: []byte(a.text)})
	}
	return files
}

const handshake = `{"jsonrpc":"2.0","id":"handshake","method":"initialize","params":{"protocolVersion":"$VERSION",` +
	`"capabilities":{},"clientInfo":{"name":"wire","version":"1"}}}`

// inVersion returns the messages of the conversation as written by a client of version v,
// and the number of messages that only start it.
func (c *conversation) inVersion(v mcp.Version) (messages []string, preamble int) {
	if !c.asWritten && !v.Modern() {
		messages = append(messages, handshake, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	preamble = len(messages)
	for _, m := range c.messages {
		if !c.asWritten && v.Modern() {
			m = inEnvelope(m)
		}
		messages = append(messages, m)
	}
	for i := range messages {
		messages[i] = strings.ReplaceAll(messages[i], "$VERSION", v.String())
	}
	return messages, preamble
}

// inEnvelope adds the members that 2026-07-28 requires in every request, and keeps the
// other bytes of the message.
func inEnvelope(m string) string {
	const members = `"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}`
	switch {
	case !strings.HasPrefix(m, "{") || !strings.Contains(m, `"method"`) || !json.Valid([]byte(m)):
		return m
	case strings.Contains(m, `"_meta":{}`):
		return strings.Replace(m, `"_meta":{}`, `"_meta":{`+members+`}`, 1)
	case strings.Contains(m, `"_meta":{`):
		return strings.Replace(m, `"_meta":{`, `"_meta":{`+members+`,`, 1)
	case strings.Contains(m, `"_meta":`):
		return m
	case strings.Contains(m, `"params":{}`):
		return strings.Replace(m, `"params":{}`, `"params":{"_meta":{`+members+`}}`, 1)
	case strings.Contains(m, `"params":{`):
		return strings.Replace(m, `"params":{`, `"params":{"_meta":{`+members+`},`, 1)
	case strings.Contains(m, `"params"`):
		return m
	}
	return strings.TrimSuffix(m, "}") + `,"params":{"_meta":{` + members + `}}}`
}

func (c *conversation) overStdio(t *testing.T, v mcp.Version) (got string) {
	if c.only == "http" {
		return ""
	}
	synctest.Test(t, func(t *testing.T) {
		p := startPipe(t, c.source(), nil)
		messages, preamble := c.inVersion(v)
		for i, m := range messages {
			p.send(m)
			if answers := p.received(); i >= preamble {
				got += answers
			}
		}
		if err := p.close(); err != nil {
			t.Errorf("%v over stdio: ServeStdio = %v", v, err)
		}
		got += p.received()
	})
	return got
}

// stdioPipe is a server on a pair of streams, in a synctest bubble. Time only passes
// there when nothing else can happen, so all answers are available without waiting.
type stdioPipe struct {
	t   *testing.T
	in  *io.PipeWriter
	out lockedBuffer
	end chan error
}

func startPipe(t *testing.T, source mcp.Source, opts *server.StdioOptions) *stdioPipe {
	return startPipeUnder(t.Context(), t, source, opts)
}

func startPipeUnder(ctx context.Context, t *testing.T, source mcp.Source, opts *server.StdioOptions) *stdioPipe {
	in, w := io.Pipe()
	p := &stdioPipe{t: t, in: w, end: make(chan error, 1)}
	go func() { p.end <- server.New(source, nil).ServeStdio(ctx, in, &p.out, opts) }()
	return p
}

// send writes one line.
func (p *stdioPipe) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// received returns what the server has written since the last call, after waiting until
// it is idle.
func (p *stdioPipe) received() string {
	synctest.Wait()
	return p.out.take()
}

func (p *stdioPipe) close() error {
	p.in.Close()
	return <-p.end
}

type lockedBuffer struct {
	mu     sync.Mutex
	buf    bytes.Buffer
	writes int
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes++
	return b.buf.Write(p)
}

func (b *lockedBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.buf.String()
	b.buf.Reset()
	return s
}

func (c *conversation) overHTTP(t *testing.T, v mcp.Version) (got string) {
	if c.only == "stdio" {
		return ""
	}
	h := server.New(c.source(), nil).HTTPHandler(nil)
	session, negotiated := "", ""
	messages, preamble := c.inVersion(v)
	for i, m := range messages {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(m))
		r.Header = clientHeader(m)
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		if !c.asWritten && v.Modern() {
			negotiated = v.String()
		}
		if negotiated != "" && r.Header.Get("MCP-Protocol-Version") == "" {
			r.Header.Set("MCP-Protocol-Version", negotiated)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if id := w.Header().Get("Mcp-Session-Id"); id != "" {
			session, negotiated = id, negotiatedIn(w.Body.Bytes())
		}
		answers := messagesOf(t, w)
		modern := v.Modern() && !c.asWritten || r.Header.Get("MCP-Protocol-Version") >= "2026"
		checkResponse(t, modern, m, w, answers)
		if i >= preamble {
			got += answers
		}
	}
	return got
}

func negotiatedIn(answer []byte) string {
	var w struct {
		Result struct{ ProtocolVersion string }
	}
	_ = json.Unmarshal(answer, &w)
	return w.Result.ProtocolVersion
}

// clientHeader returns the header that a well-behaved client sends with a message.
func clientHeader(m string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	var w struct {
		Method string `json:"method"`
		Params struct {
			Name *string `json:"name"`
			URI  *string `json:"uri"`
			Task *string `json:"taskId"`
			Meta struct {
				Version string `json:"io.modelcontextprotocol/protocolVersion"`
			} `json:"_meta"`
		} `json:"params"`
	}
	_ = json.Unmarshal([]byte(m), &w)
	if w.Params.Meta.Version == "" {
		return h
	}
	h.Set("MCP-Protocol-Version", w.Params.Meta.Version)
	h.Set("Mcp-Method", w.Method)
	for _, name := range []*string{w.Params.Name, w.Params.URI, w.Params.Task} {
		if name != nil {
			h.Set("Mcp-Name", "=?base64?"+base64.StdEncoding.EncodeToString([]byte(*name))+"?=")
		}
	}
	return h
}

// messagesOf returns the messages in a response, one per line.
func messagesOf(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	body := w.Body.String()
	if w.Header().Get("Content-Type") != "text/event-stream" {
		if body == "" {
			return ""
		}
		return strings.ReplaceAll(body, "\n", "") + "\n"
	}
	got := ""
	for event := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		_, data, ok := strings.Cut(event, "data: ")
		if !ok || strings.Contains(data, "\n") {
			t.Errorf("event %q: want one line of data", event)
		}
		if data != "" {
			got += data + "\n"
		}
	}
	return got
}

// checkResponse checks the requirements for the response to any message.
func checkResponse(t *testing.T, modern bool, m string, w *httptest.ResponseRecorder, answers string) {
	t.Helper()
	contentType := w.Header().Get("Content-Type")
	n := strings.Count(answers, "\n")
	switch {
	case n == 0 && (w.Code != http.StatusAccepted || contentType != ""):
		t.Errorf("%s\nno answer with status %d and type %q, want 202 without a type", m, w.Code, contentType)
	case n == 1 && contentType != "application/json":
		t.Errorf("%s\none answer of type %q, want application/json", m, contentType)
	case n > 1 && contentType != "text/event-stream":
		t.Errorf("%s\n%d answers of type %q, want text/event-stream", m, n, contentType)
	case n > 0 && w.Code != wantStatus(modern, answers):
		t.Errorf("%s\nstatus %d of %swant %d", m, w.Code, answers, wantStatus(modern, answers))
	}
}

// wantStatus derives the status from the error: invalid requests, and the errors that
// 2026-07-28 specifies, are not 200.
func wantStatus(modern bool, answers string) int {
	var e struct {
		Error struct {
			Code    mcp.Code
			Message string
		}
	}
	_ = json.Unmarshal([]byte(answers), &e)
	switch e.Error.Code {
	case mcp.CodeParseError, mcp.CodeInvalidRequest:
		return http.StatusBadRequest
	case mcp.CodeMethodNotFound:
		if modern {
			return http.StatusNotFound
		}
	case mcp.CodeHeaderMismatch, mcp.CodeMissingClientCapability, mcp.CodeUnsupportedProtocolVersion:
		return http.StatusBadRequest
	case mcp.CodeInvalidParams:
		if modern && strings.HasPrefix(e.Error.Message, "params._meta") {
			return http.StatusBadRequest
		}
	}
	return http.StatusOK
}

package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

func newReader(text []byte) io.ReadSeeker { return bytes.NewReader(text) }

// serveDiff serves GET api/diff: where two messages differ.
func (in *Inspector) serveDiff(w http.ResponseWriter, r *http.Request) error {
	_, a, err := in.frame(r.URL.Query().Get("a"))
	if err != nil {
		return err
	}
	_, b, err := in.frame(r.URL.Query().Get("b"))
	if err != nil {
		return err
	}
	list, err := mcplog.CompareMessages(a, b)
	if err != nil {
		return badRequest("these frames are not JSON: %v", err)
	}
	return answer(w, map[string]any{"differences": append([]mcplog.Difference{}, list...)})
}

// serveRecord serves GET api/record: the kept frames as a recording.
func (in *Inspector) serveRecord(w http.ResponseWriter, r *http.Request) error {
	f, wrong := parseFilter(r.URL.Query().Get("q"))
	if wrong != nil {
		return badRequest("%s", wrong.text)
	}
	header := &mcplog.Header{
		Started: in.started.UTC(),
		By:      in.opts.By,
	}
	for _, t := range in.all() {
		header.Sources = append(header.Sources, mcplog.Source{
			ID:   t.id,
			Name: t.src.Name,
		})
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Content-Disposition",
		`attachment; filename="inspect-`+time.Now().Format("20060102-150405")+`.mcplog"`)
	log, err := mcplog.NewWriter(w, header, nil)
	if err != nil {
		return nil //nolint:nilerr // the client has gone
	}
	if first, _ := in.store.bounds(); first > 1 {
		log.Append(&mcplog.Event{
			Nanoseconds: header.Started.UnixNano(),
			Kind:        mcplog.Gap,
			Error:       fmt.Sprintf("%d earlier messages are no longer stored", first-1),
		})
	}
	in.exchanges(func(x *exchange) bool {
		if !f.matches(x) {
			return true
		}
		e, ok := x.event()
		if !ok {
			e = &mcplog.Event{
				Source:      x.Source,
				Nanoseconds: x.Nanoseconds,
				Kind:        mcplog.Gap,
				Error:       "the message is no longer stored",
			}
		}
		log.Append(e)
		return r.Context().Err() == nil
	})
	return nil
}

// maxRecording limits the recordings that the page opens: the size of an upload, and the memory of
// all together.
const maxRecording = 512 << 20

// serveOpen serves POST api/open: it shows a recording as another source.
func (in *Inspector) serveOpen(w http.ResponseWriter, r *http.Request) error {
	if len(in.all()) >= maxSources {
		return failure(http.StatusConflict, "too_many", "there are %d sources already", maxSources)
	}
	in.opening.Lock()
	defer in.opening.Unlock()
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(in.uploadPatience)) // others wait
	rec, err := mcplog.ReadMax(http.MaxBytesReader(w, r.Body, maxRecording), in.maxOpened-in.opened)
	var large *http.MaxBytesError
	if errors.As(err, &large) || errors.Is(err, mcplog.ErrTooLarge) {
		f := failure(http.StatusRequestEntityTooLarge, "too_large",
			"the recordings opened on this page need more than %d bytes", in.maxOpened)
		f.Hint = "open it with: slipway inspect FILE.mcplog"
		return f
	}
	if err != nil {
		return badRequest("%v", err)
	}
	in.opened += rec.Memory
	name := "recording"
	if len(rec.Header.Sources) > 0 {
		name = rec.Header.Sources[0].Name + " (recording)"
	}
	t := in.addSource(&Source{
		Name:      name,
		Label:     "recording of " + rec.Header.Started.Format(time.RFC3339),
		Recording: name,
		recording: rec,
	})
	return answer(w, map[string]int{"source": t.id})
}

// maxSources limits the sources, as the page can add recordings.
const maxSources = 100

// openRecording shows the frames of a recording, and connects to a server that answers as
// recorded. Several servers are no one server, so only their frames are shown.
func (t *target) openRecording(attempt int) {
	rec, err := t.src.readRecording()
	if err != nil {
		t.fail(nil, attempt, err)
		return
	}
	t.addRecorded(rec)
	var connected atomic.Bool // the handshake of the page is not part of the recording
	var live *client.Source
	if rec, err = rec.OfServer(""); err == nil {
		events := t.in.feed.tap(t.id)
		script := mcplog.NewScript(rec)
		live, err = client.Open(t.in.quit, &client.Dialer{
			Name: t.src.Name,
			Dial: func(context.Context) (server.Conn, error) { return script.Dial(t.in.quit) },
		}, &client.Options{
			Name: t.src.Name,
			Tap: func(e *tap.Event) {
				if connected.Load() {
					events(e)
				}
			},
		})
	}
	var cat *mcp.Catalog
	if err == nil {
		cat, err = live.Catalog(t.in.quit)
		connected.Store(true)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if attempt != t.attempt {
		if live != nil {
			_ = live.Close() // nothing was written
		}
		return
	}
	t.phase = phaseRecording
	t.since = time.Now()
	t.touch()
	if live == nil {
		return // several servers, or no handshake: its frames are all there is
	}
	t.closer = live
	t.client = live
	if err == nil {
		t.catalog = cat
		t.facts = factsOf(cat)
	}
}

// addRecorded adds the frames of a recording.
func (t *target) addRecorded(rec *mcplog.Recording) {
	// Each server of a recording, and the side of its clients, has streams and ids of its own.
	streams := make(map[streamKey]uint64)
	for i := range rec.Events {
		e := rec.Events[i]
		origin := e.Source + 1
		if recorded := (streamKey{e.Source, e.Stream}); e.Stream != 0 {
			if streams[recorded] == 0 {
				streams[recorded] = uint64(len(streams) + 1)
			}
			e.Stream = streams[recorded]
		}
		if e.Source == 0 && e.Direction != "" { // recorded at the server's side
			e.Direction = opposite(e.Direction)
		}
		e.Source = t.id
		t.in.feed.after(func() { t.in.feed.add(&e, origin) })
	}
	if !rec.Cut {
		return
	}
	last := rec.Header.Started.UnixNano()
	if n := len(rec.Events); n > 0 {
		last = rec.Events[n-1].Nanoseconds
	}
	t.in.feed.after(func() {
		t.in.feed.add(&mcplog.Event{
			Source:      t.id,
			Nanoseconds: last,
			Kind:        mcplog.Gap,
			Error:       "the last line of the recording is incomplete",
		}, 0)
	})
}

// opposite returns the direction of the answer to a message.
func opposite(d mcplog.Direction) mcplog.Direction {
	if d == mcplog.In {
		return mcplog.Out
	}
	return mcplog.In
}

// serveCopy serves GET api/frames/SEQ/copy: a request in a form for other programs.
func (in *Inspector) serveCopy(w http.ResponseWriter, r *http.Request) error {
	f, body, err := in.frame(r.PathValue("seq"))
	if err != nil {
		return err
	}
	as := r.URL.Query().Get("as")
	if as == "frame" {
		return answer(w, map[string]string{"text": string(body)})
	}
	if f.Kind != mcplog.Request && f.Pair != 0 {
		if f, body, err = in.frame(strconv.FormatUint(f.Pair, 10)); err != nil {
			return err
		}
	}
	if f.Kind != mcplog.Request {
		return badRequest("only a request can be copied as %s", as)
	}
	t, err := in.target(f.Source)
	if err != nil {
		return err
	}
	var message struct {
		Params json.RawMessage `json:"params"`
	}
	_ = json.Unmarshal(body, &message) // it is valid: it was classified as a request
	c := &copied{
		frame:    f,
		body:     body,
		params:   message.Params,
		argument: t.src.Argument,
		url:      in.urlOf(f),
		headers:  in.headersOf(f),
	}
	text, err := c.as(as)
	if err != nil {
		return err
	}
	return answer(w, map[string]string{"text": text})
}

// urlOf returns the URL that an HTTP request was sent to, or "".
func (in *Inspector) urlOf(f *Frame) string {
	if head := in.headOf(f); head != nil {
		return head.URL
	}
	return ""
}

// headersOf returns the header of the HTTP exchange that carried a frame, or nil.
func (in *Inspector) headersOf(f *Frame) http.Header {
	if head := in.headOf(f); head != nil {
		return head.Header
	}
	return nil
}

// headOf returns the head of the HTTP request that carried a message, or nil.
func (in *Inspector) headOf(f *Frame) *Frame {
	for seq := f.Seq; seq > 0 && seq+20 > f.Seq; seq-- {
		h := in.store.get(seq)
		if h != nil &&
			h.Source == f.Source &&
			h.Stream == f.Stream &&
			h.URL != "" {
			return h
		}
	}
	return nil
}

// copied is a request to be written for another program.
type copied struct {
	// frame is what to copy, and body its whole text.
	frame *Frame
	body  []byte
	// params are those of the request.
	params   json.RawMessage
	argument []string // the source on the command line
	// url and headers are those of the HTTP request, if there was one.
	url     string
	headers http.Header
}

// as renders a call in one of the forms in which the page copies it.
func (c *copied) as(form string) (string, error) {
	switch form {
	case "curl":
		return c.curl()
	case "slipway":
		return c.slipway()
	case "gotest":
		return c.goTest()
	case "call":
		return c.saved(), nil
	}
	return "", badRequest("unknown format %q: use frame, curl, slipway, gotest or call", form)
}

// curl returns a command that sends the same request.
func (c *copied) curl() (string, error) {
	if c.url == "" {
		return "", badRequest("curl sends HTTP, and this request used %s", c.frame.Channel)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "curl -sS %s", process.POSIXWord(c.url))
	for _, name := range []string{"Content-Type", "Accept", "Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method",
		"Mcp-Name"} {
		if value := c.headers.Get(name); value != "" {
			fmt.Fprintf(&b, " \\\n  -H %s", process.POSIXWord(name+": "+value))
		}
	}
	if c.headers.Get("Authorization") != "" {
		b.WriteString(" \\\n  -H \"Authorization: Bearer $MCP_CLIENT_TOKEN\"")
	}
	fmt.Fprintf(&b, " \\\n  --data-raw %s", process.POSIXWord(string(c.body)))
	return b.String(), nil
}

// slipway returns a command line of Slipway that does the same.
func (c *copied) slipway() (string, error) {
	name := mcplog.RequestName(c.params)
	if strings.HasPrefix(name, "-") {
		return "", badRequest("this call has no command: slipway would take the name %q for a flag", name)
	}
	line := func(verb string, words ...string) string {
		return commandLine(c.argument, "slipway "+verb, strings.Join(words, " "))
	}
	switch c.frame.Method {
	case "tools/call":
		arguments := "{}"
		if raw := memberOf(c.params, "arguments"); raw != nil {
			arguments = string(raw)
		}
		return line("call", process.ShellWord(name), "--json-args", process.ShellWord(arguments)), nil
	case "resources/read":
		return line("read", process.ShellWord(name)), nil
	case "prompts/get":
		words := []string{process.ShellWord(name)}
		for _, m := range fieldsOf(memberOf(c.params, "arguments")) {
			words = append(words, process.ShellWord(m[0]+"="+m[1]))
		}
		return line("prompt", words...), nil
	case "tools/list", "resources/list", "prompts/list":
		return line("ls"), nil
	}
	return "", badRequest("slipway has no command for %s", c.frame.Method)
}

// goTest returns a test in Go that makes the same request.
func (c *copied) goTest() (string, error) {
	name := mcplog.RequestName(c.params)
	call := ""
	switch c.frame.Method {
	case "tools/call":
		arguments := "{}"
		if raw := memberOf(c.params, "arguments"); raw != nil {
			arguments = string(raw)
		}
		call = fmt.Sprintf("src.CallTool(t.Context(), &mcp.CallToolParams{\n\t\tName:      %s,\n\t\tArguments: "+
			"json.RawMessage(%s),\n\t})", strconv.Quote(name), goQuote(arguments))
	case "resources/read":
		call = fmt.Sprintf("src.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: %s})", strconv.Quote(name))
	default:
		return "", badRequest("a test is made from tools/call and resources/read")
	}
	imports := "\t\"testing\"\n\n\t\"github.com/slipway-mcp/slipway/mcp\"\n\t\"github.com/slipway-mcp/slipway/open\"\n"
	if c.frame.Method == "tools/call" {
		imports = "\t\"encoding/json\"\n" + imports
	}
	checks := ""
	if c.frame.Method == "tools/call" {
		checks = "\tif got, err := result.Decode(); err != nil || got.IsError {\n\t\tt.Fatal(got.Content, err)\n\t}\n"
	} else {
		checks = "\tif got, err := result.Decode(); err != nil || len(got.Contents) == 0 {\n\t\tt.Fatal(got, err)\n\t}\n"
	}
	return "package x_test\n\nimport (\n" + imports + ")\n\nfunc Test" + goName(name) + "(t *testing.T) {\n" +
		"\tsrc, err := open.Open(t.Context(), " + openArgument(c.argument) + ", nil)\n" +
		"\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n" +
		"\tif c, ok := src.(interface{ Close() error }); ok {\n\t\tdefer c.Close()\n\t}\n" +
		"\tresult, err := " + call + "\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n" + checks + "}\n", nil
}

// saved returns the request as an entry of a file of saved calls.
func (c *copied) saved() string {
	entry := map[string]any{
		"name":   strings.TrimSpace(c.frame.Method + " " + mcplog.RequestName(c.params)),
		"method": c.frame.Method,
	}
	if c.params != nil {
		entry["params"] = withoutMeta(c.params)
	}
	text, _ := json.MarshalIndent(entry, "", "  ") // it can always be encoded
	return string(text)
}

// openArgument returns the argument of open.Open in Go.
func openArgument(argument []string) string {
	switch {
	case len(argument) == 0:
		return `"SOURCE"`
	case argument[0] != "--":
		return strconv.Quote(filepath.ToSlash(argument[0]))
	}
	var words []string
	for _, w := range argument[1:] {
		words = append(words, strconv.Quote(w))
	}
	return "open.Command([]string{" + strings.Join(words, ", ") + "})"
}

// goName returns a name for a test.
func goName(name string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool {
		return r > 127 ||
			!(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	}) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	if b.Len() == 0 {
		return "Call"
	}
	return b.String()
}

// goQuote returns a string literal of Go, in backquotes if that is possible.
func goQuote(text string) string {
	if strconv.CanBackquote(text) {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}

package staticmcp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// fakeHost is a web host below /base/. Its handling of a path can be overridden; by
// default it serves its files and answers 404 for all other paths.
type fakeHost struct {
	t     testing.TB
	files fstest.MapFS

	mu       sync.Mutex
	special  map[string]http.HandlerFunc // by path below the base
	all      func(http.ResponseWriter, *http.Request) bool
	requests []string // method and request URI
}

func newFakeHost(t testing.TB, files fstest.MapFS) *fakeHost {
	return &fakeHost{t: t, files: files, special: map[string]http.HandlerFunc{}}
}

func (h *fakeHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.requests = append(h.requests, r.Method+" "+r.URL.EscapedPath())
	all := h.all
	special := h.special[strings.TrimPrefix(r.URL.Path, "/base/")]
	file := h.files[strings.TrimPrefix(r.URL.Path, "/base/")]
	h.mu.Unlock()
	switch {
	case r.Method != http.MethodGet:
		h.t.Errorf("the host is asked %s %s, and may know GET alone", r.Method, r.URL)
	case strings.Contains(r.URL.Path, "//"):
		h.t.Errorf("the host is asked for %s, and may redirect a double slash", r.URL.Path)
	case !strings.HasPrefix(r.URL.EscapedPath(), "/base/"), !strings.HasPrefix(path.Clean(r.URL.Path), "/base/"):
		h.t.Errorf("the host is asked for %s, which is not in the site", r.URL.Path)
	case all != nil && all(w, r):
	case special != nil:
		special(w, r)
	case file == nil:
		http.NotFound(w, r)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Write(file.Data)
	}
}

// on sets the handler of a path.
func (h *fakeHost) on(path string, f http.HandlerFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.special[path] = f
}

// put sets a file.
func (h *fakeHost) put(path, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.files[path] = &fstest.MapFile{Data: []byte(text)}
}

// fail sets whether everything fails.
func (h *fakeHost) fail(status int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = nil
	if status != 0 {
		h.all = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(status); return true }
	}
}

// asked returns the requests since the last call.
func (h *fakeHost) asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	requests := h.requests
	h.requests = nil
	return requests
}

const webManifest = `{"protocolVersion":"2025-06-18","serverInfo":{"name":"web","version":"1"},"capabilities":{
	"resources":[{"uri":"r://a","name":"a","description":"d","mimeType":"text/plain"}],
	"tools":[{"name":"get","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"string"}},` +
	`"required":["x"]}}]}}`

func webFiles() fstest.MapFS {
	return fstest.MapFS{
		"mcp.json":         {Data: []byte(webManifest)},
		"tools/get/a.json": {Data: []byte(`{"content":[{"type":"text","text":"first"}]}`)},
		"tools/get/b.json": {Data: []byte(`{"content":[{"type":"text","text":"b"}]}`)},
		"resources/a.json": {Data: []byte(`{"uri":"r://a","mimeType":"text/plain","text":"first"}`)},
	}
}

func openHost(t testing.TB, h http.Handler, opts *staticmcp.Options) *staticmcp.Site {
	t.Helper()
	site, err := openHostErr(t, h, opts)
	if err != nil {
		t.Fatal(err)
	}
	return site
}

func openHostErr(t testing.TB, h http.Handler, opts *staticmcp.Options) (*staticmcp.Site, error) {
	t.Helper()
	var with staticmcp.Options
	if opts != nil {
		with = *opts
	}
	with.HTTPClient = handled(h)
	site, err := staticmcp.OpenURL(context.Background(), "https://host.example/base", &with)
	if err == nil {
		t.Cleanup(func() { site.Close() })
	}
	return site, err
}

// callText calls the tool get and returns the text, and the error if there is one.
func callText(t testing.TB, site *staticmcp.Site, x string) (string, error) {
	t.Helper()
	arguments, err := json.Marshal(map[string]string{"x": x})
	if err != nil {
		t.Fatal(err)
	}
	r, err := site.CallTool(context.Background(), &mcp.CallToolParams{Name: "get", Arguments: arguments})
	if err != nil {
		return "", err
	}
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var decoded struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		t.Fatal(err)
	}
	if decoded.IsError {
		return "miss", nil
	}
	return decoded.Content[0].Text, nil
}

func wantText(t testing.TB, site *staticmcp.Site, x, want string) {
	t.Helper()
	if got, err := callText(t, site, x); err != nil || got != want {
		t.Errorf("get(%q) = %q, %v, want %q", x, got, err, want)
	}
}

// TestHostAnswers lists the responses of hosts and their meaning.
func TestHostAnswers(t *testing.T) {
	const answer = `{"content":[{"type":"text","text":"first"}]}`
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusMovedPermanently) }
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for name, tt := range map[string]struct {
		handler   http.HandlerFunc
		want      string // a text, "miss", or a part of an error
		retryable bool
	}{
		"200 with a web page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, "<!doctype html>")
		}, "miss", false},
		"200 with a web page said to be JSON": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, "\n<html>")
		}, "miss", false},
		"another content type": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/octet-stream")
			io.WriteString(w, answer)
		}, "first", false},
		"no content type": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			io.WriteString(w, answer)
		}, "first", false},
		"404":                      {status(404), "miss", false},
		"410":                      {status(410), "miss", false},
		"403 of an object store":   {status(403), "miss", false},
		"400 for a strange name":   {status(400), "miss", false},
		"401":                      {status(401), "the site's answer cannot be used", false},
		"429":                      {status(429), "https://host.example answers with status 429", true},
		"503":                      {status(503), "https://host.example answers with status 503", true},
		"redirect within the site": {redirect("/base/tools/get/b.json"), "b", false},
		"redirect to a neighbour":  {redirect("/other/tools/get/b.json"), "miss", false},
		"redirect above":           {redirect("/base/../secret.json"), "miss", false},
		"redirect above, escaped":  {redirect("/base/%2e%2e/secret.json"), "miss", false},
		"redirect elsewhere":       {redirect("https://other.example/base/tools/get/b.json"), "miss", false},
		"redirect to this machine": {redirect("http://127.0.0.1/base/tools/get/b.json"), "miss", false},
		"redirect without TLS":     {redirect("http://host.example/base/tools/get/b.json"), "miss", false},
		"redirect in a circle":     {redirect("/base/tools/get/a.json"), "miss", false},
		"invalid JSON": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"content":[`)
		}, "the site's answer cannot be used", false},
		"too large": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"content":[{"type":"text","text":"`+strings.Repeat("x", 5000)+`"}]}`)
		}, "larger than the limit of 4096 bytes", false},
		"too large, and says so": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000000")
		}, "larger than the limit of 4096 bytes", false},
		"cut short": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "4000")
			io.WriteString(w, answer)
		}, "https://host.example cannot be reached", true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFakeHost(t, webFiles())
			h.on("tools/get/a.json", tt.handler)
			site := openHost(t, h, &staticmcp.Options{Poll: -1, MaxFileBytes: 4096})
			got, err := callText(t, site, "a")
			if err == nil {
				if got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				return
			}
			var e *mcp.Error
			if !errors.As(err, &e) || e.Code != mcp.CodeInternalError || !strings.Contains(e.Message, tt.want) {
				t.Fatalf("got %v, want code %d and %q", err, mcp.CodeInternalError, tt.want)
			}
			if retryable := bytes.Contains(e.Data, []byte(`"retryable":true`)); retryable != tt.retryable {
				t.Errorf("data = %s, want retryable %v", e.Data, tt.retryable)
			}
		})
	}
}

func TestHostWithoutManifest(t *testing.T) {
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"404": {http.NotFound, "there is no mcp.json"},
		"503": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, "status 503"},
		"403": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, "status 403"},
		"a web page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>")
		}, "there is no mcp.json"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://user:secret@other.example/?token=secret", http.StatusFound)
		}, "redirects to an address outside of the site"},
		"not JSON": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"a":`) }, "not JSON"},
		"an array": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `[]`) }, "not a JSON object"},
		"too large": {
			func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat(" ", 2000)+"{}") },
			"limit of 1000 bytes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFakeHost(t, fstest.MapFS{})
			h.on("mcp.json", tt.handler)
			_, err := openHostErr(t, h, &staticmcp.Options{MaxManifestBytes: 1000})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got error %v, want %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error %q tells a secret", err)
			}
		})
	}
}

// TestUnreachable verifies that errors contain only the origin of an address.
func TestUnreachable(t *testing.T) {
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("dial tcp 10.1.2.3:443: no route to secret")
	})}
	_, err := staticmcp.OpenURL(t.Context(), "https://user:secret@host.example:8443/secret/path/",
		&staticmcp.Options{WebOptions: staticmcp.WebOptions{HTTPClient: client}})
	if err == nil ||
		strings.Contains(err.Error(), "secret") ||
		!strings.Contains(err.Error(), "https://host.example:8443 cannot be reached") {
		t.Errorf("got error %v, want one with the origin alone", err)
	}
}

func TestBaseURL(t *testing.T) {
	for name, tt := range map[string]struct{ base, want string }{
		"with a slash":        {"https://host.example/base/", ""},
		"without":             {"https://host.example/base", ""},
		"of the manifest":     {"https://host.example/base/mcp.json", ""},
		"of it, with a slash": {"https://host.example/base/mcp.json/", ""},
		"another scheme":      {"file:///base/", "must begin with http"},
		"no host":             {"https:///base/", "must begin with http"},
		"opaque":              {"x:../../site", "must begin with http"},
		"a query":             {"https://host.example/base/?token=secret", "query"},
		"a fragment":          {"https://host.example/base/#x", "query or a fragment"},
		"not a URL":           {"https://host.example/%zz", "cannot be parsed"},
		"a control sequence":  {"https://host.example/\x00", "cannot be parsed"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFakeHost(t, webFiles())
			site, err := staticmcp.OpenURL(t.Context(), tt.base, &staticmcp.Options{
				Poll:       -1,
				WebOptions: staticmcp.WebOptions{HTTPClient: handled(h)},
			})
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
					t.Errorf("got error %v, want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer site.Close()
			wantText(t, site, "a", "first")
		})
	}
}

// TestEscaping verifies that a name can only become a part of the path of an address.
func TestEscaping(t *testing.T) {
	files := webFiles()
	for _, name := range []string{"a?b", "c#d", "e%2ff", "g%41", "h i", "ü"} {
		files["tools/get/"+name+".json"] = &fstest.MapFile{Data: fmt.Appendf(nil, `{"content":[{"type":"text","text":%q}]}`,
			name)}
	}
	h := newFakeHost(t, files)
	site := openHost(t, h, &staticmcp.Options{Poll: -1})
	for _, name := range []string{"a?b", "c#d", "e%2ff", "g%41", "h i", "ü"} {
		wantText(t, site, name, name)
	}
	for _, name := range []string{
		"..", "../../x", "%2e%2e/%2e%2e", `..\..`, "//host/x", "a\x00b",
		"https://other.example/x",
	} {
		wantText(t, site, name, "miss")
	}
}

// TestFormIsLearnt verifies that a site in another layout costs one request per answer
// once the layout is known, and few requests per miss.
func TestFormIsLearnt(t *testing.T) {
	files := webFiles()
	for _, name := range []string{"A b", "C d", "E f"} {
		files["tools/get/"+name+".json"] = &fstest.MapFile{Data: []byte(`{"content":[{"type":"text","text":"x"}]}`)}
	}
	h := newFakeHost(t, files)
	site := openHost(t, h, &staticmcp.Options{Poll: -1})
	h.asked()
	wantText(t, site, "A b", "x")
	if got := h.asked(); len(got) != 2 {
		t.Errorf("the first answer costs %q, want two requests", got)
	}
	wantText(t, site, "C d", "x")
	if got := h.asked(); len(got) != 1 || got[0] != "GET /base/tools/get/C%20d.json" {
		t.Errorf("the second answer costs %q, want one request in the form that was found", got)
	}
	wantText(t, site, "docs://No/Such.Thing?", "miss")
	if got := h.asked(); len(got) != 6 || got[5] != "GET /base/.staticmcp/index.json" {
		t.Errorf("the first miss costs %q, want 5 requests and the index", got)
	}
	wantText(t, site, "docs://Nor/This?", "miss")
	if got := h.asked(); len(got) != 5 {
		t.Errorf("another miss costs %q, want 5 requests", got)
	}
	wantText(t, site, "docs://No/Such.Thing?", "miss")
	if got := h.asked(); len(got) != 0 {
		t.Errorf("a miss costs %q again", got)
	}
}

// TestRevalidation follows an answer through its lifetime at a host with entity tags.
func TestRevalidation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHost(t, webFiles())
		text, tag := "first", `"1"`
		var bodies, confirmed atomic.Int32
		h.on("tools/get/a.json", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "public, max-age=60, stale-if-error=300")
			w.Header().Set("ETag", tag)
			if r.Header.Get("If-None-Match") == tag {
				confirmed.Add(1)
				w.WriteHeader(http.StatusNotModified)
				return
			}
			bodies.Add(1)
			fmt.Fprintf(w, `{"content":[{"type":"text","text":%q}]}`, text)
		})
		site := openHost(t, h, &staticmcp.Options{Poll: -1})
		step := func(what string, wait time.Duration, want string, wantBodies, wantConfirmed int32) {
			t.Helper()
			time.Sleep(wait)
			wantText(t, site, "a", want)
			if bodies.Load() != wantBodies || confirmed.Load() != wantConfirmed {
				t.Errorf("%s: fetched %d times and confirmed %d times, want %d and %d",
					what, bodies.Load(), confirmed.Load(), wantBodies, wantConfirmed)
			}
		}
		step("at first", 0, "first", 1, 0)
		step("while fresh", 59*time.Second, "first", 1, 0)
		step("after its time", 2*time.Second, "first", 1, 1)
		step("fresh again", 59*time.Second, "first", 1, 1)
		text, tag = "second", `"2"`
		step("changed", 2*time.Second, "second", 2, 1)
		h.fail(503)
		step("the host is down", 61*time.Second, "second", 2, 1)
		time.Sleep(301 * time.Second)
		if _, err := callText(t, site, "a"); err == nil {
			t.Error("an answer is given longer than stale-if-error allows")
		}
		h.fail(0)
		step("the host is back", time.Second, "second", 2, 2)
	})
}

func TestCacheControl(t *testing.T) {
	for name, tt := range map[string]struct {
		header    http.Header
		fetches   int  // of two calls, 30 s apart
		staleToo  bool // given 2 minutes later although the host is down
		wantTTLms int
	}{
		"nothing said":    {http.Header{}, 1, true, 60000},
		"max-age":         {http.Header{"Cache-Control": {"max-age=31"}}, 1, true, 31000},
		"short max-age":   {http.Header{"Cache-Control": {"max-age=10"}}, 2, true, 10000},
		"age":             {http.Header{"Cache-Control": {"max-age=60"}, "Age": {"40"}}, 2, true, 20000},
		"no-store":        {http.Header{"Cache-Control": {"no-store, max-age=100"}}, 2, false, 60000},
		"no-cache":        {http.Header{"Cache-Control": {"no-cache"}}, 2, true, 0},
		"must-revalidate": {http.Header{"Cache-Control": {"max-age=60, must-revalidate"}}, 1, false, 60000},
		"stale-if-error":  {http.Header{"Cache-Control": {"max-age=60", "stale-if-error=5"}}, 1, false, 60000},
		"nonsense":        {http.Header{"Cache-Control": {`max-age=soon, ,=`}}, 2, true, 0},
		"expired":         {http.Header{"Expires": {"0"}}, 2, true, 0},
		"a day at most":   {http.Header{"Cache-Control": {"max-age=2000000000"}}, 1, true, 60000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newFakeHost(t, webFiles())
				h.on("resources/a.json", func(w http.ResponseWriter, _ *http.Request) {
					for name, values := range tt.header {
						w.Header()[name] = values
					}
					io.WriteString(w, `{"uri":"r://a","text":"x"}`)
				})
				site := openHost(t, h, &staticmcp.Options{Poll: -1})
				h.asked()
				read := func() (*mcp.ReadResourceResult, error) {
					return site.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "r://a"})
				}
				first, err := read()
				if err != nil {
					t.Fatal(err)
				}
				if got := int(first.Cache.TTL / time.Millisecond); got != tt.wantTTLms {
					t.Errorf("clients may keep it for %d ms, want %d", got, tt.wantTTLms)
				}
				time.Sleep(30 * time.Second)
				if _, err := read(); err != nil {
					t.Fatal(err)
				}
				if got := len(h.asked()); got != tt.fetches {
					t.Errorf("two reads cost %d fetches, want %d", got, tt.fetches)
				}
				h.fail(500)
				time.Sleep(2 * time.Minute)
				if tt.header.Get("Cache-Control") == "max-age=2000000000" {
					time.Sleep(24 * time.Hour)
				}
				if _, err := read(); (err == nil) != tt.staleToo {
					t.Errorf("while the host is down: error %v, want an older answer %v", err, tt.staleToo)
				}
			})
		})
	}
}

// TestSingleFlight verifies that concurrent callers of the same answer cause one request,
// and that one caller giving up does not cancel the others.
func TestSingleFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHost(t, webFiles())
		release := make(chan struct{})
		h.on("tools/get/a.json", func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
				panic(http.ErrAbortHandler)
			}
			io.WriteString(w, `{"content":[{"type":"text","text":"x"}]}`)
		})
		client := handled(h)
		inner := client.Transport
		client.Transport = roundTrip(func(r *http.Request) (resp *http.Response, err error) {
			defer func() {
				if recover() != nil {
					err = r.Context().Err()
				}
			}()
			return inner.RoundTrip(r)
		})
		site, err := staticmcp.OpenURL(t.Context(), "https://host.example/base", &staticmcp.Options{
			Poll:       -1,
			WebOptions: staticmcp.WebOptions{HTTPClient: client},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer site.Close()
		h.asked()
		impatient, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var failed, fine atomic.Int32
		call := func(ctx context.Context) {
			_, err := site.CallTool(ctx, &mcp.CallToolParams{Name: "get", Arguments: json.RawMessage(`{"x":"a"}`)})
			if err != nil {
				failed.Add(1)
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got error %v, want the context's", err)
				}
				return
			}
			fine.Add(1)
		}
		wg.Go(func() { call(impatient) })
		synctest.Wait()
		for range 20 {
			wg.Go(func() { call(t.Context()) })
		}
		synctest.Wait()
		if got := h.asked(); len(got) != 1 {
			t.Errorf("21 calls cause %d requests, want 1", len(got))
		}
		cancel()
		synctest.Wait()
		if got := h.asked(); len(got) != 1 {
			t.Errorf("after the first gave up there are %d requests, want 1", len(got))
		}
		close(release)
		wg.Wait()
		if failed.Load() != 1 || fine.Load() != 20 {
			t.Errorf("%d calls failed and %d succeeded, want 1 and 20", failed.Load(), fine.Load())
		}
	})
}

// TestSlowHost verifies that a host gets its full time, and no more than its share of
// concurrent requests.
func TestSlowHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open, most atomic.Int32
		files := webFiles()
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "mcp.json") {
				return handled(newFakeHost(t, files)).Transport.RoundTrip(r)
			}
			most.Store(max(most.Load(), open.Add(1)))
			defer open.Add(-1)
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}
		site, err := staticmcp.OpenURL(t.Context(), "https://host.example/base",
			&staticmcp.Options{
				Poll:       -1,
				WebOptions: staticmcp.WebOptions{HTTPClient: client, Timeout: 3 * time.Second, MaxFetches: 2},
			})
		if err != nil {
			t.Fatal(err)
		}
		defer site.Close()
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				_, err := callText(t, site, fmt.Sprint(i))
				if err == nil || !strings.Contains(err.Error(), "https://host.example does not answer in time") {
					t.Errorf("got error %v, want one about the time", err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("the calls took %v, want 3 s", took)
		}
		if most.Load() != 2 {
			t.Errorf("%d fetches were open at once, want 2", most.Load())
		}
	})
}

// TestRemoteManifestChanges verifies that a manifest is polled, that a real change is
// reported once, and that a failing host changes nothing.
func TestRemoteManifestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHost(t, webFiles())
		site := openHost(t, h, &staticmcp.Options{Poll: 10 * time.Second})
		var changes record
		stop := site.Watch(changes.add)
		round := func() { time.Sleep(11 * time.Second); synctest.Wait() }
		first, _ := site.Catalog(t.Context())

		round()
		h.put("mcp.json", strings.ReplaceAll(webManifest, "\n", "\n  "))
		round()
		h.fail(502)
		round()
		h.fail(0)
		h.put("mcp.json", "<html>sorry")
		round()
		if now, _ := site.Catalog(t.Context()); now != first {
			t.Fatal("nothing really changed, but the catalog is another")
		}
		if got := changes.take(); len(got) != 0 {
			t.Fatalf("nothing really changed, but Watch told of %+v", got)
		}
		h.put("mcp.json", strings.Replace(webManifest, `"name":"get"`, `"name":"fetch"`, 1))
		round()
		if got := changes.take(); len(got) != 1 || got[0] != (mcp.Change{Tools: true}) {
			t.Fatalf("Watch told of %+v, want one change of the tools", got)
		}
		if now, _ := site.Catalog(t.Context()); now.Tool("fetch") == nil {
			t.Error("the new tool is not in the catalog")
		}
		stop()
		stop()
		h.put("mcp.json", webManifest)
		round()
		if got := changes.take(); len(got) != 0 {
			t.Errorf("Watch told of %+v after stop", got)
		}
		h.asked()
		h.on("mcp.json", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "max-age=600")
			io.WriteString(w, webManifest)
		})
		round()
		h.asked()
		time.Sleep(500 * time.Second)
		if got := h.asked(); len(got) != 0 {
			t.Errorf("a manifest with a life of 600 s is asked for %d times in 500 s", len(got))
		}
	})
}

// TestRealHTTP uses a real connection: compression, and truncated responses.
func TestRealHTTP(t *testing.T) {
	h := newFakeHost(t, webFiles())
	h.on("tools/get/a.json", func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t.Error("the fetch does not offer gzip")
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, `{"content":[{"type":"text","text":"unpacked"}]}`)
		z.Close()
	})
	h.on("tools/get/bomb.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		z.Write(bytes.Repeat([]byte(" "), 1<<20))
		z.Close()
	})
	h.on("tools/get/cut.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, `{"content":[`)
		panic(http.ErrAbortHandler)
	})
	server := httptest.NewServer(h)
	defer server.Close()
	site, err := staticmcp.OpenURL(t.Context(), server.URL+"/base/", &staticmcp.Options{MaxFileBytes: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	wantText(t, site, "a", "unpacked")
	wantText(t, site, "b", "b")
	if _, err := callText(t, site, "bomb"); err == nil || !strings.Contains(err.Error(), "limit of 65536 bytes") {
		t.Errorf("got error %v, want one about the limit", err)
	}
	var e *mcp.Error
	if _, err := callText(t, site, "cut"); !errors.As(err, &e) || !strings.Contains(string(e.Data), "retryable") {
		t.Errorf("got error %v, want one that says to try again", err)
	}
}

// A host cannot be listed, so it is unknown whether an omitted argument would help: the
// message must not send a model to try it.
func TestURLMissKeepsToWhatItKnows(t *testing.T) {
	files := webFiles()
	files["mcp.json"] = &fstest.MapFile{Data: []byte(strings.Replace(webManifest,
		`"x":{"type":"string"}`, `"x":{"type":"string"},"part":{"type":"integer"}`, 1))}
	site := openHost(t, newFakeHost(t, files), nil)
	r, err := site.CallTool(t.Context(), &mcp.CallToolParams{Name: "get", Arguments: json.RawMessage(`{"x":"c"}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := mcp.Text(
		`get has no stored answer for x="c". Answers were computed beforehand,` +
			` so only some values have one. It also takes part.`)
	if diff := cmp.Diff(r.Content, []mcp.Content{want}); diff != "" {
		t.Errorf("CallTool (- got, + want):\n%s", diff)
	}
}

// Files of resources are found under each name that readers accept, on a web host as in a
// folder.
func TestURLReadsEveryFormOfAName(t *testing.T) {
	const uri = "a://p/caf%C3%A9"
	for _, file := range []string{
		"resources/p/caf_c3_a9.json", "resources/p/caf%C3%A9.json", "resources/p_caf_c3_a9.json",
		"resources/p/cafe.json", "resources/p/café.json",
	} {
		files := webFiles()
		files[file] = &fstest.MapFile{Data: []byte(`{"contents":[{"uri":"` + uri + `","text":"here"}]}`)}
		r, err := openHost(t, newFakeHost(t, files), nil).ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			t.Errorf("%s: %v", file, err)
		} else if text := string(r.Raw.Bytes()); !strings.Contains(text, `"text":"here"`) {
			t.Errorf("%s: %s", file, text)
		}
	}
}

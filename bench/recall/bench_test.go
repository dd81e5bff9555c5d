package recall_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/slipway-mcp/slipway/bench/recall"
	"github.com/slipway-mcp/slipway/internal/eval"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// built returns the site of a corpus with its questions, one phrasing each.
func built(tb testing.TB, name string) (*recall.Built, []eval.Question) {
	for i := range recall.Corpora {
		c := &recall.Corpora[i]
		if c.Name != name {
			continue
		}
		questions, err := c.Questions()
		if err != nil {
			tb.Fatal(err)
		}
		dir, err := c.Fetch(context.Background())
		if err != nil {
			tb.Fatal(err)
		}
		b, err := recall.Build(context.Background(), c.Name, dir, nil)
		if err != nil {
			tb.Fatal(err)
		}
		return b, eval.Single(questions)
	}
	tb.Fatalf("no corpus %q", name)
	return nil, nil
}

// BenchmarkQuestion measures one question to a site in memory whose files are parsed.
func BenchmarkQuestion(b *testing.B) {
	site, questions := built(b, "next")
	defer site.Site.Close()
	ask := func(i int) {
		if _, err := site.Search(b.Context(), questions[i%len(questions)].Phrasings[0]); err != nil {
			b.Fatal(err)
		}
	}
	for i := range questions {
		ask(i)
	}
	for i := 0; b.Loop(); i++ {
		ask(i)
	}
}

// TestColdBytes bounds the bytes of the index that a first question loads from a web host.
func TestColdBytes(t *testing.T) {
	const most = 250_000
	for i := range recall.Corpora {
		c := &recall.Corpora[i]
		if c.Tuned {
			continue
		}
		mean, worst := coldBytes(t, c.Name)
		t.Logf("%s: a first question loads %d bytes in the mean, %d at most, uncompressed", c.Name, mean, worst)
		if worst > most {
			t.Errorf("%s: a question loads more than %d", c.Name, most)
		}
	}
}

// coldBytes returns the bytes of the index that the questions about a corpus load, each without
// anything cached.
func coldBytes(t *testing.T, corpus string) (mean, worst int64) {
	site, questions := built(t, corpus)
	defer site.Site.Close()
	files := site.Site.FileHandler()
	var sent atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding")
		if strings.Contains(r.URL.Path, "/search/") {
			w = &counting{w, &sent}
		}
		files.ServeHTTP(w, r)
	}))
	defer web.Close()
	var sum int64
	for _, q := range questions {
		remote, err := staticmcp.OpenURL(t.Context(), web.URL, &staticmcp.Options{Poll: -1})
		if err != nil {
			t.Fatal(err)
		}
		sent.Store(0)
		if _, err := eval.Find(t.Context(), remote, "search", q.Phrasings[0]); err != nil {
			t.Fatal(err)
		}
		remote.Close()
		worst = max(worst, sent.Load())
		sum += sent.Load()
	}
	return sum / int64(len(questions)), worst
}

// counting counts the bytes of bodies.
type counting struct {
	http.ResponseWriter
	bytes *atomic.Int64
}

func (c *counting) Write(p []byte) (int, error) {
	c.bytes.Add(int64(len(p)))
	return c.ResponseWriter.Write(p)
}

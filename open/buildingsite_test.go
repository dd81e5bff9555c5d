package open

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	"github.com/slipway-mcp/slipway/sitebuild"
)

// slow is an input that is surveyed at once, and read when ready is closed.
type slow struct {
	ready chan struct{}
	err   error
	more  bool // the site has a tool that the survey does not know
}

func (s *slow) Paths() []string { return nil }

func (s *slow) Survey(context.Context) (*sitebuild.Site, error) {
	return &sitebuild.Site{
		Server:       mcp.Implementation{Name: "slow", Version: "1.0.0"},
		Instructions: "Be patient.",
		Tools:        []mcp.Tool{{Name: "get_it", Description: "It.", InputSchema: []byte(`{"type":"object"}`)}},
		Resources: func(yield func(*mcp.Resource, error) bool) {
			yield(&mcp.Resource{URI: "x://provisional", Name: "provisional"}, nil)
		},
	}, nil
}

func (s *slow) Site(ctx context.Context) (*sitebuild.Site, error) {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.err != nil {
		return nil, s.err
	}
	site, err := s.Survey(ctx)
	if s.more {
		second := site.Tools[0]
		second.Name = "get_more"
		site.Tools = append(site.Tools, second)
	}
	site.Resources = func(yield func(*mcp.Resource, error) bool) {
		yield(&mcp.Resource{URI: "x://page", Name: "page"}, nil)
	}
	site.Answers = func(yield func(*sitebuild.Answer, error) bool) {
		if yield(sitebuild.Text("get_it", nil, "Done."), nil) {
			yield(sitebuild.TextResource("x://page", "text/plain", "Page."), nil)
		}
	}
	return site, err
}

// building returns the source of an input that is being built.
func building(t *testing.T, in sitebuild.Input) *buildingSite {
	t.Helper()
	b, err := newBuilder(filepath.Join("..", "examples", "handbook"), &Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.arg = "slow"
	b.input = in
	src, err := openBuildingSite(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	site := src.(*buildingSite)
	t.Cleanup(func() { _ = site.Close() })
	return site
}

// TestBuildBehind: the survey answers initialize and tools/list, everything else waits for
// the site, and clients are notified of the list that differs.
func TestBuildBehind(t *testing.T) {
	in := &slow{ready: make(chan struct{}), more: true}
	src := building(t, in)
	changes := make(chan mcp.Change, 10)
	src.Watch(func(c mcp.Change) { changes <- c })

	c := mcptest.Connect(t, src, mcp.LatestLegacyVersion, nil)
	if text := string(c.Begun()); !strings.Contains(text, `"slow"`) || !strings.Contains(text, "Be patient.") ||
		!strings.Contains(text, `"resources":`) {
		t.Errorf("initialize: %s", text)
	}
	if text := string(c.Call("tools/list", nil)); !strings.Contains(text, "get_it") || strings.Contains(text, "get_more") {
		t.Errorf("tools of the survey: %s", text)
	}
	called := make(chan string, 1)
	go func() {
		result, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_it"})
		if err != nil {
			called <- err.Error()
			return
		}
		text, _ := mcp.Marshal(result)
		called <- string(text)
	}()
	if cat, err := src.Catalog(t.Context()); err != nil || !cat.Unknown() {
		t.Errorf("catalog %v, error %v, want an unknown one for health checks", cat, err)
	}
	short, stop := context.WithCancel(t.Context())
	stop()
	if _, err := src.ReadResource(short, &mcp.ReadResourceParams{URI: "x://page"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that ends before the build: %v", err)
	}
	select {
	case text := <-called:
		t.Errorf("the call did not wait: %s", text)
	default:
	}
	close(in.ready)
	if text := <-called; !strings.Contains(text, "Done.") {
		t.Errorf("call: %s", text)
	}
	if got := <-changes; got != (mcp.Change{Tools: true}) {
		t.Errorf("change %+v, want tools only", got)
	}
	opened, err := src.Opened(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cat, err := opened.Catalog(t.Context())
	if err != nil || len(cat.Tools) != 2 || len(cat.Resources) != 1 || cat.Resources[0].URI != "x://page" ||
		cat.Unknown() {
		t.Errorf("catalog of the site: %+v, %v", cat, err)
	}
}

// TestBuildBehindProgress: a client that waits and requested progress receives it.
func TestBuildBehindProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := &slow{ready: make(chan struct{})}
		src := building(t, in)
		c := mcptest.Connect(t, src, mcp.LatestLegacyVersion, nil)
		listed := make(chan string, 1)
		go func() {
			result, err := c.Try("resources/list", map[string]any{"_meta": map[string]any{"progressToken": "p"}})
			if err != nil {
				listed <- err.Error()
				return
			}
			listed <- string(result)
		}()
		synctest.Wait()
		src.state.set(sitebuild.Progress{Stage: "documents", Done: 64, Total: 1000})
		time.Sleep(2 * progressSent)
		synctest.Wait()
		var texts []string
		for _, n := range c.Notifications() {
			texts = append(texts, string(n.Params))
		}
		if text := strings.Join(texts, "\n"); !strings.Contains(text, "reading documents: 64 of 1000") {
			t.Errorf("notifications: %s", text)
		}
		close(in.ready)
		if text := <-listed; !strings.Contains(text, "x://page") {
			t.Errorf("resources: %s", text)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestBuildBehindAgrees: a site that is as the survey says causes no notification.
func TestBuildBehindAgrees(t *testing.T) {
	in := &slow{ready: make(chan struct{})}
	src := building(t, in)
	src.Watch(func(c mcp.Change) { t.Errorf("change %+v", c) })
	close(in.ready)
	if _, err := src.Opened(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestBuildBehindFails: a build that fails is an error of Opened, and of the calls that wait.
func TestBuildBehindFails(t *testing.T) {
	in := &slow{ready: make(chan struct{}), err: errors.New("the disk is gone")}
	src := building(t, in)
	called := make(chan error, 1)
	go func() {
		_, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_it"})
		called <- err
	}()
	close(in.ready)
	var e *Error
	if _, err := src.Opened(t.Context()); !errors.As(err, &e) || e.Error() != "open slow: the disk is gone" {
		t.Errorf("opened: %v", err)
	}
	var wire *mcp.Error
	if err := <-called; !errors.As(err, &wire) || !strings.Contains(wire.Message, "cannot be built") ||
		strings.Contains(wire.Message, "disk") {
		t.Errorf("call: %v", err)
	}
}

// TestBuildBehindClose: closing ends a build.
func TestBuildBehindClose(t *testing.T) {
	src := building(t, &slow{ready: make(chan struct{})})
	if err := src.Close(); err != nil {
		t.Error(err)
	}
	if _, err := src.Opened(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("opened: %v", err)
	}
}

// TestBuildBehindNothing: a folder without pages is an error at once.
func TestBuildBehindNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "_draft.md"), []byte("# Draft\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), dir, &Options{BuildBehind: true})
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(e.Why, "no visible documents") {
		t.Errorf("error %v", err)
	}
}

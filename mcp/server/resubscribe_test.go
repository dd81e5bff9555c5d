package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
)

// followed is a source that records the callers that subscribe.
type followed struct {
	recorded

	callers []string
	err     error
}

func (f *followed) Subscribe(ctx context.Context, uri string) error {
	p := mcp.PrincipalFrom(ctx)
	f.callers = append(f.callers, fmt.Sprint(uri, " ", p.Name, p.Groups, mcp.RequestFrom(ctx).Session() != nil))
	return f.err
}

// TestResubscribe guards the subscriptions of a session that another server continues: its source is
// subscribed to as the caller of its first request there. While the source fails, the session waits; what the
// source refuses does not end it.
func TestResubscribe(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"client"}}`
	as := func(name, group string) context.Context {
		return mcp.WithPrincipal(t.Context(), &mcp.Principal{Name: name, Groups: []string{group}})
	}
	for _, c := range []struct {
		err    error
		status int
		again  int // calls of Subscribe after the second request
	}{
		{nil, http.StatusOK, 1},
		{mcp.ResourceNotFound("test://a", ""), http.StatusOK, 1},
		{mcp.Errorf(mcp.CodeToolBusy, "full"), http.StatusServiceUnavailable, 2},
		{errors.New("not connected"), http.StatusServiceUnavailable, 2},
	} {
		a, postA := recordedServer(&recorded{})
		source := &followed{err: c.err}
		b, postB := recordedServer(source)
		_, id, _ := postA(as("alice", "admins"), "", initialize)
		if status, _, answer := postA(as("alice", "admins"), id,
			`{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"test://a"}}`); status != http.StatusOK {
			t.Fatal(answer)
		}
		record, _ := a.SessionRecord(id)
		if err := b.RestoreSession(id, record); err != nil {
			t.Fatal(err)
		}
		postB(as("mallory", "staff"), id, call)
		if len(source.callers) > 0 {
			t.Errorf("another caller subscribed: %s", source.callers)
		}
		status, _, answer := postB(as("alice", "staff"), id, call)
		if status != c.status || c.status != http.StatusOK && !strings.Contains(answer, "try again") {
			t.Errorf("the source answers %v: %d %s, want %d", c.err, status, answer, c.status)
		}
		source.err = nil
		if status, _, answer := postB(as("alice", "staff"), id, call); status != http.StatusOK {
			t.Errorf("the second request, after %v: %d %s", c.err, status, answer)
		}
		want := slices.Repeat([]string{"test://a alice[staff] true"}, c.again)
		if !slices.Equal(source.callers, want) {
			t.Errorf("the source answers %v: subscribed as %q, want %q", c.err, source.callers, want)
		}
		if kept := b.Stats().Kept; kept[3].Count != 1 {
			t.Errorf("%d subscriptions are kept, want 1", kept[3].Count)
		}
	}
}

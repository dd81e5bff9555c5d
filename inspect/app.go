package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/axe"
	"github.com/slipway-mcp/slipway/internal/netguard"
	"github.com/slipway-mcp/slipway/mcp"
)

// appSource is a source as user interfaces use it: their requests are marked as such.
type appSource struct {
	*client.Source
	t *target
}

// CallTool calls a tool for a user interface.
func (a *appSource) CallTool(ctx context.Context, p *mcp.CallToolParams) (result *mcp.CallToolResult, err error) {
	err = a.made(ctx, "tools/call", p.Name, func(ctx context.Context) error {
		result, err = a.Source.CallTool(ctx, p)
		return err
	})
	return result, err
}

// ReadResource reads a resource for a user interface.
func (a *appSource) ReadResource(ctx context.Context, p *mcp.ReadResourceParams) (
	result *mcp.ReadResourceResult, err error,
) {
	err = a.made(ctx, "resources/read", p.URI, func(ctx context.Context) error {
		result, err = a.Source.ReadResource(ctx, p)
		return err
	})
	return result, err
}

// made publishes a request of a user interface like a call of the page, and limits its time in the same way.
func (a *appSource) made(
	ctx context.Context,
	method, name string,
	do func(context.Context) error,
) error {
	in := a.t.in
	ctx, cancel := context.WithCancelCause(ctx)
	c := &call{
		Source:  a.t.id,
		Method:  method,
		Name:    name,
		State:   stateRunning,
		Started: time.Now().UnixNano(),
		cause:   "app",
		cancel:  cancel,
		limit:   newLimit(callTimeout, cancel),
	}
	c.notify = &client.Notify{
		Progress: func(json.RawMessage) { c.limit.extend() },
		Sent:     func(id uint64) { in.feed.sentIDs.Store(sentKey{a.t.id, id}, c.ID) },
	}
	in.calls.add(c)
	in.publish("call", c.copy())
	began := time.Now()
	err := do(client.WithNotify(ctx, c.notify))
	took := time.Since(began)
	c.limit.stop()
	cause := context.Cause(ctx)
	cancel(nil)
	in.feed.after(func() { in.finish(c, took, err, cause) })
	if err != nil && errors.Is(cause, errTime) {
		return mcp.Errorf(mcp.CodeInternalError, "%s: no answer within %v", method, callTimeout)
	}
	return err
}

// violation is a blocked request of a user interface, with its view.
type violation struct {
	App string `json:"app"`
	apps.Violation
}

// newAppHost returns the host of MCP Apps. It has the script that checks accessibility, and
// publishes requests that were blocked.
func (in *Inspector) newAppHost() *apps.Host {
	return apps.NewHost(&apps.HostOptions{
		Axe: axe.Script(),
		OnViolation: func(v *apps.View, blocked apps.Violation) {
			in.publish("violation", violation{v.ID, blocked})
		},
	})
}

// serveOpenApp serves POST api/app: it makes a view of a tool's user interface.
func (in *Inspector) serveOpenApp(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Source int       `json:"source"`
		Tool   string    `json:"tool"`
		Mode   apps.Mode `json:"mode"`
	}
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	t, live, err := in.liveTarget(body.Source)
	if err != nil {
		return err
	}
	page := "http://" + r.Host
	if origin := r.Header.Get("Origin"); origin != "" { // it is our own: the guard has checked it
		page = origin
	}
	v, err := in.apps.Open(r.Context(), &appSource{live, t}, &apps.OpenParams{
		Page:   page,
		Tool:   body.Tool,
		Mode:   body.Mode,
		Server: t.src.Name,
		Remote: t.src.URL != "" && isRemote(t.src.URL),
	})
	switch {
	case errors.Is(err, apps.ErrNoTool), errors.Is(err, apps.ErrNoApp):
		return notFound("%v", err)
	case errors.Is(err, apps.ErrDocument):
		return failure(http.StatusUnprocessableEntity, "document", "%v", err)
	case err != nil:
		return err
	}
	return answer(w, v)
}

// isRemote reports whether the server at a URL runs neither on this machine nor in a private network.
func isRemote(address string) bool {
	u, err := url.Parse(address)
	return err != nil || !netguard.IsPrivateHost(u.Hostname())
}

// view returns the view that a path names.
func (in *Inspector) view(r *http.Request) (*apps.View, error) {
	v := in.apps.View(r.PathValue("id"))
	if v == nil {
		return nil, notFound("this view of a user interface is closed")
	}
	return v, nil
}

// serveApp serves POST api/app/ID: a request of a user interface.
func (in *Inspector) serveApp(w http.ResponseWriter, r *http.Request) error {
	v, err := in.view(r)
	if err != nil {
		return err
	}
	v.ServeHTTP(w, r)
	return nil
}

// serveViolations serves GET api/app/ID/violations.
func (in *Inspector) serveViolations(w http.ResponseWriter, r *http.Request) error {
	v, err := in.view(r)
	if err != nil {
		return err
	}
	return answer(w, map[string]any{"violations": append([]apps.Violation{}, v.Violations()...)})
}

// serveCloseApp serves DELETE api/app/ID.
func (in *Inspector) serveCloseApp(w http.ResponseWriter, r *http.Request) error {
	in.apps.Close(r.PathValue("id"))
	return done(w)
}

// serveControls serves GET api/app/controls: what the page can set for user interfaces.
func (in *Inspector) serveControls(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, apps.HostControls())
}

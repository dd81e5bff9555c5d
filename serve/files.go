package serve

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// transportFiles is the transport of requests for the files of a Source.
const transportFiles = "files"

// viewer is a Source that can also be read without MCP, as files. It has no pages for
// people.
type viewer interface{ FileHandler() http.Handler }

// fileUser is a viewer that reports what its files contain: the request with the same
// content, and the tools whose answers a file may contain. An empty method means that the
// file must not be served.
type fileUser interface {
	FileUse(path string) (method, name string, cat *mcp.Catalog, tools []string)
}

// fileView serves the files of a Source under the same rules as protocol requests: the
// gate decides, and the observer is called.
type fileView struct {
	files     http.Handler
	uses      fileUser // nil means that any file may contain any answer
	source    mcp.Source
	admission *admission
	rules     *serverRules
	gate      server.Gate      // nil without
	appTools  *apps.ToolFilter // nil without
	observer  server.Observer  // nil without
}

// ServeHTTP implements [http.Handler]. Admission has already admitted the request.
func (v *fileView) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		v.files.ServeHTTP(w, r) // which returns no content
		return
	}
	ctx := r.Context()
	if callerOf(ctx) == nil {
		ctx = v.admission.newCaller(r)
	}
	op, tools := v.use(ctx, strings.TrimPrefix(r.URL.Path, "/"))
	if op.Method == "" || v.hides(op, tools) {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	op.Transport = transportFiles
	began := time.Now()
	e := server.Event{
		Kind:      server.EventRequest,
		Method:    op.Method,
		Name:      op.Name,
		Transport: op.Transport,
	}
	v.observe(ctx, e)
	out := &recorder{ResponseWriter: w}
	defer func() {
		e.Kind, e.Duration = server.EventAnswer, time.Since(began)
		e.Status = out.status
		e.Sent = out.bytes
		if e.Err == nil && out.status >= http.StatusBadRequest {
			e.Err = mcp.Errorf(mcp.CodeResourceNotFound, "%s", http.StatusText(out.status))
		}
		e.Outcome = server.OutcomeOK
		if e.Err != nil {
			e.Outcome = server.OutcomeError
		}
		v.observe(ctx, e)
	}()
	if err := v.enter(ctx, op, tools); err != nil {
		if !errors.As(err, &e.Err) {
			e.Err = &mcp.Error{
				Code:    mcp.CodeInternalError,
				Message: "internal error",
				Cause:   err,
			}
		}
		server.WriteError(out, e.Err)
		return
	}
	if v.gate != nil {
		defer v.gate.Leave(ctx, op)
	}
	v.files.ServeHTTP(out, r.WithContext(ctx))
}

// use returns what a file contains. If the Source does not report it, the file may be the
// answer of any tool.
func (v *fileView) use(ctx context.Context, path string) (op server.Operation, tools []string) {
	if v.uses != nil {
		op.Method, op.Name, op.Catalog, tools = v.uses.FileUse(path)
		return op, tools
	}
	cat, err := v.source.Catalog(ctx)
	if err != nil {
		return server.Operation{}, nil
	}
	for i := range cat.Tools {
		tools = append(tools, cat.Tools[i].Name)
	}
	return server.Operation{
		Method:  "resources/read",
		Name:    path,
		Catalog: cat,
	}, tools
}

// hides reports whether a file lists a hidden tool, or may contain its answer.
func (v *fileView) hides(op server.Operation, tools []string) bool {
	if v.appTools == nil || op.Catalog == nil {
		return false
	}
	seen := v.appTools.Undeclared(op.Catalog)
	if seen == op.Catalog {
		return false
	}
	if op.Method == "tools/list" || op.Method == "server/discover" {
		return true
	}
	return slices.ContainsFunc(tools, func(name string) bool {
		return seen.Tool(name) == nil
	})
}

// enter calls the gate, after asking the rules about all tools that a file belongs to.
func (v *fileView) enter(ctx context.Context, op server.Operation, tools []string) error {
	for _, tool := range tools {
		call := server.Operation{
			Method:    methodCall,
			Name:      tool,
			Catalog:   op.Catalog,
			Transport: transportFiles,
		}
		if err := v.rules.Enter(ctx, call); err != nil {
			return err
		}
	}
	if v.gate == nil {
		return nil
	}
	return v.gate.Enter(ctx, op)
}

// observe reports a download to the observer like a call, if there is an observer.
func (v *fileView) observe(ctx context.Context, e server.Event) {
	if v.observer != nil {
		v.observer.Observe(ctx, e)
	}
}

package mcptest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/mcp"
)

// checkUnknownResource: reading an unknown URI is [mcp.ResourceNotFound].
func checkUnknownResource(s *suite) {
	cat := s.catalog()
	for _, uri := range []string{
		"mcptest://unknown", "mcptest:unknown/../../x", "", "/", "..", "../../etc/passwd", "file:///../../etc/passwd",
		"mcptest://\x00", "mcptest://\xff", "mcptest://ü%zz", "mcptest://" + strings.Repeat("x", 100_000),
	} {
		if out := s.read(context.Background(), uri); out.ok {
			s.wantNotFound(uri, out)
		}
	}
	// A template may match these; if so, the contents must carry that exact URI.
	for _, r := range sample(cat.Resources, 10) {
		for _, uri := range []string{r.URI + "/mcptest-unknown", strings.ToUpper(r.URI), r.URI + "/../mcptest",
			r.URI + "?mcptest"} {
			if listed(cat, uri) {
				continue
			}
			if out := s.read(context.Background(), uri); out.ok && out.err != nil {
				s.wantNotFound(uri, out)
			}
		}
	}
}

func listed(cat *mcp.Catalog, uri string) bool {
	return slices.ContainsFunc(cat.Resources, func(r mcp.Resource) bool {
		return r.URI == uri
	})
}

// wantNotFound requires the error of an unknown resource, with its URI as data
// (specification, resources, error handling).
func (s *suite) wantNotFound(uri string, out outcome[mcp.ReadResourceResult]) {
	s.Helper()
	what := "ReadResource(" + short(uri) + ")"
	e := s.wantCode(what, out.err, mcp.CodeResourceNotFound)
	if e == nil {
		return
	}
	var data struct {
		URI *string `json:"uri"`
	}
	want := strings.ToValidUTF8(uri, "\ufffd")
	if err := json.Unmarshal(e.Data, &data); err != nil || data.URI == nil || *data.URI != want {
		s.Errorf("%s: the error's data is %s, want the uri in it", what, short(string(e.Data)))
	}
}

// checkListedResources: every listed resource can be read.
func checkListedResources(s *suite) {
	for _, r := range sample(s.catalog().Resources, s.opts.MaxEntries) {
		if out := s.read(context.Background(), r.URI); out.ok && out.err != nil {
			s.Errorf("ReadResource(%s) = %v, but it is listed", short(r.URI), out.err)
		}
	}
}

// checkReads: the examples have the expected answers.
func checkReads(s *suite) {
	for _, r := range s.opts.Reads {
		out := s.read(context.Background(), r.URI)
		switch {
		case !out.ok:
		case r.WantError:
			s.wantNotFound(r.URI, out)
		default:
			s.checkExample("ReadResource("+short(r.URI)+")", out.err != nil, false, text(s, out), r.Want)
		}
	}
}

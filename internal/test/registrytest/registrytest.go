// Package registrytest is a registry of MCP servers for tests: the read-only part of the
// API of the official registry. Every answer is validated against api.schema.json, which
// describes the answers as the OpenAPI description of the registry does, so that tests
// cannot drift from what registries send.
package registrytest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/schema"
)

//go:embed api.schema.json
var apiSchema []byte

// Entry is one version of a server.
type Entry struct {
	Server json.RawMessage // a server.json
	Status string          // "active" if empty
	Old    bool            // a later version exists
}

// Registry is an http.Handler. Its fields must not change while it serves.
type Registry struct {
	Entries []Entry
	// Versions are the supported versions of the API. Nil means v0 and v0.1.
	Versions []string
	// Fail is called with answers that the schema rejects, which are faults of a test.
	Fail func(error)
}

// described is the part of a server.json by which entries are found.
type described struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// described returns the fields of the server.json by which the registry finds it.
func (e *Entry) described() described {
	var d described
	_ = json.Unmarshal(e.Server, &d) // the schema rejects it when it is sent
	return d
}

// answer returns the entry in the form of the API.
func (e *Entry) answer() map[string]any {
	status := e.Status
	if status == "" {
		status = "active"
	}
	return map[string]any{
		"server": e.Server,
		"_meta": map[string]any{"io.modelcontextprotocol.registry/official": map[string]any{
			"status":   status,
			"isLatest": !e.Old,
		}},
	}
}

// ServeHTTP implements http.Handler.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	versions := r.Versions
	if versions == nil {
		versions = []string{"v0", "v0.1"}
	}
	parts := strings.Split(strings.TrimPrefix(req.URL.EscapedPath(), "/"), "/")
	switch {
	case req.Method != http.MethodGet:
		r.write(w, http.StatusMethodNotAllowed, "error", map[string]any{"error": "Method not allowed"})
	case !slices.Contains(versions, parts[0]) || len(parts) < 2 || parts[1] != "servers":
		http.NotFound(w, req)
	case len(parts) == 2:
		r.list(w, req)
	case len(parts) == 5 && parts[3] == "versions":
		name := strings.ReplaceAll(parts[2], "%2F", "/")
		r.one(w, name, parts[4])
	default:
		http.NotFound(w, req)
	}
}

// list answers GET /servers. A cursor is the position of the next entry.
func (r *Registry) list(w http.ResponseWriter, req *http.Request) {
	query := req.URL.Query()
	limit := 30
	start := 0
	var err error
	if text := query.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > 100 {
			r.write(w, http.StatusUnprocessableEntity, "error", map[string]any{"error": "validation failed: limit"})
			return
		}
	}
	if text := query.Get("cursor"); text != "" {
		if start, err = strconv.Atoi(strings.TrimPrefix(text, "at:")); err != nil {
			r.write(w, http.StatusBadRequest, "error", map[string]any{"error": "Invalid cursor parameter"})
			return
		}
	}
	found := []any{}
	next := ""
	for i := start; i < len(r.Entries); i++ {
		e := &r.Entries[i]
		d := e.described()
		word := strings.ToLower(query.Get("search"))
		version := query.Get("version")
		switch {
		case e.Status == "deleted", !strings.Contains(strings.ToLower(d.Name), word):
			continue
		case version == "latest" && e.Old, version != "" && version != "latest" && version != d.Version:
			continue
		}
		if len(found) == limit {
			next = fmt.Sprintf("at:%d", i)
			break
		}
		found = append(found, e.answer())
	}
	metadata := map[string]any{"count": len(found)}
	if next != "" {
		metadata["nextCursor"] = next
	}
	r.write(w, http.StatusOK, "list", map[string]any{
		"servers":  found,
		"metadata": metadata,
	})
}

// one answers GET /servers/NAME/versions/VERSION.
func (r *Registry) one(w http.ResponseWriter, name, version string) {
	for i := range r.Entries {
		e := &r.Entries[i]
		d := e.described()
		if d.Name == name &&
			(d.Version == version || version == "latest" && !e.Old) {
			r.write(w, http.StatusOK, "response", e.answer())
			return
		}
	}
	r.write(w, http.StatusNotFound, "error", map[string]any{"error": "Server not found"})
}

// write sends an answer after validating it.
func (r *Registry) write(w http.ResponseWriter, status int, definition string, answer any) {
	text, err := json.Marshal(answer)
	if err == nil {
		err = Validate(definition, text)
	}
	if err != nil && r.Fail != nil {
		r.Fail(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// Validate checks a text against a definition of the schema: list, response, server or
// error.
func Validate(definition string, text []byte) error {
	root := fmt.Sprintf(`{"$ref": "#/$defs/%s", `, definition)
	s, err := schema.Compile([]byte(strings.Replace(string(apiSchema), "{", root, 1)))
	if err != nil {
		return err
	}
	if err := s.Validate(text); err != nil {
		return fmt.Errorf("the %s does not match the schema of the API: %w", definition, err)
	}
	return nil
}

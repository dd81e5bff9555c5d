package registry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/slipway-mcp/slipway/internal/registry"
	"github.com/slipway-mcp/slipway/internal/test/registrytest"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// registryModule returns a file of the registry's Go module. The module is not part of this
// repository; scripts/registry provides it.
func registryModule(t *testing.T, name string) []byte {
	t.Helper()
	dir := os.Getenv("SLIPWAY_REGISTRY_MODULE")
	if dir == "" {
		t.Skip("scripts/registry provides the module of the registry")
	}
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// publishedAPI is the OpenAPI description of the registry.
type publishedAPI struct {
	Paths map[string]map[string]struct {
		Parameters []struct {
			Name, In string
			Schema   struct{ Type string }
		}
	}
	Components struct{ Schemas map[string]any }
}

func readPublishedAPI(t *testing.T) *publishedAPI {
	t.Helper()
	root, problems := tree.Parse(registryModule(t, "docs/reference/api/openapi.yaml"), tree.YAML)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var api publishedAPI
	if err := json.Unmarshal(root.AppendJSON(nil), &api); err != nil {
		t.Fatal(err)
	}
	return &api
}

// validate checks an answer against a schema of the description.
func (api *publishedAPI) validate(name string, answer []byte) error {
	text, err := json.Marshal(map[string]any{
		"$ref":  "#/$defs/" + name,
		"$defs": api.Components.Schemas,
	})
	if err != nil {
		return err
	}
	var s jsonschema.Schema
	text = bytes.ReplaceAll(text, []byte("#/components/schemas/"), []byte("#/$defs/"))
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return err
	}
	var v any
	if err := json.Unmarshal(answer, &v); err != nil {
		return err
	}
	return resolved.Validate(v)
}

// find returns the described path that a request is for, and what is wrong with the request.
// Version 0 has the same paths as the described 0.1.
func (api *publishedAPI) find(r *http.Request) (path string, err error) {
	requested := strings.Replace(r.URL.EscapedPath(), "/v0/", "/v0.1/", 1)
	for path, operations := range api.Paths {
		pattern := regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(path), "[^/]+")
		if !regexp.MustCompile("^" + pattern + "$").MatchString(requested) {
			continue
		}
		operation, ok := operations[strings.ToLower(r.Method)]
		if !ok {
			return path, fmt.Errorf("%s has no %s", path, r.Method)
		}
		for name, values := range r.URL.Query() {
			kind := ""
			for _, p := range operation.Parameters {
				if p.In == "query" && p.Name == name {
					kind = p.Schema.Type
				}
			}
			if kind == "" {
				return path, fmt.Errorf("%s has no parameter %s", path, name)
			}
			if _, err := strconv.Atoi(values[0]); kind == "integer" && err != nil {
				return path, fmt.Errorf("%s: %s=%s is not a number", path, name, values[0])
			}
		}
		return path, nil
	}
	return "", fmt.Errorf("no path for %s %s", r.Method, r.URL)
}

// seed returns the servers that a new registry is filled with.
func seed(t *testing.T) (all []json.RawMessage, described []registry.Document) {
	t.Helper()
	text := registryModule(t, "data/seed.json")
	if err := errors.Join(json.Unmarshal(text, &all), json.Unmarshal(text, &described)); err != nil {
		t.Fatal(err)
	}
	return all, described
}

// TestPublishedAPI verifies every request of the client, and every answer of the registry of our
// tests, against the description that the registry publishes.
func TestPublishedAPI(t *testing.T) {
	api := readPublishedAPI(t)
	servers, described := seed(t)
	host := &registrytest.Registry{Fail: func(err error) { t.Error(err) }}
	for i := range servers {
		old := slices.ContainsFunc(described[i+1:], func(d registry.Document) bool { return d.Name == described[i].Name })
		host.Entries = append(host.Entries, registrytest.Entry{
			Server: servers[i],
			Old:    old,
		})
	}
	for i := range 120 {
		server := listed(fmt.Sprintf("com.example/many-%d", i), "1.0.0")
		host.Entries = append(host.Entries, registrytest.Entry{Server: server})
	}
	schemas := map[string]string{
		"/v0.1/servers": "ServerList",
		"/v0.1/servers/{serverName}/versions/{version}": "ServerResponse",
	}
	requested := map[string]int{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, err := api.find(r)
		if err != nil {
			t.Error(err)
		}
		requested[path]++
		recorder := httptest.NewRecorder()
		host.ServeHTTP(recorder, r)
		answer := recorder.Result()
		text := recorder.Body.Bytes()
		if answer.StatusCode == http.StatusOK {
			if err := api.validate(schemas[path], text); err != nil {
				t.Errorf("%s: %v\n%s", r.URL, err, text)
			}
		}
		w.WriteHeader(answer.StatusCode)
		_, _ = w.Write(text)
	}))
	defer web.Close()
	c := &registry.Client{URL: web.URL}
	useSeed(t, c, described)
	if found, err := c.Search(t.Context(), []string{"many"}, &registry.SearchOptions{Limit: 120}); err != nil ||
		len(found.Servers) != 120 {
		t.Errorf("Search(many) = %d servers, %v", len(found.Servers), err)
	}
	for path := range schemas {
		if requested[path] == 0 {
			t.Errorf("no request was for %s", path)
		}
	}
	if err := api.validate("ServerList", []byte(`{"servers": [{"server": {"name": "x"}}]}`)); err == nil {
		t.Error("the schema accepts a server without a version")
	}
}

// useSeed searches for each server that a new registry is filled with, reads it, and makes
// definitions of it.
func useSeed(t *testing.T, c *registry.Client, described []registry.Document) {
	t.Helper()
	if len(described) == 0 {
		t.Fatal("no servers")
	}
	for i := range described {
		d := &described[i]
		_, word, _ := strings.Cut(d.Name, "/")
		found, err := c.Search(t.Context(), []string{word}, nil)
		if err != nil || found.Malformed > 0 ||
			!slices.ContainsFunc(found.Servers, func(s *registry.Document) bool { return s.Name == d.Name }) {
			t.Errorf("Search(%q) = %v, %v", word, namesOf(found), err)
		}
		for _, version := range []string{d.Version, ""} {
			got, err := c.Get(t.Context(), d.Name, version)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, choice := range got.Choices() {
				entry, err := got.Entry(&registry.EntryOptions{Package: choice})
				if err != nil {
					t.Errorf("%s as %s: %v", d.Name, choice, err)
				} else if s := entry.Server(); s.Command == "" && s.URL == "" && entry.Bundle == nil {
					t.Errorf("%s as %s starts and reaches nothing: %+v", d.Name, choice, s)
				}
			}
		}
	}
	if _, err := c.Get(t.Context(), described[0].Name, "999.0.0"); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("Get of a missing version: %v", err)
	}
}

// TestRegistryServer uses the server of the official registry, and publishes there what
// Export writes. "scripts/registry --server" starts it with its seed.
func TestRegistryServer(t *testing.T) {
	base := os.Getenv("SLIPWAY_REGISTRY_SERVER")
	if base == "" {
		t.Skip("scripts/registry --server starts the server of the registry")
	}
	c := &registry.Client{URL: base}
	_, described := seed(t)
	useSeed(t, c, described)

	const name = "io.modelcontextprotocol.anonymous/slipway-weather"
	m := definitions(t, `
servers:
  slipway-weather:
    command: npx
    args: [-y, "@example/weather@1.2.3", --units, metric]
    env: {LOG_LEVEL: info}
    secrets: [WEATHER_KEY]
    description: Forecasts and warnings
    registryRef: {package: `+name+`, version: 1.2.3}
secrets:
  - {key: WEATHER_KEY, description: The key of your account}
`)
	doc, _, err := registry.Export(m, []string{"slipway-weather"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var token struct {
		Value string `json:"registry_token"`
	}
	call(t, base+"/v0.1/auth/none", "", nil, &token)
	call(t, base+"/v0.1/publish", token.Value, doc, nil)
	if found, err := c.Search(t.Context(), []string{"slipway-weather"}, nil); err != nil || len(found.Servers) != 1 {
		t.Fatalf("Search = %v, %v", namesOf(found), err)
	}
	got, err := c.Get(t.Context(), name, "")
	if err != nil {
		t.Fatal(err)
	}
	entry, err := got.Entry(nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m.Config.Server("slipway-weather"), entry.Server()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// call posts a body as JSON, and decodes the answer.
func call(t *testing.T, url, token string, body, answer any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err = io.ReadAll(got.Body)
	if err != nil || got.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v\n%s", url, got.Status, err, text)
	}
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			t.Fatal(err)
		}
	}
}

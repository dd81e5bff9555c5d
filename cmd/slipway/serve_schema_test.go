package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// TestReferenceOfServe verifies the generated page and schema of the settings of serve.
// With -update it writes them.
func TestReferenceOfServe(t *testing.T) {
	table := serveTable()
	schema, err := table.Schema()
	if err != nil {
		t.Fatal(err)
	}
	for page, want := range map[string]string{
		"../../docs/reference/serve.md":            table.Reference() + "\n",
		"../../docs/reference/slipway.schema.json": string(schema) + "\n",
		chartSchema: valuesSchema(t, schema),
	} {
		if *update {
			if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(got), want); diff != "" {
			t.Errorf("%s is not up to date; run this test with -update:\n%s", page, diff)
		}
	}
}

// chartSchema is the schema of the values of the Helm chart.
const chartSchema = "../../examples/deploy/helm/slipway/values.schema.json"

// valuesSchema returns chartSchema with the schema of slipway.yaml, which the values contain.
func valuesSchema(t *testing.T, schema []byte) string {
	t.Helper()
	var values struct {
		Schema      string                     `json:"$schema"`
		Title       string                     `json:"title"`
		Type        string                     `json:"type"`
		Properties  json.RawMessage            `json:"properties"`
		Additional  bool                       `json:"additionalProperties"`
		Definitions map[string]json.RawMessage `json:"definitions"`
	}
	text, err := os.ReadFile(chartSchema)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	values.Definitions["slipway.yaml"] = schema
	var written bytes.Buffer
	encoder := json.NewEncoder(&written)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(values); err != nil {
		t.Fatal(err)
	}
	return written.String()
}

// TestEverySettingHasOnePlace verifies that each flag of serve is in the file, except for
// those that choose how the command runs.
func TestEverySettingHasOnePlace(t *testing.T) {
	table := serveTable()
	seen := make(map[string]bool)
	for i := range table.Settings {
		s := &table.Settings[i]
		if seen[s.Name()] || s.Usage == "" {
			t.Errorf("%s is declared twice, or has no usage", s.Name())
		}
		seen[s.Name()] = true
	}
	for _, line := range strings.Fields(newServe().Flags().FlagUsages()) {
		flag, ok := strings.CutPrefix(line, "--")
		alone := slices.Contains([]string{"stdio", "config", "print-config", "json", "login"}, flag)
		if ok && !alone && newServe().Flags().Lookup(flag) != nil && table.Flag(flag) == nil {
			t.Errorf("--%s has no place in the configuration file", flag)
		}
	}
}

// publishedSchema returns the published schema, compiled by an independent validator.
func publishedSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	text, err := os.ReadFile("../../docs/reference/slipway.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	schema.Schema = "" // draft-07; the members in use mean the same in 2020-12, which the validator implements
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// valueOf returns the JSON value of a file.
func valueOf(t *testing.T, name, text string) any {
	t.Helper()
	format := tree.YAML
	if filepath.Ext(name) == ".toml" {
		format = tree.TOML
	}
	node, problems := tree.Parse([]byte(text), format)
	if node == nil {
		t.Fatalf("%s: %v", name, problems)
	}
	var value any
	if err := json.Unmarshal(node.AppendJSON(nil), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// accepted reports whether we accept a file by itself, without what it names.
func accepted(name, text string) (bool, []check.Finding) {
	_, report := serveTable().Parse(name, []byte(text))
	return report.OK(false), report.Findings()
}

// TestSchemaAgrees verifies that the published schema and slipway accept and refuse the
// same files.
func TestSchemaAgrees(t *testing.T) {
	schema := publishedSchema(t)
	examples, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	deployed, err := filepath.Glob("../../examples/*/slipway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(deployed) == 0 {
		t.Error("no example has a slipway.yaml")
	}
	for _, path := range examples {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(path)
		broken := base == "broken.yaml" || base == "secrets.yaml"
		if base != "slipway.yaml" && !strings.Contains(path, "definitions") || broken {
			continue
		}
		if err := schema.Validate(valueOf(t, path, string(text))); err != nil {
			t.Errorf("%s: the schema refuses it: %v", path, err)
		}
	}
	for name, test := range schemaCases() {
		t.Run(name, func(t *testing.T) {
			ok, findings := accepted("slipway.yaml", test.text)
			if ok != test.ok {
				t.Errorf("we accept it: %v, want %v\n%v", ok, test.ok, findings)
			}
			if err := schema.Validate(valueOf(t, "slipway.yaml", test.text)); (err == nil) != test.ok {
				t.Errorf("the schema accepts it: %v, want %v: %v", err == nil, test.ok, err)
			}
		})
	}
}

type schemaCase struct {
	text string
	ok   bool
}

// schemaCases are files that both must accept, and mistakes that both must refuse.
func schemaCases() map[string]schemaCase {
	const sources = "sources: [docs]\n"
	const server = "servers: {a: {command: x}}\n"
	return map[string]schemaCase{
		"sources":                 {sources, true},
		"servers":                 {server, true},
		"both":                    {sources + server, true},
		"neither":                 {"serve: {limits: {rate: 1}}\n", false},
		"source and name":         {"sources: [{source: docs, name: d}]\n", true},
		"command":                 {"sources: [{command: [node, x.js]}]\n", true},
		"source and command":      {"sources: [{source: docs, command: [x]}]\n", false},
		"only a name":             {"sources: [{name: d}]\n", false},
		"empty command":           {"sources: [{command: []}]\n", false},
		"bad name":                {"sources: [{source: docs, name: A b}]\n", false},
		"unknown in source":       {"sources: [{source: docs, title: d}]\n", false},
		"number as source":        {"sources: [5]\n", false},
		"one source, no list":     {"sources: docs\n", false},
		"empty source":            {"sources: ['']\n", false},
		"empty serve":             {sources + "serve: {}\n", true},
		"serve is a list":         {sources + "serve: []\n", false},
		"unknown group":           {sources + "serve: {limit: {}}\n", false},
		"group is a text":         {sources + "serve: {limits: x}\n", false},
		"unknown setting":         {sources + "serve: {limits: {rateLimit: 1}}\n", false},
		"rate":                    {sources + "serve: {limits: {rate: 0.5}}\n", true},
		"rate as text":            {sources + "serve: {limits: {rate: '1'}}\n", false},
		"negative rate":           {sources + "serve: {limits: {rate: -1}}\n", false},
		"number of calls":         {sources + "serve: {limits: {maxInFlight: 5}}\n", true},
		"half a call":             {sources + "serve: {limits: {maxInFlight: 1.5}}\n", false},
		"negative calls":          {sources + "serve: {limits: {maxInFlight: -5}}\n", false},
		"size":                    {sources + "serve: {limits: {maxBody: 8MiB}}\n", true},
		"size in bytes":           {sources + "serve: {limits: {maxBody: 1000}}\n", true},
		"no size":                 {sources + "serve: {limits: {maxBody: 8XB}}\n", false},
		"size of nothing":         {sources + "serve: {limits: {maxBody: 0}}\n", false},
		"time":                    {sources + "serve: {limits: {requestTimeout: 1m30s}}\n", true},
		"no limit":                {sources + "serve: {limits: {requestTimeout: 0}}\n", true},
		"time without unit":       {sources + "serve: {limits: {requestTimeout: 10}}\n", false},
		"negative time":           {sources + "serve: {limits: {requestTimeout: -1s}}\n", false},
		"no time":                 {sources + "serve: {limits: {requestTimeout: soon}}\n", false},
		"port":                    {sources + "serve: {address: {listen: 9000}}\n", true},
		"address":                 {sources + "serve: {address: {listen: '0.0.0.0:80'}}\n", true},
		"port too large":          {sources + "serve: {address: {listen: 90000}}\n", false},
		"address is a list":       {sources + "serve: {address: {listen: [a]}}\n", false},
		"switch":                  {sources + "serve: {endpoints: {webSocket: false}}\n", true},
		"switch as text":          {sources + "serve: {endpoints: {webSocket: 'no'}}\n", false},
		"flag name":               {sources + "serve: {endpoints: {noWebSocket: true}}\n", false},
		"level":                   {sources + "serve: {logging: {level: debug}}\n", true},
		"no level":                {sources + "serve: {logging: {level: verbose}}\n", false},
		"prefix":                  {sources + "serve: {sources: {prefix: never}}\n", true},
		"no prefix":               {sources + "serve: {sources: {prefix: sometimes}}\n", false},
		"one host":                {sources + "serve: {address: {allowedHosts: a.example}}\n", true},
		"hosts":                   {sources + "serve: {address: {allowedHosts: [a.example]}}\n", true},
		"number as host":          {sources + "serve: {address: {allowedHosts: [1]}}\n", false},
		"tool scopes":             {sources + "serve: {access: {toolScopes: {'a/*': [x, y], b: z}}}\n", true},
		"tool scopes as list":     {sources + "serve: {access: {toolScopes: ['a=x']}}\n", false},
		"tool scope with =":       {sources + "serve: {access: {toolScopes: {'a=b': [x]}}}\n", false},
		"scope is a number":       {sources + "serve: {access: {toolScopes: {a: 1}}}\n", false},
		"token":                   {sources + "serve: {access: {token: abcdefgh12345678}}\n", false},
		"token file":              {sources + "serve: {access: {tokenFile: tokens.txt}}\n", true},
		"option of a bundle":      {sources + "serve: {sources: {set: {level: 3}}}\n", true},
		"servers is a list":       {"servers: [a]\n", false},
		"server without a kind":   {"servers: {a: {}}\n", false},
		"server of two kinds":     {"servers: {a: {command: x, url: 'https://a.example', transport: http}}\n", false},
		"url without transport":   {"servers: {a: {url: 'https://a.example/mcp'}}\n", false},
		"unknown transport":       {"servers: {a: {url: 'https://a.example/mcp', transport: ws}}\n", false},
		"headers of a command":    {"servers: {a: {command: x, headers: {A: b}}}\n", false},
		"args is a text":          {"servers: {a: {command: x, args: y}}\n", false},
		"timeout of no time":      {"servers: {a: {command: x, callTimeoutMs: 0}}\n", false},
		"isolation":               {"servers: {a: {command: x, isolate: session}}\n", true},
		"unknown isolation":       {"servers: {a: {command: x, isolate: user}}\n", false},
		"version of the format":   {"specVersion: '1.0.0'\n" + server, true},
		"no version":              {"specVersion: one\n" + server, false},
		"declaration with value":  {server + "secrets: [{key: A, value: b}]\n", false},
		"declaration without key": {server + "secrets: [{description: a}]\n", false},
		"an unknown member":       {"x-note: kept\n" + server, true},
	}
}

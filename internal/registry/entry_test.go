package registry_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/registry"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
)

// made converts the packages or remotes of a server.json.
func made(t *testing.T, members string, opts *registry.EntryOptions) (*registry.Entry, error) {
	t.Helper()
	doc, err := registry.Parse([]byte(`{"name": "io.github.me/w", "description": "d", "version": "1.2.3", ` + members +
		`}`))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Entry(opts)
}

// shown returns an entry as JSON, without the constant parts.
func shown(t *testing.T, e *registry.Entry) string {
	t.Helper()
	s := *e.Server()
	s.Description, s.RegistryRef, s.Name = "", nil, "w"
	body, err := json.Marshal(&s)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(strings.TrimSuffix(strings.TrimPrefix(string(body), "{"), "}"), `,"enabled":true`, "", 1)
}

func TestEntry(t *testing.T) {
	const stdio = `"transport": {"type": "stdio"}`
	tests := map[string]struct {
		members string
		want    string
		todo    string // joined by |
		lost    string
	}{
		"npm": {
			`"packages": [{"registryType": "npm", "identifier": "@me/w", "version": "1.2.3", ` + stdio + `}]`,
			`"command":"npx","args":["-y","@me/w@1.2.3"]`,
			"",
			"",
		},
		"in a registry of its own": {
			`"packages": [{"registryType": "npm", "registryBaseUrl": "https://npm.corp.example/r", "identifier": "w", ` +
				stdio + `}]`,
			`"command":"npx","args":["-y","--registry=https://npm.corp.example/r","w"]`,
			"",
			"",
		},
		"in the public registry": {
			`"packages": [{"registryType": "npm", "registryBaseUrl": "https://Registry.npmjs.org/", "identifier": "w", ` +
				stdio + `}]`,
			`"command":"npx","args":["-y","w"]`,
			"",
			"",
		},
		"image in its registry": {
			`"packages": [{"registryType": "oci", "registryBaseUrl": "https://ghcr.io", "identifier": "ghcr.io/me/w:1", ` +
				stdio + `}]`,
			`"command":"docker","args":["run","-i","--rm","ghcr.io/me/w:1"]`,
			"",
			"",
		},
		"image without its registry": {
			`"packages": [{"registryType": "oci", "registryBaseUrl": "https://GHCR.io/", "identifier": "me/w", ` +
				`"version": "1", ` + stdio + `}]`,
			`"command":"docker","args":["run","-i","--rm","ghcr.io/me/w:1"]`,
			"",
			"",
		},
		"no version": {
			`"packages": [{"registryType": "npm", "identifier": "w", ` + stdio + `}]`,
			`"command":"npx","args":["-y","w"]`,
			"",
			"",
		},
		"its own -y": {
			`"packages": [{"registryType": "npm", "identifier": "w", "runtimeArguments": [{"type": "named", "name": ` +
				`"--yes"}], ` + stdio + `}]`,
			`"command":"npx","args":["--yes","w"]`,
			"",
			"",
		},
		"a hint that is a program of theirs": {
			`"packages": [{"registryType": "npm", "identifier": "w", "runtimeHint": "/tmp/evil", ` + stdio + `}]`,
			`"command":"npx","args":["-y","w"]`,
			"",
			`"/tmp/evil"; npx starts it instead`,
		},
		"pypi": {
			`"packages": [{"registryType": "pypi", "identifier": "w", "version": "1", "runtimeHint": "uvx", ` + stdio + `}]`,
			`"command":"uvx","args":["w@1"]`,
			"",
			"",
		},
		"image": {
			`"packages": [{"registryType": "oci", "identifier": "docker.io/me/w:1", "runtimeArguments": [{"type": ` +
				`"named", "name": "-v", "value": "/a:/b"}, {"type": "named", "name": "--mount", "value": "x"}], ` +
				`"packageArguments": [{"type": "positional", "value": "/p"}],
			"environmentVariables": [{"name": "LOG", "default": "info"}, {"name": "W_KEY", "isSecret": true, ` +
				`"isRequired": true}], ` + stdio + `}]`,
			`"command":"docker","args":["run","-i","--rm","-e","LOG","-e","W_KEY","-v","/a:/b","--mount=x","docker.io/me/` +
				`w:1","/p"],"env":{"LOG":"info"},"secrets":["W_KEY"]`,
			"set the secret W_KEY", "",
		},
		"an image that says run": {
			`"packages": [{"registryType": "oci", "identifier": "w", "version": "2", "runtimeArguments": [{"type": ` +
				`"positional", "value": "run"}, {"type": "named", "name": "-i"}], ` + stdio + `}]`,
			`"command":"docker","args":["run","--rm","-i","w:2"]`,
			"",
			"",
		},
		"an image with a secret of docker's": {
			`"packages": [{"registryType": "oci", "identifier": "ghcr.io/me/w:1", "runtimeArguments": [{"type": ` +
				`"positional", "value": "run"},
			{"type": "named", "name": "-i", "value": "true", "format": "boolean"}, {"type": "named", "name": "--rm", ` +
				`"value": "true", "format": "boolean"}, {"type": "named", "name": "--init", "value": "false", "format": "boolean"},
			{"type": "named", "name": "-p", "value": "127.0.0.1:1:1"}, {"type": "named", "name": "-e", "value": "PORT=1"},
			{"type": "named", "name": "-e", "value": "W_TOKEN={token}", "variables": {"token": {"isSecret": true}}}, ` +
				`{"type": "positional", "valueHint": "image_name", "value": "ghcr.io/me/w"}], ` + stdio + `}]`,
			`"command":"docker","args":["run","-e","W_TOKEN","-i","--rm","-p","127.0.0.1:1:1","-e","PORT=1","ghcr.io/me/` +
				`w:1"],"secrets":["W_TOKEN"]`,
			"set the secret W_TOKEN, if needed", "",
		},
		"the whole header": {
			`"remotes": [{"type": "streamable-http", "url": "https://x.example/", "headers": [{"name": "Authorization", ` +
				`"isSecret": true, "isRequired": true, "description": "With a token"}]}]`,
			`"url":"https://x.example/","transport":"http","secrets":["W_AUTHORIZATION"]`,
			"set the whole value of the header Authorization as the secret W_AUTHORIZATION: With a token",
			"",
		},
		"nuget": {
			`"packages": [{"registryType": "nuget", "identifier": "W", "version": "1", "packageArguments": [{"type": ` +
				`"positional", "value": "mcp"}], ` + stdio + `}]`,
			`"command":"dnx","args":["W@1","--yes","--","mcp"]`,
			"",
			"",
		},
		"cargo": {
			`"packages": [{"registryType": "cargo", "identifier": "w-mcp", "version": "1", ` + stdio + `}]`,
			`"command":"w-mcp"`,
			"cargo install w-mcp --version 1",
			"",
		},
		"arguments": {`"packages": [{"registryType": "npm", "identifier": "w", "packageArguments": [
			{"type": "named", "name": "--port", "default": "1"}, {"type": "named", "name": "-p", "value": "2"}, {"type": ` +
			`"named", "name": "--optional", "description": "x"},
			{"type": "named", "name": "--flag"}, {"type": "positional", "valueHint": "dir", "isRequired": true, ` +
			`"placeholder": "/tmp", "description": "Where to"}, {"type": "positional", "valueHint": "more"},
			{"type": "positional", "value": "{a}-{b}-{c}", "variables": {"a": {"default": "A"}, "b": {"isRequired": ` +
			`true}}}], ` + stdio + `}]`,
			`"command":"npx","args":["-y","w","--port=1","-p","2","--flag","\u003cdir\u003e","A-\u003cb\u003e-{c}"]`,
			"put a value in place of <dir>, such as /tmp: Where to|put a value in place of <b>", ""},
		"variables": {`"packages": [{"registryType": "npm", "identifier": "w", "environmentVariables": [
			{"name": "PLACE", "isRequired": true, "choices": ["a", "b"]}, {"name": "OPTIONAL"}, {"name": "FIXED", ` +
			`"value": "f"}, {"name": "PLAIN_TOKEN", "description": "Not said to be a secret"},
			{"name": "RENAMED", "value": "{W_OTHER}", "variables": {"W_OTHER": {"isSecret": true, "isRequired": true}}}], ` +
			stdio + `}]`,
			`"command":"npx","args":["-y","w"],"env":{"FIXED":"f","PLACE":"\u003cPLACE\u003e"},"secrets":["PLAIN_TOKEN",` +
				`"W_OTHER"]`,
			"put a value in place of <PLACE>, such as a or b|set the secret PLAIN_TOKEN, if needed: Not said to " +
				"be a secret|set the secret W_OTHER",
			""},
		"text around a secret": {
			`"packages": [{"registryType": "npm", "identifier": "w", "environmentVariables": [{"name": "A", "value": ` +
				`"Bearer {W_KEY}", "variables": {"W_KEY": {"isSecret": true}}}], ` + stdio + `}]`,
			`"command":"npx","args":["-y","w"]`,
			"",
			"does not support text around a secret",
		},
		"an optional secret": {
			`"packages": [{"registryType": "npm", "identifier": "w", "packageArguments": [{"type": "named", "name": ` +
				`"--key", "isSecret": true}], ` + stdio + `}]`,
			`"command":"npx","args":["-y","w"]`,
			"",
			"others can read command lines",
		},
		"what looks like one": {
			`"packages": [{"registryType": "npm", "identifier": "w", "packageArguments": [{"type": "named", "name": ` +
				`"--apiClientSecret", "description": "x"}, {"type": "named", "name": "--apiKey", "default": "none"}], ` + stdio +
				`}]`,
			`"command":"npx","args":["-y","w","--apiKey=none"]`,
			"",
			"",
		},
		"a remote server first": {
			`"packages": [{"registryType": "npm", "identifier": "w", ` + stdio +
				`}], "remotes": [{"type": "sse", "url": "https://x.example/sse"}, {"type": "streamable-http", "url": ` +
				`"https://x.example/mcp"}]`,
			`"url":"https://x.example/mcp","transport":"http"`,
			"",
			"",
		},
		"a server of 2024-11-05": {
			`"remotes": [{"type": "sse", "url": "https://x.example/sse"}]`,
			`"url":"https://x.example/sse","transport":"sse"`,
			"",
			"",
		},
		"headers": {
			`"remotes": [{"type": "streamable-http", "url": "https://{region}.x.example/", "variables": {"region": ` +
				`{"default": "eu"}}, "headers": [{"name": "X-Plain", "value": "1"}, {"name": "X-Api-Key", "isSecret": true, ` +
				`"isRequired": true}, {"name": "X-Maybe"}]}]`,
			`"url":"https://eu.x.example/","transport":"http","headers":{"X-Plain":"1"},"secrets":["W_X_API_KEY"]`,
			"set the secret W_X_API_KEY", "",
		},
		"a header with a secret for all to read": {
			`"remotes": [{"type": "streamable-http", "url": "https://x.example/", "headers": [{"name": "Authorization", ` +
				`"value": "Bearer sesame"}]}]`,
			`"url":"https://x.example/","transport":"http"`,
			"",
			"there for all to read",
		},
		"a secret that is called token": {
			`"remotes": [{"type": "streamable-http", "url": "https://x.example/", "headers": [{"name": "Authorization", ` +
				`"value": "Bearer {token}", "variables": {"token": {"isSecret": true, "isRequired": true}}}]}]`,
			`"url":"https://x.example/","transport":"http","secrets":["W_TOKEN"]`,
			"set the secret W_TOKEN",
			"",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e, err := made(t, test.members, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, shown(t, e)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := strings.Join(e.Todo, "|"); got != test.todo {
				t.Errorf("to do %q, want %q", got, test.todo)
			}
			lost := ""
			for _, f := range ruletest.Record(e.Findings...) {
				lost += f.Message + "\n"
			}
			if (lost == "") != (test.lost == "") || !strings.Contains(lost, test.lost) {
				t.Errorf("lost %q, want %q", lost, test.lost)
			}
			if ref := e.Server().RegistryRef; ref.Package != "io.github.me/w" || ref.Version != "1.2.3" {
				t.Errorf("from %v", ref)
			}
		})
	}
}

func TestEntryChoice(t *testing.T) {
	const both = `"packages": [{"registryType": "npm", "identifier": "w", "transport": {"type": "streamable-http", ` +
		`"url": "http://127.0.0.1:1/"}},
		{"registryType": "npm", "identifier": "w2", "fileSha256": "ab", "transport": {"type": "stdio"}}, ` +
		`{"registryType": "pypi", "identifier": "w3", "transport": {"type": "stdio"}}],
		"remotes": [{"type": "streamable-http", "url": "https://x.example"}]`
	for choice, want := range map[string]string{
		"":       "https://x.example",
		"remote": "https://x.example",
		"npm":    "w2",
		"pypi":   "w3",
	} {
		e, err := made(t, both, &registry.EntryOptions{Package: choice, Name: "mine", Registry: "official"})
		if err != nil {
			t.Fatal(err)
		}
		s := e.Server()
		if got := s.URL + strings.Join(s.Args, " "); !strings.HasSuffix(got, want) ||
			s.Name != "mine" ||
			s.RegistryRef.Registry != "official" {
			t.Errorf("%q is %+v, want %s", choice, s, want)
		}
		if got := s.RegistryRef.Digest; (choice == "npm") != (got == "sha256:ab") {
			t.Errorf("%q has the digest %q", choice, got)
		}
	}
}

func TestEntryRefuses(t *testing.T) {
	const stdio = `"transport": {"type": "stdio"}`
	for name, test := range map[string]struct{ members, choice, want string }{
		"another choice": {
			`"packages": [{"registryType": "npm", "identifier": "w", ` + stdio + `}]`,
			"oci",
			"offers no oci",
		},
		"no remote": {
			`"packages": [{"registryType": "npm", "identifier": "w", ` + stdio + `}]`,
			"remote",
			"offers no remote",
		},
		"unknown type": {
			`"packages": [{"registryType": "brew", "identifier": "w", ` + stdio + `}]`,
			"",
			"unknown package type",
		},
		"an option": {
			`"packages": [{"registryType": "npm", "identifier": "--call=evil", ` + stdio + `}]`,
			"",
			"is not a package",
		},
		"two words": {
			`"packages": [{"registryType": "npm", "identifier": "w evil", ` + stdio + `}]`,
			"",
			"is not a package",
		},
		"a registry of its own for uvx": {
			`"packages": [{"registryType": "pypi", "registryBaseUrl": "https://u:secret@pypi.corp.example", ` +
				`"identifier": "w", ` + stdio + `}]`,
			"",
			"https://redacted@pypi.corp.example, and would be taken from the public one",
		},
		"a registry of its own for bunx": {
			`"packages": [{"registryType": "npm", "registryBaseUrl": "https://npm.corp.example", "runtimeHint": "bunx", ` +
				`"identifier": "w", ` + stdio + `}]`,
			"",
			"would be taken from the public one",
		},
		"a registry with a password": {
			`"packages": [{"registryType": "npm", "registryBaseUrl": "https://u:secret@npm.corp.example", ` +
				`"identifier": "w", ` + stdio + `}]`,
			"",
			"would be taken from the public one",
		},
		"an image of another registry": {
			`"packages": [{"registryType": "oci", "registryBaseUrl": "https://ghcr.io", "identifier": "quay.io/me/w:1", ` +
				stdio + `}]`,
			"",
			"would be taken from the public one",
		},
		"an image in a folder of a registry": {
			`"packages": [{"registryType": "oci", "registryBaseUrl": "https://r.example/team", "identifier": "w:1", ` +
				stdio + `}]`,
			"",
			"would be taken from the public one",
		},
		"a registry that is no URL": {
			`"packages": [{"registryType": "npm", "registryBaseUrl": "--call=evil", "identifier": "w", ` + stdio + `}]`,
			"",
			"would be taken from the public one",
		},
		"a crate of another registry": {
			`"packages": [{"registryType": "cargo", "registryBaseUrl": "https://crates.corp.example", "identifier": "w", ` +
				stdio + `}]`,
			"",
			"would be taken from the public one",
		},
		"a crate that is a program": {
			`"packages": [{"registryType": "cargo", "identifier": "../../bin/sh", ` + stdio + `}]`,
			"",
			"is not a crate of crates.io",
		},
		"a crate that is a command": {
			`"packages": [{"registryType": "cargo", "identifier": "w", "version": "1;reboot", ` + stdio + `}]`,
			"",
			"is not a crate of crates.io",
		},
		"a bundle without a digest": {
			`"packages": [{"registryType": "mcpb", "identifier": "https://x.example/w.mcpb", ` + stdio + `}]`,
			"",
			"has no fileSha256",
		},
		"a secret argument": {
			`"packages": [{"registryType": "npm", "identifier": "w", "packageArguments": [{"type": "named", "name": ` +
				`"--key", "isSecret": true, "isRequired": true}], ` + stdio + `}]`,
			"",
			"does not support in a command line",
		},
		"one that looks so": {
			`"packages": [{"registryType": "npm", "identifier": "w", "packageArguments": [{"type": "named", "name": ` +
				`"--api-key", "isRequired": true}], ` + stdio + `}]`,
			"",
			"does not support in a command line",
		},
		"a secret in a text": {
			`"packages": [{"registryType": "npm", "identifier": "w", "packageArguments": [{"type": "positional", ` +
				`"value": "{k}", "variables": {"k": {"isSecret": true}}}], ` + stdio + `}]`,
			"",
			"does not support in a command line",
		},
		"a local server": {
			`"packages": [{"registryType": "npm", "identifier": "w", "transport": {"type": "sse", "url": "http://x/"}}]`,
			"",
			"reached over sse",
		},
		"a secret address": {
			`"remotes": [{"type": "streamable-http", "url": "https://x.example/{key}", "variables": {"key": {"isSecret": ` +
				`true}}}]`,
			"",
			"contains a secret",
		},
		"an open address": {
			`"remotes": [{"type": "streamable-http", "url": "https://{host}/", "variables": {"host": {"isRequired": true}}}]`,
			"",
			"needs a value for host",
		},
		"unknown transport": {`"remotes": [{"type": "websocket", "url": "wss://x.example"}]`, "", "unknown transport"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := made(t, test.members, &registry.EntryOptions{Package: test.choice})
			var unfit *registry.UnfitError
			if !errors.As(err, &unfit) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %+v, %v, want %q", e, err, test.want)
			}
		})
	}
}

func TestEntryValues(t *testing.T) {
	const members = `"remotes": [{"type": "streamable-http", "url": "https://{host}/", "variables": {"host": ` +
		`{"isRequired": true}}}]`
	e, err := made(t, members, &registry.EntryOptions{Values: map[string]string{"host": "y.example"}})
	if err != nil || e.Server().URL != "https://y.example/" || len(e.Todo) > 0 {
		t.Errorf("got %+v, %v", e, err)
	}
	_, err = made(t, members, &registry.EntryOptions{Values: map[string]string{"host": "y.example", "hst": "x"}})
	if err == nil || !strings.Contains(err.Error(), `"hst"`) {
		t.Errorf("an answer to nothing: %v", err)
	}
}

func TestParse(t *testing.T) {
	const one = `{"name": "a/b", "description": "d", "version": "%", "remotes": [{"type": "sse", "url": ` +
		`"https://x.example"}]}`
	old, latest := strings.Replace(one, "%", "1", 1), strings.Replace(one, "%", "2", 1)
	for name, test := range map[string]struct{ text, version, fault string }{
		"itself":    {old, "1", ""},
		"an answer": {`{"server": ` + old + `, "_meta": {}}`, "1", ""},
		"versions": {
			`{"servers": [{"server": ` + old + `}, {"server": ` + latest +
				`, "_meta": {"x": {"isLatest": true}}}], "metadata": {}}`,
			"2",
			"",
		},
		"other servers": {
			`{"servers": [{"server": ` + old + `}, {"server": ` + strings.Replace(old, "a/b", "a/c", 1) + `}]}`,
			"",
			"a/b and a/c",
		},
		"none":           {`{"servers": []}`, "", "describes no server"},
		"given twice":    {`{"name": "a/b", "name": "c/d", "remotes": []}`, "", "duplicate"},
		"no JSON":        {`<html>`, "", "unexpected"},
		"a list":         {`[]`, "", "a list"},
		"an older one":   {`{"name": "a/b", "packages": [{"registry_name": "npm", "name": "x"}]}`, "", "before 2025-12-11"},
		"another type":   {`{"name": "a/b", "packages": {}}`, "", "packages"},
		"nothing to use": {`{"name": "a/b", "description": "d"}`, "", "describe a server with packages"},
		"too large":      {strings.Repeat(" ", registry.MaxBytes) + old, "", "1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := registry.Parse([]byte(test.text))
			switch {
			case test.fault == "" && (err != nil || doc.Version != test.version):
				t.Errorf("got %+v, %v", doc, err)
			case test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)):
				t.Errorf("got %v, want %q", err, test.fault)
			}
		})
	}
}

// TestStatus verifies that a server withdrawn from the registry is refused.
func TestStatus(t *testing.T) {
	for status, want := range map[string]string{
		"active":     "",
		"deprecated": "as deprecated",
		"deleted":    "has deleted a/b 1",
	} {
		answer := `"server": {"name": "a/b", "description": "d", "version": "1", "remotes": [{"type": "sse", "url": ` +
			`"https://x.example"}]},
			"_meta": {"io.modelcontextprotocol.registry/official": {"status": "` + status + `", "isLatest": true}}`
		for _, text := range []string{"{" + answer + "}", `{"servers": [{` + answer + `}]}`} {
			doc, err := registry.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			e, err := doc.Entry(nil)
			var unfit *registry.UnfitError
			switch {
			case status == "deleted":
				if !errors.As(err, &unfit) || !unfit.Withdrawn || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v", status, err)
				}
			case err != nil:
				t.Errorf("%s: %v", status, err)
			case (want == "") != (len(e.Findings) == 0) || want != "" && !strings.Contains(e.Findings[0].Message, want):
				t.Errorf("%s: %v", status, e.Findings)
			}
		}
	}
}

func FuzzEntry(f *testing.F) {
	f.Add([]byte(`{"name": "a/b", "packages": [{"registryType": "oci", "identifier": "w", "transport": {"type": ` +
		`"stdio"}, "runtimeArguments": [{"type": "named", "name": "-v", "value": "{x}", "variables": {"x": {"isSecret": ` +
		`true}}}]}]}`))
	f.Add([]byte(`{"server": {"name": "a/b", "remotes": [{"type": "sse", "url": "https://{h}/", "variables": {"h": ` +
		`{}}, "headers": [{"name": "Authorization", "value": "Bearer {t}", "variables": {"t": {"isSecret": true}}}]}]}}`))
	fuzzbound.Fuzz(f, func(t *testing.T, text []byte) {
		doc, err := registry.Parse(text)
		if err != nil {
			return
		}
		for _, choice := range append(doc.Choices(), "") {
			if e, err := doc.Entry(&registry.EntryOptions{Package: choice}); err == nil && len(e.Config.Servers) != 1 {
				t.Fatalf("%d servers", len(e.Config.Servers))
			}
		}
	})
}

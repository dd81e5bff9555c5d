package interop_test

import (
	"context"
	"encoding/json"
	"testing"
)

// The published protocol versions. All but the last begin with a handshake.
const (
	v2024 = "2024-11-05"
	v0326 = "2025-03-26"
	v0618 = "2025-06-18"
	v1125 = "2025-11-25"
	v0728 = "2026-07-28"
)

func versions() []string { return []string{v2024, v0326, v0618, v1125, v0728} }

// modern reports whether version has neither a handshake nor sessions.
func modern(version string) bool { return version >= v0728 }

// An object is a JSON object as encoding/json decodes it.
type object = map[string]any

// A client is one connected third-party SDK. Results are the SDK's own types, encoded as
// JSON again: data that the SDK loses cannot be compared, and data that it cannot decode
// is an error.
type client interface {
	version() string
	serverName() string
	capabilities() object

	// list returns one page of "tools", "resources", "resourceTemplates" or
	// "prompts", and the cursor of the next page or "".
	list(ctx context.Context, kind, cursor string) (items []object, next string, err error)
	call(ctx context.Context, tool string, args object) (object, error)
	read(ctx context.Context, uri string) (object, error)
	prompt(ctx context.Context, name string, args map[string]string) (object, error)
	complete(ctx context.Context, ref reference, argument, value string) (object, error)
	ping(ctx context.Context) error
	setLevel(ctx context.Context, level string) error

	// spoils reports whether the SDK itself sends uri in a form that a server may reject.
	spoils(uri string) bool
	// code returns the JSON-RPC error code in err, or 0 if there is none.
	code(err error) int
	// close closes the connection and returns the exit error of a stdio server.
	close() error
}

// A reference identifies the subject of a completion: a prompt by name, or a resource
// template by its text.
type reference struct{ prompt, template string }

// An sdk connects clients of one third-party library. Both functions end the test if the
// connection fails.
type sdk struct {
	name  string
	stdio func(t *testing.T, command []string, version string) client
	http  func(t *testing.T, endpoint, version string) client
}

func sdks() []sdk {
	return []sdk{
		{"go-sdk", dialGoSDKStdio, dialGoSDKHTTP},
		{"mcp-go", dialMCPGoStdio, dialMCPGoHTTP},
	}
}

// transports are the ways to reach a target.
func transports() []string { return []string{"stdio", "http"} }

// connect returns a client that is closed when the test ends. Closing it must also end a
// stdio server, with exit code 0.
func (s sdk) connect(t *testing.T, transport string, to target, version string) client {
	t.Helper()
	var c client
	if transport == "stdio" {
		c = s.stdio(t, to.command(), version)
	} else {
		c = s.http(t, to.endpoint, version)
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Errorf("close the connection: %v", err)
		}
	})
	return c
}

// withEveryClient runs body once for each SDK, transport and protocol version.
func withEveryClient(t *testing.T, to target, body func(*testing.T, client, string)) {
	withClients(t, to, versions(), body)
}

// withClients runs body once for each SDK, transport and version in chosen.
func withClients(t *testing.T, to target, chosen []string, body func(*testing.T, client, string)) {
	for _, s := range sdks() {
		for _, transport := range transports() {
			for _, version := range chosen {
				t.Run(s.name+"/"+transport+"/"+version, func(t *testing.T) {
					body(t, s.connect(t, transport, to, version), version)
				})
			}
		}
	}
}

// limited returns a context that ends with the test, or after patience.
func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// asObject encodes v as JSON and decodes it again.
func asObject(v any) (object, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return decodeObject(data)
}

func decodeObject(data []byte) (object, error) {
	var o object
	err := json.Unmarshal(data, &o)
	return o, err
}

func asObjects[T any](list []T) ([]object, error) {
	out := make([]object, 0, len(list))
	for _, v := range list {
		o, err := asObject(v)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

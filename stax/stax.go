// Package stax reads definitions of MCP servers: files that list servers and what they
// need, independently of the client that will use them.
//
//	doc, report := stax.Parse("mcp.yaml", text, nil)
//	merged := stax.Merge(company, team, doc) // the last one wins, server by server
//	report.Add(merged.Check().Findings()...)
//
// A definition is JSON, JSONC, YAML, TOML, or a script with defineMcp, which is read but
// not run. Every finding has a file, line, column and JSON pointer, and one run reports
// all findings of a file. Unknown members are kept and reported. Definitions name secrets
// but never contain them: a [Resolver] finds the values when a server starts.
//
// Package stax/clients writes definitions to the configuration files of other programs.
package stax

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/client"
)

// SpecVersion is the version of the format that is written. Files with a higher major
// version are rejected.
const SpecVersion = "1.0.0"

// Config is a set of definitions. Those returned by Parse and Merge are read-only.
type Config struct {
	// Servers have unique names and keep the order of their file.
	Servers []Server
	// Secrets are the declarations in the definitions.
	Secrets []Declaration
	// Bindings assign secrets of remote servers to headers.
	Bindings []Binding
	// Overrides change how tools are shown.
	Overrides []Override
	// Extra lists unknown members, in the order of the file.
	Extra []Field
}

// Field is a member unknown to the format, with its value as JSON.
type Field struct {
	// Name is the name of a member, and Value its JSON.
	Name  string
	Value json.RawMessage
}

// Server is one definition: a local server with a Command, or a remote one with a URL.
type Server struct {
	// Name is the key of the server in the file.
	Name string `json:"-"`

	// A local server: started here, connected over stdin and stdout.

	Command string            `json:"command,omitempty"` // a name or a path, never a shell command line
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"` // static; secrets do not belong here
	Cwd     string            `json:"cwd,omitempty"`

	// A remote server.

	URL       string            `json:"url,omitempty"`
	Transport Transport         `json:"transport,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"` // static; secrets do not belong here
	Auth      *Auth             `json:"auth,omitempty"`    // nil: the login of the user, if there is one
	// CallerHeaders are headers that describe the caller of each request, by name: a value of
	// [CallerValues], or the name of a claim that the gateway maps.
	CallerHeaders map[string]string `json:"callerHeaders,omitempty"`

	// Both kinds.

	// Description is for people who choose a server.
	Description   string   `json:"description,omitempty"`
	Secrets       []string `json:"secrets,omitempty"`      // the keys of the secrets it needs
	EnabledTools  []string `json:"enabledTools,omitempty"` // nil: all
	DisabledTools []string `json:"disabledTools,omitempty"`
	Enabled       *bool    `json:"enabled,omitempty"` // nil is true
	// ConnectTimeoutMS limits starting or connecting; 0 means the default of
	// [client.Options].
	ConnectTimeoutMS int64 `json:"connectTimeoutMs,omitempty"`
	// CallTimeoutMS limits the duration of a call, HangTimeoutMS how long a call may be
	// silent before the server must answer a ping, and PingTimeoutMS how long that may
	// take. 0 means no limit for calls, and the defaults of [client.Options] for the others.
	CallTimeoutMS int64      `json:"callTimeoutMs,omitempty"`
	HangTimeoutMS int64      `json:"hangTimeoutMs,omitempty"`
	PingTimeoutMS int64      `json:"pingTimeoutMs,omitempty"`
	Isolate       *Isolation `json:"isolate,omitempty"` // nil: all clients share a process
	// Failover is what happens to sessions of clients when another replica of a cluster replaces this one.
	Failover client.Failover `json:"failover,omitempty"`
	// Metadata is for other programs, and RegistryRef where the definition comes from;
	// neither has an effect.
	Metadata    map[string]string `json:"metadata,omitempty"`
	RegistryRef *RegistryRef      `json:"registryRef,omitempty"`
	// Extra are members that the format does not define, in file order.
	Extra []Field `json:"-"`
}

// Transport is the protocol used to connect to a remote server.
type Transport string

// The transports of the format.
const (
	HTTP Transport = "http" // Streamable HTTP
	SSE  Transport = "sse"  // the HTTP+SSE transport of 2024-11-05
)

// RegistryRef records where a definition came from.
type RegistryRef struct {
	// Registry is the URL of the registry, and Package the name there.
	Registry string  `json:"registry,omitempty"`
	Package  string  `json:"package"`
	Version  string  `json:"version,omitempty"`
	Digest   string  `json:"digest,omitempty"` // the strongest one available
	Extra    []Field `json:"-"`
}

// String returns the provenance on one line, the digest first.
func (r *RegistryRef) String() string {
	text := r.Package
	if r.Version != "" {
		text += "@" + r.Version
	}
	if r.Registry != "" {
		text += " of " + r.Registry
	}
	if r.Digest == "" {
		return text + " (no digest)"
	}
	return r.Digest + ", " + text
}

// hint returns the advice on provenance.
func (r *RegistryRef) hint() string {
	if r.Digest == "" {
		return "add the digest if the registry gives one: a name and a version can be given to something else"
	}
	return "compare the digest with that of the registry before you trust it"
}

// Remote reports whether the server runs elsewhere.
func (s *Server) Remote() bool { return s.URL != "" }

// Disabled reports whether the server is excluded from starting and configuring.
func (s *Server) Disabled() bool { return s.Enabled != nil && !*s.Enabled }

// Server returns the definition with that name, or nil.
func (c *Config) Server(name string) *Server {
	if i := slices.IndexFunc(c.Servers, func(s Server) bool {
		return s.Name == name
	}); i >= 0 {
		return &c.Servers[i]
	}
	return nil
}

// Declaration returns the declaration of a secret, or nil.
func (c *Config) Declaration(key string) *Declaration {
	if i := slices.IndexFunc(c.Secrets, func(d Declaration) bool {
		return d.Key == key
	}); i >= 0 {
		return &c.Secrets[i]
	}
	return nil
}

// MarshalJSON returns the compiled form: specVersion, then the servers in order, each
// with its members in the order of the format and an explicit "enabled", then the
// secrets, bindings and overrides, then unknown members.
func (c *Config) MarshalJSON() ([]byte, error) {
	var o object
	o.add("specVersion", SpecVersion)
	var servers object
	for i := range c.Servers {
		servers.add(c.Servers[i].Name, &c.Servers[i])
	}
	o.add("servers", &servers)
	if len(c.Secrets) > 0 {
		o.add("secrets", c.Secrets)
	}
	if len(c.Bindings) > 0 {
		o.add("bindings", bindingTable(c.Bindings))
	}
	if len(c.Overrides) > 0 {
		o.add("tools", overrideTable(c.Overrides))
	}
	o.extra(c.Extra)
	return o.MarshalJSON()
}

// MarshalJSON implements json.Marshaler for one member of "servers".
func (s *Server) MarshalJSON() ([]byte, error) {
	type plain Server
	out := plain(*s)
	if out.Enabled == nil {
		yes := true
		out.Enabled = &yes
	}
	body, err := marshal(out)
	if err != nil {
		return nil, err
	}
	// An empty list of tools allows none; a missing one allows all.
	if s.EnabledTools != nil && len(s.EnabledTools) == 0 {
		return appendFields(body,
			append([]Field{{"enabledTools", json.RawMessage("[]")}}, s.Extra...))
	}
	return appendFields(body, s.Extra)
}

// MarshalJSON implements json.Marshaler.
func (r *RegistryRef) MarshalJSON() ([]byte, error) {
	type plain RegistryRef
	body, err := marshal((*plain)(r))
	if err != nil {
		return nil, err
	}
	return appendFields(body, r.Extra)
}

// marshal is json.Marshal without HTML escapes and line end.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// appendFields adds members to the end of an encoded object.
func appendFields(body []byte, fields []Field) ([]byte, error) {
	if len(fields) == 0 {
		return body, nil
	}
	o := object{body: body[:len(body)-1]}
	o.extra(fields)
	return o.MarshalJSON()
}

// object writes a JSON object whose members keep their order.
type object struct {
	// body is the object so far, without its closing brace; err is the first error.
	body []byte
	err  error
}

// add appends a member. Package json would sort or reorder them.
func (o *object) add(name string, v any) {
	value, err := marshal(v)
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("encode %s: %w", name, err)
	}
	key, _ := marshal(name)
	switch {
	case o.body == nil:
		o.body = []byte{'{'}
	case len(o.body) > 1:
		o.body = append(o.body, ',')
	}
	o.body = append(append(append(o.body, key...), ':'), value...)
}

// extra adds the members that the format does not define, so that a rewritten file keeps them.
func (o *object) extra(fields []Field) {
	for _, f := range fields {
		o.add(f.Name, f.Value)
	}
}

// MarshalJSON implements json.Marshaler.
func (o *object) MarshalJSON() ([]byte, error) {
	if o.body == nil {
		return []byte("{}"), o.err
	}
	return append(o.body, '}'), o.err
}

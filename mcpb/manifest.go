package mcpb

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// ManifestName is the name of the manifest at the root of a bundle.
const ManifestName = "manifest.json"

// MaxManifest is the maximum size of a manifest in bytes.
const MaxManifest = 4 << 20

// Versions returns the supported manifest versions, oldest first.
func Versions() []string { return []string{"0.1", "0.2", "0.3", "0.4"} }

// The types of servers.
const (
	TypeNode   = "node"
	TypePython = "python"
	TypeBinary = "binary"
	TypeUV     = "uv" // since version 0.4
)

// Manifest is the content of manifest.json. Omitted fields are zero. A Manifest returned
// by this package is read-only and may be shared.
//
// The fields, their JSON names and the tag "manifest" also are the schema by which
// [ParseManifest] and [Check] read the file; see valueSchema. Encoding a Manifest as JSON omits
// UserConfig, Meta and Unknown; [Manifest.JSON] is the text of a parsed one.
type Manifest struct {
	// Schema is the $schema of the file.
	Schema string `json:"$schema,omitzero"`
	// SpecVersion is the version of the format, one of [Versions]. Its field in the file
	// is manifest_version, or dxt_version in old files.
	SpecVersion string `json:"manifest_version" manifest:"version"`

	// Name identifies the bundle in packages and folders; DisplayName is for people.
	Name        string `json:"name" manifest:"required"`
	DisplayName string `json:"display_name,omitzero"`
	// Version is the version of the bundle, as in semantic versioning.
	Version string `json:"version" manifest:"required"`
	// Description is one sentence.
	Description     string `json:"description" manifest:"required"`
	LongDescription string `json:"long_description,omitzero"` // Markdown
	// Author is required, with a name.
	Author Author `json:"author" manifest:"required"`
	// Homepage, Documentation and Support are URLs.
	Homepage      string      `json:"homepage,omitzero" manifest:"url"`
	Repository    *Repository `json:"repository,omitzero"`
	Documentation string      `json:"documentation,omitzero" manifest:"url"`
	Support       string      `json:"support,omitzero" manifest:"url"`
	// License is an SPDX expression, such as MIT.
	License  string   `json:"license,omitzero"`
	Keywords []string `json:"keywords,omitzero"`
	// PrivacyPolicies are the URLs of policies, required if the server sends data to
	// services.
	PrivacyPolicies []string `json:"privacy_policies,omitzero" manifest:"url,since=0.2"`

	Icon  string `json:"icon,omitzero"` // a path in the bundle, or a URL
	Icons []Icon `json:"icons,omitzero" manifest:"since=0.3"`
	// Screenshots are paths in the bundle, or URLs.
	Screenshots []string `json:"screenshots,omitzero"`

	// Server is how the server is started.
	Server Server `json:"server" manifest:"required"`
	// Tools are what the server offers, for display before installation. The server
	// decides.
	Tools            []Tool   `json:"tools,omitzero"`
	ToolsGenerated   bool     `json:"tools_generated,omitzero"` // more tools are known only at run time
	Prompts          []Prompt `json:"prompts,omitzero"`
	PromptsGenerated bool     `json:"prompts_generated,omitzero"`

	// Compatibility are the platforms and versions of runtimes and clients that it needs;
	// nil means any.
	Compatibility *Compatibility `json:"compatibility,omitzero"`
	// UserConfig are the options, in the order of the file.
	UserConfig   []Option      `json:"-" manifest:"name=user_config"`
	Localization *Localization `json:"localization,omitzero" manifest:"since=0.3"`
	// Meta is _meta, by the reverse domain name of its consumer.
	Meta map[string]json.RawMessage `json:"-" manifest:"name=_meta,since=0.3"`
	// Unknown are the top-level members that no version of the format knows.
	Unknown map[string]json.RawMessage `json:"-"`

	// source is the text that was parsed.
	source []byte
}

// JSON returns the text of the manifest, without a byte order mark. It is read-only.
func (m *Manifest) JSON() []byte { return m.source }

// Title returns the display name: DisplayName, or Name if it is empty.
func (m *Manifest) Title() string {
	if m.DisplayName != "" {
		return m.DisplayName
	}
	return m.Name
}

// Option returns the option of UserConfig with that key, and whether it exists.
func (m *Manifest) Option(key string) (Option, bool) {
	i := slices.IndexFunc(m.UserConfig, func(o Option) bool {
		return o.Key == key
	})
	if i < 0 {
		return Option{}, false
	}
	return m.UserConfig[i], true
}

// FileName returns a file name for the packed bundle that is valid on every system:
// NAME-VERSION.mcpb, where characters other than letters, digits, ".", "_" and "-" are
// replaced by "-".
func (m *Manifest) FileName() string {
	safe := func(s string) string {
		s = strings.Map(func(r rune) rune {
			switch {
			case 'a' <= r &&
				r <= 'z', 'A' <= r &&
				r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("._-", r):
				return r
			}
			return '-'
		}, s)
		return strings.Trim(s[:min(len(s), 100)], ".-")
	}
	name := safe(m.Name)
	version := safe(m.Version)
	if name == "" {
		name = "bundle"
	}
	if version == "" {
		return name + ".mcpb"
	}
	return name + "-" + version + ".mcpb"
}

// Author is the author of the bundle.
type Author struct {
	// Name is the name of a person or organization.
	Name  string `json:"name" manifest:"required"`
	Email string `json:"email,omitempty" manifest:"email"`
	URL   string `json:"url,omitempty" manifest:"url"`
}

// Repository is the location of the source code.
type Repository struct {
	// Type is the version control system, usually git.
	Type string `json:"type" manifest:"required"`
	URL  string `json:"url" manifest:"required,url"`
}

// Icon is one of several icons.
type Icon struct {
	// Src is a path in the bundle, or a URL.
	Src  string `json:"src" manifest:"required"`
	Size string `json:"size" manifest:"required,size"` // such as 128x128
	// Theme is "light" or "dark", for the background that it suits; empty means both.
	Theme string `json:"theme,omitempty" manifest:"theme"`
}

// Localization is the location of translations.
type Localization struct {
	// Resources is a path in the bundle with ${locale} in it. Empty means
	// [DefaultResources].
	Resources string `json:"resources" manifest:"required,resources"`
	// DefaultLocale is the language of the manifest itself. Empty means
	// [DefaultLocale].
	DefaultLocale string `json:"default_locale" manifest:"required,locale"`
}

// Defaults of a [Localization].
const (
	DefaultResources = "mcpb-resources/${locale}.json"
	DefaultLocale    = "en-US"
)

// Server specifies how the server is started.
type Server struct {
	Type       string `json:"type" manifest:"required,type"`   // one of the Type constants
	EntryPoint string `json:"entry_point" manifest:"required"` // a path in the bundle
	// Config is optional for [TypeUV], and otherwise not nil.
	Config *Config `json:"mcp_config,omitzero" manifest:"required"`
}

// Config is mcp_config: a command line with variables, which [Expand] replaces.
type Config struct {
	// Command is the program, Args its arguments and Env its variables. All may contain
	// variables such as ${__dirname} and ${user_config.KEY}.
	Command string            `json:"command" manifest:"required"`
	Args    []string          `json:"args,omitzero"`
	Env     map[string]string `json:"env,omitzero"`
	// Overrides are by platform: "darwin", "linux", "win32".
	Overrides map[string]Override `json:"platform_overrides,omitzero"`
}

// Override replaces parts of a [Config] on one platform. "" and nil keep the base value;
// empty non-nil Args replace it.
type Override struct {
	// Command and Args replace those of [Config] unless empty; Env is added to its
	// variables.
	Command string            `json:"command,omitzero"`
	Args    []string          `json:"args,omitzero"`
	Env     map[string]string `json:"env,omitzero"`
}

// Tool is a tool in the manifest.
type Tool struct {
	// Name is the name of the tool as the server has it.
	Name        string `json:"name" manifest:"required"`
	Description string `json:"description,omitempty"`
}

// Prompt is a prompt in the manifest.
type Prompt struct {
	// Name is the name of the prompt as the server has it.
	Name        string `json:"name" manifest:"required"`
	Description string `json:"description,omitempty"`
	// Arguments are names.
	Arguments []string `json:"arguments,omitempty"`
	Text      string   `json:"text" manifest:"required"` // contains ${arguments.NAME}
}

// Compatibility specifies where the bundle works.
type Compatibility struct {
	// Platforms are "darwin", "linux" and "win32"; nil means all.
	Platforms []string `json:"platforms,omitzero" manifest:"platform"`
	// Runtimes are version ranges for "node" and "python".
	Runtimes map[string]string `json:"runtimes,omitzero" manifest:"names=python node"`
	// Clients are version ranges by the name of the client, such as "claude_desktop".
	Clients map[string]string `json:"-" manifest:"names=claude_desktop,others"`
}

// The types of options.
const (
	OptionString    = "string"
	OptionNumber    = "number"
	OptionBoolean   = "boolean"
	OptionDirectory = "directory"
	OptionFile      = "file"
)

// Option is a value to request from the user.
type Option struct {
	// Key is the name in ${user_config.KEY}.
	Key  string `json:"key" manifest:"-"`
	Type string `json:"type" manifest:"required,option"` // one of the Option constants
	// Title and Description are for the user who enters the value.
	Title       string `json:"title" manifest:"required"`
	Description string `json:"description" manifest:"required"`
	// Required reports whether the server cannot start without a value.
	Required  bool `json:"required,omitempty"`
	Multiple  bool `json:"multiple,omitempty"`  // several directories or files
	Sensitive bool `json:"sensitive,omitempty"` // a secret: never show it
	// Default is nil, a string, a float64, a bool or a []string. Strings may contain
	// variables such as ${HOME}.
	Default any `json:"default,omitempty"`
	// Min and Max are the bounds of a number.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
}

// ManifestError reports all reasons why a manifest cannot be used.
type ManifestError struct {
	// Findings are the errors that [Check] would report.
	Findings []check.Finding
}

// Error returns the first reasons, each with its position in the file.
func (e *ManifestError) Error() string {
	const shown = 3
	var parts []string
	for _, f := range e.Findings[:min(len(e.Findings), shown)] {
		part := f.Message
		if f.Line > 0 {
			part = fmt.Sprintf("line %d: %s", f.Line, f.Message)
		}
		parts = append(parts, part)
	}
	if n := len(e.Findings) - shown; n > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", n))
	}
	return "manifest: " + strings.Join(parts, "; ")
}

// ParseManifest parses a manifest. It accepts everything a host can work with: it keeps
// unknown fields, and does not check the syntax of URLs and similar values; [Check] does.
// The error is a [*ManifestError] if the text is not JSON, its version is unknown, or a
// field is missing or has the wrong type. data must not change afterwards.
func ParseManifest(data []byte) (*Manifest, error) {
	var r check.Report
	m := readDocument(data, ManifestName, &r).manifest()
	var fatal []check.Finding
	for _, f := range r.Findings() {
		if f.Severity == check.Error && !isTolerable(f.Rule) {
			fatal = append(fatal, f)
		}
	}
	if fatal != nil {
		return nil, &ManifestError{Findings: fatal}
	}
	return m, nil
}

// ReadManifest parses the manifest of the bundle in fsys like [ParseManifest]. If the
// file cannot be read or is larger than [MaxManifest], the error is not a
// [*ManifestError].
func ReadManifest(fsys fs.FS) (*Manifest, error) {
	text, err := fsutil.ReadRegular(fsys, ManifestName, MaxManifest)
	if err != nil {
		return nil, err
	}
	return ParseManifest(text)
}

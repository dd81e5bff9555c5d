package mcpb

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
)

// ManifestName is the name of the manifest at the root of a bundle.
const ManifestName = "manifest.json"

// MaxManifest is how many bytes a manifest may have.
const MaxManifest = 4 << 20

// Versions returns the versions of the manifest that are known, oldest first.
func Versions() []string { return []string{"0.1", "0.2", "0.3", "0.4"} }

// The types of servers.
const (
	TypeNode   = "node"
	TypePython = "python"
	TypeBinary = "binary"
	TypeUV     = "uv" // from version 0.4 on
)

// Manifest is what manifest.json says. A field that the manifest leaves out is
// zero. A Manifest that was handed out is read-only and may be shared.
type Manifest struct {
	// SpecVersion is the version of the format, one of [Versions]. In the file it
	// is manifest_version, or dxt_version in old ones.
	SpecVersion string
	// Schema is the file's own $schema.
	Schema string

	Name            string
	DisplayName     string
	Version         string
	Description     string
	LongDescription string // Markdown
	Author          Author
	Repository      *Repository
	Homepage        string
	Documentation   string
	Support         string
	Keywords        []string
	License         string
	PrivacyPolicies []string

	Icon        string // a path in the bundle, or a URL
	Icons       []Icon
	Screenshots []string

	Server           Server
	Tools            []Tool
	ToolsGenerated   bool // there are further tools, known only at run time
	Prompts          []Prompt
	PromptsGenerated bool

	Compatibility *Compatibility
	// UserConfig holds the options in the order of the file.
	UserConfig   []Option
	Localization *Localization
	// Meta is _meta: by the reverse domain name of whom it is for.
	Meta map[string]json.RawMessage

	// Unknown holds the members at the top that no version of the format knows.
	Unknown map[string]json.RawMessage

	source []byte
}

// JSON returns the text that the manifest was read from, without a byte order
// mark. It is read-only.
func (m *Manifest) JSON() []byte { return m.source }

// Title is the name for people: DisplayName, or Name where there is none.
func (m *Manifest) Title() string {
	if m.DisplayName != "" {
		return m.DisplayName
	}
	return m.Name
}

// Option returns the option of UserConfig with that key, and whether there is one.
func (m *Manifest) Option(key string) (Option, bool) {
	i := slices.IndexFunc(m.UserConfig, func(o Option) bool { return o.Key == key })
	if i < 0 {
		return Option{}, false
	}
	return m.UserConfig[i], true
}

// FileName is a name for the packed bundle that is safe on every system:
// NAME-VERSION.mcpb with everything but letters, digits, ".", "_" and "-"
// replaced by "-".
func (m *Manifest) FileName() string {
	safe := func(s string) string {
		s = strings.Map(func(r rune) rune {
			switch {
			case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("._-", r):
				return r
			}
			return '-'
		}, s)
		return strings.Trim(s[:min(len(s), 100)], ".-")
	}
	name, version := safe(m.Name), safe(m.Version)
	if name == "" {
		name = "bundle"
	}
	if version == "" {
		return name + ".mcpb"
	}
	return name + "-" + version + ".mcpb"
}

// Author is who made the bundle.
type Author struct {
	Name  string `json:"name"`
	Email string `json:"email,omitempty"`
	URL   string `json:"url,omitempty"`
}

// Repository is where the source is.
type Repository struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// Icon is one of several icons.
type Icon struct {
	Src   string `json:"src"`
	Size  string `json:"size"` // such as 128x128
	Theme string `json:"theme,omitempty"`
}

// Localization is where translations are.
type Localization struct {
	// Resources is a path in the bundle with ${locale} in it. Empty means
	// [DefaultResources].
	Resources string
	// DefaultLocale is the language of the manifest itself. Empty means
	// [DefaultLocale].
	DefaultLocale string
}

// What a localization that does not say otherwise means.
const (
	DefaultResources = "mcpb-resources/${locale}.json"
	DefaultLocale    = "en-US"
)

// Server says how the server is started.
type Server struct {
	Type       string // one of the Type constants
	EntryPoint string // a path in the bundle
	// Config is nil only for [TypeUV], where it may be left out.
	Config *Config
}

// Config is mcp_config: a command line with variables in it, for [Expand].
type Config struct {
	Command string
	Args    []string
	Env     map[string]string
	// Overrides are by platform: "darwin", "linux", "win32".
	Overrides map[string]Override
}

// Override replaces parts of a [Config] on one platform. What is "" or nil is
// not replaced; Args that are empty and not nil are.
type Override struct {
	Command string
	Args    []string
	Env     map[string]string
}

// Tool is a tool as the manifest announces it.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Prompt is a prompt as the manifest announces it.
type Prompt struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Arguments   []string `json:"arguments,omitempty"`
	Text        string   `json:"text"` // with ${arguments.NAME} in it
}

// Compatibility says where the bundle works.
type Compatibility struct {
	// Platforms are "darwin", "linux" and "win32"; nil means all.
	Platforms []string
	// Runtimes are ranges of versions by "node" and "python".
	Runtimes map[string]string
	// Clients are ranges of versions by the name of the client, such as
	// "claude_desktop".
	Clients map[string]string
}

// The types of options.
const (
	OptionString    = "string"
	OptionNumber    = "number"
	OptionBoolean   = "boolean"
	OptionDirectory = "directory"
	OptionFile      = "file"
)

// Option is a value that the user is asked for.
type Option struct {
	Key         string
	Type        string // one of the Option constants
	Title       string
	Description string
	Required    bool
	// Default is nil, a string, a float64, a bool or a []string. Strings may hold
	// variables such as ${HOME}.
	Default   any
	Multiple  bool     // several directories or files
	Sensitive bool     // a secret: never show it
	Min, Max  *float64 // bounds of a number
}

// ManifestError says why a manifest cannot be used. Several reasons may be in it.
type ManifestError struct {
	// Findings are what [Check] would say, errors only.
	Findings []check.Finding
}

// Error names the first reasons, each with its place in the file.
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

// ParseManifest reads a manifest. It accepts what a host can work with: a field
// that no version knows is kept, and the forms of URLs and the like are not
// looked at; [Check] does that. An error is a [*ManifestError]: the text is no
// JSON, its version is unknown, or a field is missing or of the wrong type.
// data must not change afterwards.
func ParseManifest(data []byte) (*Manifest, error) {
	var r check.Report
	d := readDocument(data, ManifestName, &r)
	m := d.manifest()
	var fatal []check.Finding
	for _, f := range r.Findings() {
		if f.Severity == check.Error && !tolerable(f.Rule) {
			fatal = append(fatal, f)
		}
	}
	if fatal != nil {
		return nil, &ManifestError{Findings: fatal}
	}
	return m, nil
}

// ReadManifest reads the manifest of the bundle in fsys with [ParseManifest]. A
// file that cannot be read or is larger than [MaxManifest] is an error of its own.
func ReadManifest(fsys fs.FS) (*Manifest, error) {
	text, err := readLimited(fsys, ManifestName, MaxManifest)
	if err != nil {
		return nil, err
	}
	return ParseManifest(text)
}

package apps

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/netguard"
)

// Mode is how closely a [Host] follows the extension's default content security policy.
type Mode string

const (
	// Strict is the policy of the specification. It is the default.
	Strict Mode = "strict"
	// Compatible also allows eval and blob: and data: URLs, as the specification's own
	// example host does. Some documents need it. Origins are as restricted as in Strict.
	Compatible Mode = "compatible"
)

// Violation is something that a document was refused: a declared origin that a host
// cannot grant, or a load that the browser blocked.
type Violation struct {
	// Directive is the directive of the policy, such as connect-src, or the member of the
	// declaration, such as connectDomains.
	Directive string `json:"directive"`
	// Blocked is the refused URL, origin, or keyword such as eval or inline.
	Blocked string `json:"blocked"`
	// File, Line and Column are where the document asked for it, if known.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Sample is the start of the refused script or style, if the browser reports it.
	Sample string `json:"sample,omitempty"`
	// Reason explains a declared origin that was dropped. It is empty for reports of the
	// browser.
	Reason string `json:"reason,omitempty"`
}

// AccessibilityFinding is a rule of axe-core that elements of a document violate.
type AccessibilityFinding struct {
	// Rule is the id of the rule, such as color-contrast.
	Rule string `json:"rule"`
	// Impact is minor, moderate, serious or critical.
	Impact string `json:"impact"`
	// Help says what to do, and HelpURL leads to an explanation.
	Help    string `json:"help"`
	HelpURL string `json:"helpURL"`
	// Count is the number of elements; Nodes has the first five.
	Count int                 `json:"count"`
	Nodes []AccessibilityNode `json:"nodes"`
}

// AccessibilityNode is an element that violates a rule.
type AccessibilityNode struct {
	HTML   string `json:"html"`   // truncated
	Target string `json:"target"` // CSS selector
}

// Grant is what a host allows a document.
type Grant struct {
	// CSP are the declared origins that were accepted.
	CSP CSP `json:"csp"`
	// Permissions are the permissions that were accepted.
	Permissions Permissions `json:"permissions"`
	// Dropped are the declared origins that were not accepted.
	Dropped []Violation `json:"dropped,omitempty"`
	// Mode decides whether eval, blob: and data: are allowed.
	Mode Mode `json:"mode"`
}

// NewGrant accepts from a declaration, which may be nil, everything that is valid. A
// declared source must be a host with an optional scheme (http, https, ws, wss), port and
// path; a star may replace the first label, as in https://*.example.com. All others are
// dropped: a source that allows every host or every host of a top-level domain, and text that
// would end the policy. Each list has at most 200 sources.
func NewGrant(ui *ResourceUI, mode Mode) *Grant {
	if mode != Compatible {
		mode = Strict
	}
	g := &Grant{Mode: mode}
	if ui == nil {
		return g
	}
	if ui.Permissions != nil {
		g.Permissions = *ui.Permissions
	}
	if ui.CSP != nil {
		g.CSP = CSP{
			ConnectDomains:  g.accept("connectDomains", ui.CSP.ConnectDomains),
			ResourceDomains: g.accept("resourceDomains", ui.CSP.ResourceDomains),
			FrameDomains:    g.accept("frameDomains", ui.CSP.FrameDomains),
			BaseURIDomains:  g.accept("baseUriDomains", ui.CSP.BaseURIDomains),
		}
	}
	return g
}

// maxSources limits each list of declared origins: a header of a megabyte would keep the
// document from loading at all.
const maxSources = 200

// accept returns the origins that may become part of a policy. Dropped ones are reported
// with the reason; those above the limit, together.
func (g *Grant) accept(list string, declared []string) []string {
	if more := len(declared) - maxSources; more > 0 {
		defer g.drop(list, fmt.Sprintf("%s and %d more", clip(declared[maxSources]), more-1),
			fmt.Sprintf("at most %d origins are allowed", maxSources))
		declared = declared[:maxSources]
	}
	return g.filter(list, declared, sourceProblem)
}

// filter returns the sources for which problem returns "", and reports the others.
func (g *Grant) filter(list string, sources []string, problem func(source string) string) []string {
	var accepted []string
	for _, source := range sources {
		if reason := problem(source); reason != "" {
			g.drop(list, clip(source), reason)
			continue
		}
		accepted = append(accepted, source)
	}
	return accepted
}

func (g *Grant) drop(list, blocked, reason string) {
	g.Dropped = append(g.Dropped, Violation{
		Directive: list,
		Blocked:   blocked,
		Reason:    reason,
	})
}

// dropLocal drops the sources on this machine and in private networks.
func (g *Grant) dropLocal() {
	for _, list := range g.CSP.lists() {
		*list.origins = g.filter(list.name, *list.origins, localProblem)
	}
}

// localProblem returns why a source is not for the document of a server that runs elsewhere, or "".
func localProblem(source string) string {
	_, host, hasScheme := strings.Cut(source, "://")
	if !hasScheme {
		host = source
	}
	host, _, _ = strings.Cut(host, "/")
	host = strings.TrimPrefix(strings.TrimSuffix(host, ":*"), "*.")
	u, err := url.Parse("x://" + host)
	if err != nil {
		return "it names no host"
	}
	if netguard.IsPrivateHost(u.Hostname()) {
		return "the server runs elsewhere, and this is a host on this machine or in a private network"
	}
	return ""
}

// sourceProblem returns why a declared source cannot be granted, or "". Scheme-less hosts
// and paths are only warnings of [CSP.Check], as they are valid in a policy.
func sourceProblem(source string) string {
	scheme, _, hasScheme := strings.Cut(source, "://")
	switch {
	case !hasScheme && strings.HasSuffix(source, ":"):
		return "a scheme alone allows every host"
	case !hasScheme:
		return problemOf("https://" + source) // checkOrigin does not inspect hosts without a scheme
	case !slices.Contains([]string{"http", "https", "ws", "wss"}, strings.ToLower(scheme)):
		return "its scheme is not http, https, ws or wss"
	}
	return problemOf(source)
}

// problemOf returns why a source must not become part of a policy, or "".
func problemOf(source string) string {
	for _, finding := range findings(func(r check.Reporter) { checkOrigin(r, source) }) {
		switch finding.Rule {
		case ruleCSPSource, ruleCSPEverything:
			return finding.Message
		}
	}
	return ""
}

// clip shortens text for a report.
func clip(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// Policy returns the Content-Security-Policy of the document, without frame-ancestors and
// report-uri, which depend on where it is served.
func (g *Grant) Policy() string { return g.policy("'self'") }

// policy uses self, which may be empty, as the document's own origin.
func (g *Grant) policy(self string) string {
	var eval, blob, data string
	if g.Mode == Compatible {
		eval, blob, data = "'unsafe-eval' 'wasm-unsafe-eval'", "blob:", "data:"
	}
	resources := strings.Join(g.CSP.ResourceDomains, " ")
	connect := strings.Join(g.CSP.ConnectDomains, " ")
	frames := strings.Join(g.CSP.FrameDomains, " ")
	bases := strings.Join(g.CSP.BaseURIDomains, " ")
	if bases == "" {
		bases = self
	}
	return strings.Join([]string{
		"default-src 'none'",
		directive("script-src", self, "'unsafe-inline'", eval, blob, data, resources),
		directive("style-src", self, "'unsafe-inline'", blob, data, resources),
		directive("img-src", self, "data:", blob, resources),
		directive("font-src", self, data, resources),
		directive("media-src", self, "data:", blob, resources),
		directive("connect-src", blob, data, connect),
		directive("worker-src", blob),
		directive("frame-src", frames),
		directive("base-uri", bases),
		"object-src 'none'",
		"form-action 'none'",
	}, "; ")
}

// directive returns a directive with the sources that are not empty, or else 'none'.
func directive(name string, sources ...string) string {
	words := []string{name}
	for _, source := range sources {
		if source != "" {
			words = append(words, source)
		}
	}
	if len(words) == 1 {
		words = append(words, "'none'")
	}
	return strings.Join(words, " ")
}

// features are the browser features of Permissions-Policy that documents never get, in
// addition to those of [Permissions].
var features = []string{
	"accelerometer", "autoplay", "display-capture", "encrypted-media", "fullscreen", "gamepad",
	"gyroscope", "hid", "identity-credentials-get", "idle-detection", "local-fonts", "magnetometer", "midi", "payment",
	"picture-in-picture", "publickey-credentials-create", "publickey-credentials-get", "screen-wake-lock", "serial",
	"storage-access", "usb", "window-management", "xr-spatial-tracking",
}

// permitted lists the features of p by their browser names.
func (p Permissions) permitted() map[string]bool {
	return map[string]bool{
		"camera":          p.Camera,
		"clipboard-write": p.ClipboardWrite,
		"geolocation":     p.Geolocation,
		"microphone":      p.Microphone,
	}
}

var permissionNames = []string{"camera", "clipboard-write", "geolocation", "microphone"}

// Allow returns the allow attribute for the frame of the document. It is empty if nothing
// was granted.
func (p Permissions) Allow() string {
	var granted []string
	permitted := p.permitted()
	for _, name := range permissionNames {
		if permitted[name] {
			granted = append(granted, name)
		}
	}
	return strings.Join(granted, "; ")
}

// Header returns the Permissions-Policy of the document: its own origin for granted
// permissions, and nothing for the others.
func (p Permissions) Header() string { return p.header("self") }

// header returns a Permissions-Policy. Features that are not named would be allowed, so
// all others are denied by name.
func (p Permissions) header(granted string) string {
	var words []string
	permitted := p.permitted()
	for _, name := range permissionNames {
		if permitted[name] {
			words = append(words, name+"=("+granted+")")
		} else {
			words = append(words, name+"=()")
		}
	}
	for _, name := range append([]string{"clipboard-read"}, features...) {
		words = append(words, name+"=()")
	}
	return strings.Join(words, ", ")
}

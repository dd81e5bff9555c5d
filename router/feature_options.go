package router

import (
	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/mcp"
)

// settings are the values that options set. Each kind of feature uses those whose options
// it accepts.
type settings struct {
	// appName is the name of an app's resource, which defaults to its URI.
	appName, title, mimeType string
	icons                    []mcp.Icon
	meta                     []Meta
	completers               []Completer
	annotations              *mcp.Annotations
	cache                    mcp.CacheHint
	hints                    mcp.ToolAnnotations
	strict                   bool
	// inputSchema and outputSchema are hand-written; nil means that the schemas are
	// generated.
	inputSchema, outputSchema *string
	taskSupport               TaskSupport
	// link connects a tool to an app, and ui are the settings of an app's resource.
	link *uiLink
	ui   apps.ResourceUI
}

// option is an option of any kind of feature.
type option interface{ apply(*feature) }

// ToolOption is an option of [Tool].
type ToolOption interface {
	option
	forTool()
}

// ResourceOption is an option of [Resource].
type ResourceOption interface {
	option
	forResource()
}

// TemplateOption is an option of [Template] and [Folder].
type TemplateOption interface {
	option
	forTemplate()
}

// PromptOption is an option of [Prompt].
type PromptOption interface {
	option
	forPrompt()
}

// AppOption is an option of [App].
type AppOption interface {
	option
	forApp()
}

// Options of features. The comment of each type names the features that accept it; another
// feature does not compile with it. [Complete], [CompleteFrom], [UI] and [VisibleTo] return
// additional options.
type (
	// Title is a name for display. It is an option of every kind of feature.
	Title string

	// Icon is an image to show next to a feature; Src is an https or data URI. It is an
	// option of every kind of feature, and may be repeated.
	Icon mcp.Icon

	// Meta is a member of a feature's _meta object: an option of every kind of feature. Value
	// is encoded as JSON.
	Meta struct {
		Key   string
		Value any
	}

	// Description states the purpose of a feature whose constructor has no parameter for it:
	// an option of resources, templates and apps.
	Description string

	// MIMEType is the type of the contents: an option of resources and templates.
	MIMEType string

	// Annotations state the audience and importance of a resource: an option of [Resource],
	// [Template] and [Folder].
	Annotations mcp.Annotations

	// Cache sets how long 2026-07-28 clients may cache what they read: an option of
	// [Resource], [Template] and [Folder].
	Cache mcp.CacheHint

	// AnnotationsTitle is a display name that only the annotations of a tool carry, where
	// clients from before 2025-06-18 look for it: an option of [Tool]. [Title] sets both.
	AnnotationsTitle string

	// Hint helps clients decide how to use a tool: an option of [Tool]. Without hints, a tool
	// is assumed to write, to be destructive and not idempotent, and to interact with an open
	// world.
	Hint uint8

	// Unknown selects how unknown arguments are handled, [Strict] or [Lenient]: an option of
	// [Tool] and [Prompt]. A hand-written schema overrides it.
	Unknown uint8

	// InputSchema is a hand-written JSON Schema (2020-12): an option of [Tool], usually with
	// a map or [json.RawMessage] as In. It replaces the schema generated from In, and
	// arguments are checked against nothing else. Defaults of top-level properties are filled
	// in.
	InputSchema string

	// OutputSchema is a JSON Schema for the structured content, which replaces the one
	// generated from Out: an option of [Tool].
	OutputSchema string

	// TaskSupport declares whether a tool runs as a task in 2025-11-25: "forbidden",
	// "optional" or "required". It is an option of [Tool].
	TaskSupport string

	// Name is the name of an [App]'s resource; the default is its URI.
	Name string

	// CSP lists the origins that the document of an [App] needs. By default it may use none.
	CSP apps.CSP

	// Permissions are the browser permissions that the document of an [App] requests.
	Permissions apps.Permissions

	// Domain requests a dedicated origin for the document of an [App].
	Domain string

	// Border requests a border around the document of an [App], or none.
	Border bool
)

// The hints.
const (
	ReadOnly       Hint = iota + 1 // changes nothing; implies NonDestructive
	NonDestructive                 // only adds
	Idempotent                     // repeating a call with the same arguments has no additional effect
	ClosedWorld                    // interacts only with a known set of entities
)

const (
	// Strict rejects unknown arguments and suggests the nearest name, so that a misspelt
	// optional argument is not lost. The schema states this as well (additionalProperties is
	// false). This is the default.
	Strict Unknown = iota + 1
	// Lenient ignores unknown arguments and logs them to the client.
	Lenient
)

// Schema returns the option [InputSchema].
func Schema(text string) InputSchema { return InputSchema(text) }

func (t Title) apply(f *feature) { f.title = string(t) }
func (i Icon) apply(f *feature) {
	f.icons = append(f.icons, mcp.Icon(i))
}
func (m Meta) apply(f *feature)        { f.meta = append(f.meta, m) }
func (d Description) apply(f *feature) { f.description = string(d) }
func (m MIMEType) apply(f *feature)    { f.mimeType = string(m) }
func (a Annotations) apply(f *feature) {
	f.annotations = (*mcp.Annotations)(&a)
}
func (c Cache) apply(f *feature)            { f.cache = mcp.CacheHint(c) }
func (t AnnotationsTitle) apply(f *feature) { f.hints.Title = string(t) }
func (u Unknown) apply(f *feature)          { f.strict = u != Lenient }
func (s InputSchema) apply(f *feature) {
	f.inputSchema = (*string)(&s)
}
func (s OutputSchema) apply(f *feature) {
	f.outputSchema = (*string)(&s)
}
func (t TaskSupport) apply(f *feature) { f.taskSupport = t }
func (n Name) apply(f *feature)        { f.appName = string(n) }
func (c CSP) apply(f *feature)         { f.ui.CSP = (*apps.CSP)(&c) }
func (p Permissions) apply(f *feature) {
	f.ui.Permissions = (*apps.Permissions)(&p)
}
func (d Domain) apply(f *feature) { f.ui.Domain = string(d) }
func (p Border) apply(f *feature) {
	f.ui.PrefersBorder = (*bool)(&p)
}
func (c Completer) apply(f *feature) {
	f.completers = append(f.completers, c)
}

// apply sets the hints together: a tool that only reads is not destructive either.
func (h Hint) apply(f *feature) {
	no := false
	switch h {
	case ReadOnly:
		f.hints.ReadOnlyHint = true
		f.hints.DestructiveHint = &no
	case NonDestructive:
		f.hints.DestructiveHint = &no
	case Idempotent:
		f.hints.IdempotentHint = true
	case ClosedWorld:
		f.hints.OpenWorldHint = &no
	default:
		f.fault("unknown hint %d", h)
	}
}

// apply implements option. UI and VisibleTo both set the link.
func (u *uiLink) apply(f *feature) {
	f.faultIf(f.link != nil, "UI and VisibleTo exclude each other, and may be given once")
	f.link = u
}

func (Title) forTool()            {}
func (Icon) forTool()             {}
func (Meta) forTool()             {}
func (AnnotationsTitle) forTool() {}
func (Hint) forTool()             {}
func (Unknown) forTool()          {}
func (InputSchema) forTool()      {}
func (OutputSchema) forTool()     {}
func (TaskSupport) forTool()      {}
func (*uiLink) forTool()          {}

func (Title) forResource()       {}
func (Icon) forResource()        {}
func (Meta) forResource()        {}
func (Description) forResource() {}
func (MIMEType) forResource()    {}
func (Annotations) forResource() {}
func (Cache) forResource()       {}

func (Title) forTemplate()       {}
func (Icon) forTemplate()        {}
func (Meta) forTemplate()        {}
func (Description) forTemplate() {}
func (MIMEType) forTemplate()    {}
func (Annotations) forTemplate() {}
func (Cache) forTemplate()       {}
func (Completer) forTemplate()   {}

func (Title) forPrompt()     {}
func (Icon) forPrompt()      {}
func (Meta) forPrompt()      {}
func (Unknown) forPrompt()   {}
func (Completer) forPrompt() {}

func (Title) forApp()       {}
func (Icon) forApp()        {}
func (Meta) forApp()        {}
func (Description) forApp() {}
func (Name) forApp()        {}
func (CSP) forApp()         {}
func (Permissions) forApp() {}
func (Domain) forApp()      {}
func (Border) forApp()      {}

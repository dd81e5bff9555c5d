package apps

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/mcp"
)

// App is a user interface. [App.Resource] is its entry in the resource list,
// [App.Contents] its contents. Both include the UI settings, as some hosts read them from
// one and some from the other.
type App struct {
	// URI begins with "ui://".
	URI string
	// Name identifies the resource for programs; Title and Description are for people and
	// models.
	Name        string
	Title       string
	Description string
	// HTML is the complete document.
	HTML string
	// UI is what the document requests of hosts, such as network access.
	UI    ResourceUI
	Icons []mcp.Icon
}

// Resource returns the entry for [mcp.Catalog.Resources]. A user interface that tools
// link to need not be listed.
func (a *App) Resource() mcp.Resource {
	return mcp.Resource{
		Name:        a.Name,
		URI:         a.URI,
		Title:       a.Title,
		Description: a.Description,
		MIMEType:    MIMEType,
		Icons:       a.Icons,
		Meta:        ResourceMeta(a.UI),
	}
}

// Contents returns the contents of the resource.
func (a *App) Contents() mcp.ResourceContents {
	return mcp.ResourceContents{
		Name:     a.Name,
		URI:      a.URI,
		MIMEType: MIMEType,
		Text:     a.HTML,
		Title:    a.Title,
		Meta:     ResourceMeta(a.UI),
	}
}

// Describe adds u to the _meta of a tool definition. Existing members are kept. It fails
// if the definition is Raw, or if its _meta is not a JSON object.
func (u ToolUI) Describe(t *mcp.Tool) error {
	if t.Raw != nil {
		return errors.New("the tool's definition is Raw, and so is its _meta")
	}
	meta, err := AddToolMeta(t.Meta, u)
	if err != nil {
		return fmt.Errorf("tool %q: %w", t.Name, err)
	}
	t.Meta = meta
	return nil
}

// Describe adds u to a resource list entry, along with the MIME type of user interfaces
// if the entry has none. Existing values are kept.
func (u ResourceUI) Describe(r *mcp.Resource) error {
	if r.Raw != nil {
		return errors.New("the resource's definition is Raw, and so is its _meta")
	}
	return u.describe(r.URI, &r.MIMEType, &r.Meta)
}

// DescribeTemplate is [ResourceUI.Describe] for a resource template.
func (u ResourceUI) DescribeTemplate(t *mcp.ResourceTemplate) error {
	if t.Raw != nil {
		return errors.New("the template's definition is Raw, and so is its _meta")
	}
	return u.describe(t.URITemplate, &t.MIMEType, &t.Meta)
}

// DescribeContents returns a copy of the contents of a user interface with u added to
// every item, along with the MIME type of user interfaces to items that have none.
// Existing values are kept. read itself is not modified, as it may be shared.
func (u ResourceUI) DescribeContents(read *mcp.ReadResourceResult) (*mcp.ReadResourceResult, error) {
	if read.Raw != nil {
		return nil, errors.New("the result is Raw, and so is its _meta")
	}
	described := *read
	described.Contents = slices.Clone(read.Contents)
	for i := range described.Contents {
		c := &described.Contents[i]
		if err := u.describe(c.URI, &c.MIMEType, &c.Meta); err != nil {
			return nil, err
		}
	}
	return &described, nil
}

// describe sets the MIME type and _meta of a resource definition or its contents.
func (u ResourceUI) describe(uri string, mimeType *string, meta *json.RawMessage) error {
	merged, err := AddResourceMeta(*meta, u)
	if err != nil {
		return fmt.Errorf("%s: %w", uri, err)
	}
	*meta = merged
	if *mimeType == "" {
		*mimeType = MIMEType
	}
	return nil
}

package mcp

import (
	"encoding/json"
)

// Implementation identifies a server or a client ("Implementation" in the schema).
type Implementation struct {
	// Name identifies the program, as in a package name. Required.
	Name  string `json:"name"`
	Title string `json:"title,omitempty"` // from 2025-06-18
	// Version is the version of the program. Required; any text is valid.
	Version     string `json:"version"`
	Description string `json:"description,omitempty"` // from 2025-11-25
	WebsiteURL  string `json:"websiteUrl,omitempty"`  // from 2025-11-25
	Icons       []Icon `json:"icons,omitempty"`       // from 2025-11-25
}

// Icon is an image that a client may show next to an item. Src is an https or data URI.
type Icon struct {
	// Src is an https: URL, or a data: URI. Clients may refuse other hosts than the
	// server's.
	Src string `json:"src"`
	// MIMEType overrides the type that the server of the image declares.
	MIMEType string `json:"mimeType,omitempty"`
	// Sizes are "48x48" and similar, or "any" for a scalable format.
	Sizes []string `json:"sizes,omitempty"`
	Theme string   `json:"theme,omitempty"` // "light" or "dark"
}

// wire encodes serverInfo or clientInfo without the members that version v does not have.
func (i Implementation) wire(v Version) (json.RawMessage, error) {
	if v < Version20251125 {
		i.Description = ""
		i.WebsiteURL = ""
		i.Icons = nil
	}
	if v < Version20250618 {
		i.Title = ""
	}
	return Marshal(i)
}

// Package mediatype reads the media type of an HTTP header.
package mediatype

import "strings"

// EventStream is the media type of a stream of server-sent events.
const EventStream = "text/event-stream"

// Of returns the media type of a Content-Type in lower case and without parameters, such as
// "text/html", or "" if the header is empty. Malformed parameters do not matter.
func Of(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// IsHTML reports whether a Content-Type is that of a web page.
func IsHTML(contentType string) bool {
	kind := Of(contentType)
	return kind == "text/html" || kind == "application/xhtml+xml"
}

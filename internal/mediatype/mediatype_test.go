package mediatype_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/mediatype"
)

func TestOf(t *testing.T) {
	for contentType, want := range map[string]string{
		"text/event-stream": "text/event-stream",
		"Text/Event-Stream ; charset=utf-8; charset=utf-8": mediatype.EventStream,
		"text/html; charset": "text/html",
		" application/json ": "application/json",
		"; charset=utf-8":    "",
		"":                   "",
	} {
		if got := mediatype.Of(contentType); got != want {
			t.Errorf("Of(%q) = %q, want %q", contentType, got, want)
		}
	}
}

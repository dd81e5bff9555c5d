package axe_test

import (
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/axe"
)

// The licence wants its notice in every copy.
func TestScript(t *testing.T) {
	if text := axe.Script(); !strings.HasPrefix(text, "/*! axe v4.") || !strings.Contains(text[:600], "Mozilla Public") {
		t.Errorf("the script begins with %.100q", text)
	}
}

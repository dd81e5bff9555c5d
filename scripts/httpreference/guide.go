package main

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed guides/*.md
var guideFiles embed.FS

// guide is a page of prose. Its first line is the title, its first paragraph the
// description.
type guide struct {
	path string // after http://guide/
	file string
}

var guides = [...]guide{
	{"choosing-a-status-code", "choosing-a-status-code"},
	{"choosing-a-method", "choosing-a-method"},
	{"caching", "caching"},
	{"conditional-requests", "conditional-requests"},
	{"content-negotiation", "content-negotiation"},
	{"range-requests", "range-requests"},
	{"redirects", "redirects"},
	{"retries", "retries"},
	{"authentication", "authentication"},
	{"cors", "cors"},
	{"cookies", "cookies"},
	{"security-headers", "security-headers"},
	{"non-ascii-text", "non-ascii-text"},
	{"message-framing", "message-framing"},
	{"versions", "versions"},
	{"question/why-does-the-browser-send-options-before-my-request", "why-options"},
	{"question/is-it-401-or-403", "401-or-403"},
	// Longer than the 200 characters of an encoded name, as real titles may be.
	{
		"question/what-should-a-client-do-when-a-request-that-is-not-idempotent-ends-in-a-timeout-or-a-broken-connection-and-it-cannot-know-whether-the-server-has-carried-it-out-or-never-received-it-or-is-still-working-on-it-at-this-very-moment",
		"unknown-outcome",
	},
}

func (g guide) uri() string { return "http://guide/" + g.path }

func (g guide) read() (title, description, text string, err error) {
	data, err := guideFiles.ReadFile("guides/" + g.file + ".md")
	if err != nil {
		return "", "", "", err
	}
	text = string(data)
	head, rest, _ := strings.Cut(text, "\n\n")
	title, ok := strings.CutPrefix(head, "# ")
	if !ok || strings.Contains(title, "\n") {
		return "", "", "", fmt.Errorf("guide %s does not begin with a title", g.file)
	}
	paragraph, _, _ := strings.Cut(rest, "\n\n")
	return title, firstSentence(paragraph), text, nil
}

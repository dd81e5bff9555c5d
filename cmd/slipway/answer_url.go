package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"github.com/slipway-mcp/slipway/internal/netguard"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
)

// visit asks the user to visit a page for a server, and returns the action: accept means
// that the user agrees. Only the user opens it.
func (q *answering) visit(ctx context.Context, p *mcp.ElicitParams) (action string, err error) {
	page, err := pageOf(p.URL)
	if err != nil {
		return "", mcp.Errorf(mcp.CodeInvalidParams, "elicitation: %v", err)
	}
	if q.ask == nil {
		return "", usage("run the command on a terminal without --json, or add --decline",
			"%s asks you to visit %s (%s), which only a person can do", q.server, p.URL, quotedLine(p.Message))
	}
	out := q.ask.out
	defer prompting(out)()
	// The page is not opened twice: the server asks again because the user has not finished there.
	if q.visited[p.URL] {
		say(out, "%s asks again to visit %s", q.server, visible.Line(p.URL))
		return q.ask.choose(ctx, "Press Enter when you have finished there, or [d]ecline or [c]ancel: ", "accept",
			"accept", "decline", "cancel")
	}
	say(out, "%s asks you to visit a page:\n%s", q.server, p.Message)
	fmt.Fprintf(out, "  host:    %s\n  address: %s\n", visible.Line(page.Hostname()), visible.Line(p.URL))
	// A server chooses the address, so the user has to see where it leads.
	for _, warning := range warningsAbout(page) {
		fmt.Fprintf(out, "  warning: %s\n", warning)
	}
	action, err = q.ask.choose(ctx, "[o]pen it in a browser, [v]isit it yourself, [d]ecline or [c]ancel? ", "",
		"open", "visit", "decline", "cancel")
	if action != "open" && action != "visit" {
		return action, err
	}
	q.visited[p.URL] = true
	if action == "open" {
		if err := openLoginPage(ctx, p.URL); err != nil {
			say(out, "no browser could be started: %v; open the address yourself", err)
		}
	}
	return "accept", nil
}

// maxAddress bounds the address of a page, which is shown as a whole.
const maxAddress = 4096

// pageOf returns the address of a page for a browser.
func pageOf(address string) (*url.URL, error) {
	page, err := url.Parse(address)
	switch {
	case err != nil || page.Hostname() == "" || page.Scheme != "https" && page.Scheme != "http":
		return nil, errors.New("not the address of a page")
	case page.User != nil:
		return nil, errors.New("the address contains credentials")
	case strings.ContainsFunc(address, unicode.IsSpace), len(address) > maxAddress:
		// Spaces could wrap it on the terminal so that its rest looks like a line of its own.
		return nil, errors.New("the address contains spaces or is too long")
	}
	return page, nil
}

// warningsAbout returns what the user should know about an address before visiting it.
func warningsAbout(page *url.URL) (warnings []string) {
	host := strings.ToLower(page.Hostname())
	if page.Scheme == "http" && !netguard.NamesLoopback(page.String()) {
		warnings = append(warnings, "the connection is not encrypted")
	}
	ascii := strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.-:[]%") == ""
	if !ascii || strings.HasPrefix(host, "xn--") || strings.Contains(host, ".xn--") {
		warnings = append(warnings, "the host has international characters, and may look like another one")
	}
	return warnings
}

// maxVisits is how many pages one request may require.
const maxVisits = 10

// maxVisitRounds is how often one request is repeated after visits that the server requires.
const maxVisitRounds = 3

// withVisits makes a request, and repeats it when the user has visited the pages that a server
// up to 2025-11-25 requires first.
func withVisits[T any](c *openSource, what string, do func() (T, error)) (T, error) {
	for n := 1; ; n++ {
		result, err := do()
		var e *mcp.Error
		required := errors.As(err, &e) && e.Code == mcp.CodeURLElicitationRequired
		if !required || c.answers == nil || n > maxVisitRounds {
			return result, err
		}
		if !c.answers.visitFirst(what, e) {
			return result, err
		}
	}
}

// visitFirst asks the user to visit the pages of an error, and reports whether the request
// can be repeated.
func (q *answering) visitFirst(what string, e *mcp.Error) (again bool) {
	var required struct {
		Elicitations []mcp.ElicitParams `json:"elicitations"`
	}
	n := 0
	if json.Unmarshal(e.Data, &required) == nil {
		n = len(required.Elicitations)
	}
	if n == 0 || n > maxVisits || q.decline {
		return false
	}
	q.one.Lock()
	defer q.one.Unlock()
	ctx := q.cmd.Context()
	first := false
	for i := range required.Elicitations {
		p := &required.Elicitations[i]
		if q.ask == nil {
			q.stop(no("visit it in a browser, then run the command again", "%s: %s requires a visit to %s first (%s)",
				what, q.server, p.URL, quotedLine(p.Message)))
			return false
		}
		first = first || !q.visited[p.URL]
		if action, err := q.visit(ctx, p); err != nil || action != "accept" {
			return false
		}
	}
	if !first {
		return true // the user has said so
	}
	defer prompting(q.ask.out)()
	_, err := q.ask.line(ctx, "Press Enter when you have finished there: ")
	return err == nil
}

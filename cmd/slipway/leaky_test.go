package main

import (
	"context"
	"encoding/base64"
	hexadecimal "encoding/hex"
	"encoding/json"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// leakyMain is the program "leaky", a server over stdin and stdout whose tools reveal
// their environment in all the ways that real servers do.
func leakyMain() {
	_ = mcpserver.New(&leaky{}, nil).ServeStdio(context.Background(), os.Stdin, os.Stdout, nil)
}

type leaky struct{ mcp.Unimplemented }

const leakForms = `{"type":"object","properties":{"form":{"type":"string","enum":["plain","base64","hex","url",` +
	`"json","wrapped","blob","key","binary"]}},"required":["form"]}`

func (*leaky) Catalog(context.Context) (*mcp.Catalog, error) {
	read := &mcp.ToolAnnotations{ReadOnlyHint: true}
	none := json.RawMessage(`{"type":"object"}`)
	return &mcp.Catalog{
		Server: mcp.Implementation{Name: "leaky", Version: "1.0.0"},
		Tools: []mcp.Tool{
			{Name: "get_env", Description: "The environment", Annotations: read, InputSchema: none},
			{Name: "dump", Description: "The environment as lines", Annotations: read, InputSchema: none},
			{Name: "reveal", Description: "DB_PASSWORD", Annotations: read, InputSchema: json.RawMessage(leakForms)},
			{Name: "pair", Description: "A key", Annotations: read, InputSchema: none},
			{Name: "random", Description: "A string", Annotations: read, InputSchema: none},
			{Name: "key", Description: "A private key", Annotations: read, InputSchema: none},
			{Name: "fail", Description: "An error", Annotations: read, InputSchema: none},
			{Name: "large", Description: "Much", Annotations: read, InputSchema: none},
			{Name: "public", Description: "Hashes and identifiers", Annotations: read, InputSchema: none},
			{Name: "names", Description: "The names of variables", Annotations: read, InputSchema: none},
		},
		Prompts: []mcp.Prompt{
			{Name: "weather", Description: "d", Arguments: []mcp.PromptArgument{
				{Name: "city", Description: "d", Required: true}, {Name: "state", Description: "d"},
				{Name: "unit", Description: "d"}}},
			{Name: "plan", Description: "d", Arguments: []mcp.PromptArgument{{Name: "days", Description: "d", Required: true}}},
			{Name: "sell", Description: "d", Arguments: []mcp.PromptArgument{{Name: "what", Description: "d", Required: true}}},
		},
	}, nil
}

// GetPrompt returns other texts if an optional argument is missing, and has a numeric
// argument.
func (*leaky) GetPrompt(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	text := "Sell " + p.Arguments["what"]
	switch p.Name {
	case "weather":
		text = "What is the weather in " + p.Arguments["city"]
		if state, given := p.Arguments["state"]; given {
			text += ", " + state
		}
		if unit, given := p.Arguments["unit"]; given {
			text += " in " + unit
		}
	case "plan":
		if _, err := strconv.Atoi(p.Arguments["days"]); err != nil {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "days: must be an integer (got %q)", p.Arguments["days"])
		}
		text = "Plan " + p.Arguments["days"] + " days"
	}
	return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text(text + "?")}}}, nil
}

func (l *leaky) CallTool(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	text := ""
	switch p.Name {
	case "get_env":
		text = l.asJSON()
	case "dump":
		text = strings.Join(os.Environ(), "\n")
	case "reveal":
		return l.reveal(p)
	case "pair":
		text = `{"region":"eu-1","API_KEY":"q7f2-mm81-zz30"}`
	case "random":
		text = "use k3Wq0cYw7m1nJ4s8xZ2bTf6pQ9rVuA5e to connect"
	case "key":
		text = "-----BEGIN " + "EC PRIVATE " +
			"KEY-----\nMHcCAQEEIBkg4LVWM9nuwNSk3yByxZpYRTBnVJk5GkMkCvTq8bYXoAoGCCqGSM49\n-----END EC PRIVATE KEY-----"
	case "fail":
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("cannot connect with " + os.Getenv("DB_PASSWORD"))},
			IsError: true}, nil
	case "large":
		text = strings.Repeat("a page of text\n", 17<<20/15)
	case "public":
		text = "commit 3f786850e387550fdab836ed7e6dc881de23001b\nid 123e4567-e89b-12d3-a456-426614174000\n" +
			"sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC\n" +
			"-----BEGIN RSA PRIVATE KEY----- is how a key begins, and DB_PASSWORD=your-password sets one"
	case "names":
		for _, entry := range os.Environ() {
			name, _, _ := strings.Cut(entry, "=")
			text += name + " "
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}, nil
}

func (*leaky) asJSON() string {
	variables := make(map[string]string)
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		variables[name] = value
	}
	doc, _ := json.MarshalIndent(variables, "", "  ")
	return string(doc)
}

// reveal returns DB_PASSWORD in one form.
func (*leaky) reveal(p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	form, _ := p.StringArgument("form")
	secret := os.Getenv("DB_PASSWORD")
	text := "the answer is "
	switch form {
	case "plain":
		text += secret
	case "base64":
		text += base64.StdEncoding.EncodeToString([]byte("admin:" + secret + "@db"))
	case "hex":
		text += hexadecimal.EncodeToString([]byte(secret))
	case "url":
		text += url.QueryEscape(secret)
	case "json":
		quoted, _ := json.Marshal(map[string]string{"of": secret})
		text += string(quoted)
	case "wrapped":
		encoded := base64.StdEncoding.EncodeToString([]byte("\x00\x01" + secret + "\xff"))
		text += encoded[:9] + "\n" + encoded[9:]
	case "blob":
		return &mcp.CallToolResult{Content: []mcp.Content{
			{Type: "resource", Resource: &mcp.ResourceContents{URI: "file:///config", Blob: []byte("config: " + secret)}},
		}}, nil
	case "key":
		doc, _ := json.Marshal(map[string]string{secret: "x"})
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("see the structure")}, StructuredContent: doc}, nil
	case "binary":
		return &mcp.CallToolResult{Content: []mcp.Content{{Type: "image", MIMEType: "image/png",
			Data: []byte("\x89PNG\x00" + secret + "\x00\xff")}}}, nil
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}, nil
}

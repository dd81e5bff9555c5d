package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
)

// openTerminal returns a file that isTerminal accepts as a terminal.
func openTerminal(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestIsTerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	tests := []struct {
		name string
		w    any
		want bool
	}{
		{"buffer", new(bytes.Buffer), false},
		{"file", file, false},
		{"the null device", null, false},
		{"terminal", openTerminal(t), true},
	}
	for _, tt := range tests {
		if got := isTerminal(tt.w); got != tt.want {
			t.Errorf("isTerminal(%s) = %t, want %t", tt.name, got, tt.want)
		}
	}
}

// TestUnwrittenOutput verifies that a command fails if its output is lost, although it has ignored the
// error of the write, and that a closed pipe alone prints no message.
func TestUnwrittenOutput(t *testing.T) {
	reader, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	_ = reader.Close()
	closed, err := os.Create(filepath.Join(t.TempDir(), "closed"))
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	tests := []struct {
		name    string
		file    *os.File
		err     error // of the command
		code    int
		message string
	}{
		{"success", closed, nil, exitInput, "file already closed"},
		{"negative result", closed, no("", "test: 1 of 2 calls failed"), exitInput, "file already closed"},
		{"other failure", closed, usage("", "test: what is that"), exitUsage, "what is that"},
		{"closed pipe", pipe, nil, exitPipe, ""},
	}
	for _, tt := range tests {
		out := exactScreen(tt.file)
		fmt.Fprintln(out, "a result")
		var messages bytes.Buffer
		if code := report(&messages, out.complete(tt.err)); code != tt.code {
			t.Errorf("%s: exit code %d, want %d", tt.name, code, tt.code)
		}
		if got := messages.String(); !strings.Contains(got, tt.message) || tt.message == "" && got != "" {
			t.Errorf("%s: message %q, want %q", tt.name, got, tt.message)
		}
	}
	out := exactScreen(closed)
	if err := out.complete(nil); err != nil {
		t.Errorf("without output: %v", err)
	}
}

func TestBinaryDataIsNotPrintedToATerminal(t *testing.T) {
	picture := mcp.ResourceContents{URI: "x://b", MIMEType: "image/png", Blob: []byte{0, 1}}
	result := &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{picture}}
	err := printContents(openTerminal(t), result)
	if err == nil || !strings.Contains(err.Error(),
		"x://b is binary (image/png, 2 bytes)") || !strings.Contains(explain(err).hint, "> FILE") {
		t.Errorf("printContents to a terminal = %v, want a refusal with a way out", err)
	}
	var out bytes.Buffer
	if err := printContents(&out, result); err != nil || !bytes.Equal(out.Bytes(), []byte{0, 1}) {
		t.Errorf("printContents = %q, %v, want the two bytes", out.Bytes(), err)
	}
}

func TestClientName(t *testing.T) {
	for name, want := range map[string]string{
		"http-reference": "http-reference", "HTTP Reference": "http-reference", "a..b__c": "a-b-c",
		"東京": "slipway", "": "slipway",
	} {
		if got := clientName(name); got != want {
			t.Errorf("clientName(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestInvalidBase64 verifies that the rest of an answer is shown.
func TestInvalidBase64(t *testing.T) {
	var answer struct {
		Content []block `json:"content"`
	}
	err := decode(json.RawMessage(`{"content":[{"type":"image","data":"!","mimeType":"image/png"},`+
		`{"type":"text","text":"rest"},{"type":"resource","resource":{"uri":"x:y","blob":"AAAA"}}]}`), &answer)
	if err != nil {
		t.Fatal(err)
	}
	want := "[image, image/png, not valid base64]\nrest\n[resource x:y, , 3 bytes]\n"
	if got := shown(answer.Content); got != want {
		t.Errorf("shown: %q, want %q", got, want)
	}
}

// TestAnswerBreaksProtocol verifies that the error names the member rather than types of Go.
func TestAnswerBreaksProtocol(t *testing.T) {
	for text, want := range map[string]string{
		`{"content":{"type":"text"}}`:                "content is an object",
		`{"content":[{"type":"text","text":"a"},5]}`: "content is a number",
		`{"content":[{"type":"text","text":1.5}]}`:   "content.text is a number",
		`{"content":true}`:                           "content is a boolean",
	} {
		var answer struct {
			Content []block `json:"content"`
		}
		err := decode(json.RawMessage(text), &answer)
		want = "the server's answer breaks the protocol: " + want
		var f *failure
		if !errors.As(err, &f) || f.text != want || f.code != exitRemote {
			t.Errorf("decode(%s) = %v, want %q", text, err, want)
		}
	}
}

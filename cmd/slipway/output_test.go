package main

import (
	"bytes"
	"encoding/json"
	"errors"
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

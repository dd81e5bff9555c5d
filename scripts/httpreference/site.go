package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/staticmcp"
)

// The shapes of the StaticMCP standard: section 1 for the manifest, 4 for resources, 5
// for answers. Templates, prompts and instructions are additions that other readers
// ignore.
type manifest struct {
	ProtocolVersion string       `json:"protocolVersion"`
	ServerInfo      serverInfo   `json:"serverInfo"`
	Instructions    string       `json:"instructions"`
	Capabilities    capabilities `json:"capabilities"`
}

type serverInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}

type capabilities struct {
	Resources         []resource         `json:"resources"`
	ResourceTemplates []resourceTemplate `json:"resourceTemplates"`
	Tools             []tool             `json:"tools"`
	Prompts           []prompt           `json:"prompts"`
}

type resource struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Description string `json:"description"`
	MIMEType    string `json:"mimeType"`
}

type resourceTemplate struct {
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	Description string `json:"description"`
	MIMEType    string `json:"mimeType"`
}

// resourceFile has text or blob.
type resourceFile struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType"`
	Text     string `json:"text,omitempty"`
	Blob     []byte `json:"blob,omitempty"` // base64 in JSON
}

type answerFile struct {
	Content []content `json:"content"`
}

type content struct {
	Type     string        `json:"type"`
	Text     string        `json:"text,omitempty"`
	Resource *resourceFile `json:"resource,omitempty"`
}

const markdownType = "text/markdown"

// site is the set of files under construction. It keeps the first error.
type site struct {
	files    map[string][]byte
	manifest manifest
	err      error
}

// put adds a file and rejects duplicate names, since different values may have the same
// encoding.
func (s *site) put(path string, v any) {
	if s.err != nil {
		return
	}
	if _, taken := s.files[path]; taken {
		s.err = fmt.Errorf("two values lead to the file %s", path)
		return
	}
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	s.err = encoder.Encode(v)
	s.files[path] = buf.Bytes()
}

func (s *site) addText(uri, name, description, text string) resourceFile {
	file := resourceFile{URI: uri, MIMEType: markdownType, Text: text}
	s.addResource(name, description, file)
	return file
}

func (s *site) addResource(name, description string, file resourceFile) {
	s.manifest.Capabilities.Resources = append(s.manifest.Capabilities.Resources, resource{
		URI: file.URI, Name: name, Description: description, MIMEType: file.MIMEType,
	})
	s.put(resourcePath(file.URI), file)
}

// addAnswer stores the answer of a call with these arguments, in the order of the tool's
// required parameters and then the others.
func (s *site) addAnswer(tool, text string, args ...string) {
	s.put(callPath("tools", tool, args), answerFile{[]content{{Type: "text", Text: text}}})
}

func (s *site) addPrompt(name string, result promptResult, args ...string) {
	s.put(callPath("prompts", name, args), result)
}

// resourcePath follows the standard, sections 2 and 3: the part before "://" is dropped,
// "/" separates folders, and each segment is encoded.
func resourcePath(uri string) string {
	_, rest, found := strings.Cut(uri, "://")
	if !found {
		rest = uri
	}
	path := "resources"
	for segment := range strings.SplitSeq(rest, "/") {
		if segment != "" {
			path += "/" + staticmcp.EncodeName(segment)
		}
	}
	return path + ".json"
}

func callPath(folder, name string, args []string) string {
	path := folder + "/" + name
	for _, arg := range args {
		path += "/" + staticmcp.EncodeName(arg)
	}
	return path + ".json"
}

// Package naivesite reads StaticMCP sites strictly by the standard: no other file names,
// no other shapes, no defaults, no guesses.
//
// It is for tests: generated sites must work with the most naive reader that follows the
// standard, not only with a tolerant one.
package naivesite

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Site is a site with its mcp.json at the root of FS. Encode is the file naming of
// section 3 of the standard, which the caller provides.
type Site struct {
	FS     fs.FS
	Encode func(string) string
}

// Manifest returns the members of section 1, all of which are required.
func (s Site) Manifest() (m struct {
	ProtocolVersion string
	ServerInfo      struct{ Name, Version string }
	Capabilities    struct {
		Resources []struct{ URI, Name, Description, MIMEType string }
		Tools     []struct {
			Name, Description string
			InputSchema       struct{ Required []string }
		}
	}
}, err error) {
	err = s.read("mcp.json", &m)
	return m, err
}

// Resource returns the text of the resource called uri, by sections 2 and 4.
func (s Site) Resource(uri string) (text, mimeType string, err error) {
	if _, rest, ok := strings.Cut(uri, "://"); ok {
		uri = rest
	}
	var file struct{ URI, MIMEType, Text *string }
	if err := s.read(s.name("resources", strings.Split(uri, "/")), &file); err != nil {
		return "", "", err
	}
	if file.URI == nil || file.MIMEType == nil || file.Text == nil {
		return "", "", fmt.Errorf("resource %s: the file lacks uri, mimeType or text", uri)
	}
	return *file.Text, *file.MIMEType, nil
}

// Call returns the text of the first content in the result of a tool, by sections 2 and
// 5. The arguments are strings in the order in which the tool declares them.
func (s Site) Call(tool string, arguments ...string) (text string, err error) {
	var file struct{ Content []struct{ Type, Text string } }
	if err := s.read(s.name("tools/"+tool, arguments), &file); err != nil {
		return "", err
	}
	if len(file.Content) == 0 || file.Content[0].Type == "" {
		return "", fmt.Errorf("tool %s: the file has no content with a type", tool)
	}
	return file.Content[0].Text, nil
}

// name returns the file for the parts of a name, such as a tool and its arguments. Each part is
// encoded separately.
func (s Site) name(dir string, parts []string) string {
	for _, part := range parts {
		dir = path.Join(dir, s.Encode(part))
	}
	return dir + ".json"
}

// read decodes a file of the site.
func (s Site) read(name string, into any) error {
	data, err := fs.ReadFile(s.FS, name)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	return err
}

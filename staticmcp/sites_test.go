package staticmcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// The archives in testdata/sites are sites in the layout of one writer each, with a table
// of questions and the files that answer them.
//
// A file whose text is "answer" is replaced by the answer of a tool that contains its own
// path, one that reads "resource URI" by a resource in the standard's form, "prompt" by a
// prompt. The file "options" sets Strict or Compat, and each line of "questions" is one
// of
//
//	call TOOL ARGUMENTS = PATH
//	read URI = PATH
//	prompt NAME ARGUMENTS = PATH
//
// where PATH may be replaced by "miss", optionally followed by a part of the message, or
// by "text" and a part of the answer's text.
func TestSites(t *testing.T) {
	archives, err := filepath.Glob("testdata/sites/*.txtar")
	if err != nil || len(archives) < 10 {
		t.Fatalf("found %d sites, error %v", len(archives), err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			files, questions, opts := readArchive(t, name)
			for _, kind := range []string{"fs", "zip", "url"} {
				t.Run(kind, func(t *testing.T) {
					site := openAs(t, kind, files, opts)
					for _, q := range questions {
						if only, rest, ok := strings.Cut(q, ": "); ok && !strings.Contains(only, " ") {
							if !strings.Contains(only, kind) {
								continue
							}
							q = rest
						}
						ask(t, site, q)
					}
				})
			}
		})
	}
}

// readArchive returns a site and the questions to it.
func readArchive(t *testing.T, name string) (fstest.MapFS, []string, *staticmcp.Options) {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	opts := &staticmcp.Options{Poll: -1}
	var questions []string
	for _, f := range archive.Files {
		text := strings.TrimSpace(string(f.Data))
		switch f.Name {
		case "questions":
			for line := range strings.Lines(text) {
				if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
					questions = append(questions, line)
				}
			}
		case "options":
			opts.Strict = strings.Contains(text, "strict")
			if _, compat, ok := strings.Cut(text, "compat="); ok {
				opts.Compat = staticmcp.Compat(compat)
			}
		default:
			files[f.Name] = &fstest.MapFile{Data: content(f.Name, text)}
		}
	}
	if len(questions) == 0 {
		t.Fatalf("%s asks nothing", name)
	}
	return files, questions, opts
}

func content(path, text string) []byte {
	switch kind, rest, _ := strings.Cut(text, " "); kind {
	case "answer":
		return fmt.Appendf(nil, `{"content":[{"type":"text","text":%q}]}`, path)
	case "resource":
		return fmt.Appendf(nil, `{"uri":%q,"mimeType":"text/plain","text":%q}`, rest, path)
	case "prompt":
		return fmt.Appendf(nil, `{"messages":[{"role":"user","content":{"type":"text","text":%q}}]}`, path)
	}
	return []byte(text)
}

// openAs opens the same files from another kind of store.
func openAs(t *testing.T, kind string, files fstest.MapFS, opts *staticmcp.Options) *staticmcp.Site {
	t.Helper()
	var site *staticmcp.Site
	var err error
	switch kind {
	case "fs":
		site, err = staticmcp.Open(t.Context(), files, opts)
	case "zip":
		r := zipOf(t, files)
		site, err = staticmcp.OpenZipReader(t.Context(), r, r.Size(), opts)
	case "url":
		if _, err := fs.Stat(files, "mcp.json"); err != nil {
			t.Skip("a web host needs a manifest")
		}
		with := *opts
		with.HTTPClient = hostOf(files)
		site, err = staticmcp.OpenURL(t.Context(), "https://host.example/some/site", &with)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { site.Close() })
	return site
}

// ask sends one line of a table to the site.
func ask(t *testing.T, site *staticmcp.Site, line string) {
	t.Helper()
	question, want, ok := strings.Cut(line, " = ")
	if !ok {
		t.Fatalf("no answer in %q", line)
	}
	text, failed := put(t, site, question)
	kind, part, _ := strings.Cut(want, " ")
	switch {
	case kind == "miss" && failed && strings.Contains(text, part):
	case kind == "text" && !failed && strings.Contains(text, part):
	case !failed && text == want:
	default:
		t.Errorf("%s = %q (failed %v), want %s", question, text, failed, want)
	}
}

// put returns the text of an answer, or of the error.
func put(t *testing.T, site *staticmcp.Site, question string) (text string, failed bool) {
	t.Helper()
	verb, rest, _ := strings.Cut(question, " ")
	name, arguments, _ := strings.Cut(rest, " ")
	var result any
	var err error
	switch verb {
	case "call":
		var r *mcp.CallToolResult
		r, err = site.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
		if err == nil {
			result, failed = r, r.IsError
		}
	case "read":
		var r *mcp.ReadResourceResult
		r, err = site.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: rest})
		result = r
	case "prompt":
		var decoded map[string]string
		if arguments != "" {
			if err := json.Unmarshal([]byte(arguments), &decoded); err != nil {
				t.Fatal(err)
			}
		}
		var r *mcp.GetPromptResult
		r, err = site.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name, Arguments: decoded})
		result = r
	default:
		t.Fatalf("unknown question %q", question)
	}
	if err != nil {
		var e *mcp.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: error %v has no code", question, err)
		}
		return err.Error(), true
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return firstText(t, encoded), failed
}

// firstText returns the first text in a result, or all of it.
func firstText(t *testing.T, result []byte) string {
	t.Helper()
	var r struct {
		Content  []struct{ Text string }
		Contents []struct{ Text string }
		Messages []struct {
			Content struct{ Text string }
		}
	}
	if err := json.Unmarshal(result, &r); err != nil {
		t.Fatalf("%s: %v", result, err)
	}
	switch {
	case len(r.Content) > 0 && r.Content[0].Text != "":
		return r.Content[0].Text
	case len(r.Contents) > 0 && r.Contents[0].Text != "":
		return r.Contents[0].Text
	case len(r.Messages) > 0:
		return r.Messages[0].Content.Text
	}
	return string(result)
}

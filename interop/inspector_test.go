package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"
)

// TestInspector sends single requests with the command line of the MCP Inspector, which
// server authors use to try their servers. Each question is a separate process and
// connection.
func TestInspector(t *testing.T) {
	tools := nodeTools(t)
	for _, served := range []struct {
		name      string
		read      func(*testing.T) (site, mistakes)
		questions func(site) []question
	}{
		{"reference", referenceSite, referenceQuestions},
		{"generated", writeSite, generatedQuestions},
	} {
		t.Run(served.name, func(t *testing.T) {
			s, _ := served.read(t)
			to := serve(t, s.dir)
			for _, transport := range transports() {
				for _, era := range []string{"legacy", "modern"} {
					t.Run(transport+"/"+era, func(t *testing.T) {
						i := inspector{tools, to, transport, era}
						for _, q := range append(commonQuestions(s, era), served.questions(s)...) {
							t.Run(q.name, func(t *testing.T) {
								t.Parallel()
								i.ask(t, q)
							})
						}
					})
				}
			}
		})
	}
}

// A question is one command line. Only the fields of its answer that have a value here
// are compared.
type question struct {
	name string
	args []string
	exit int

	list   string   // the key of the list in the result ...
	want   []object // ... and the expected items
	fields []string // the fields of its items to compare

	result object // keys of the result to compare
}

// Exit codes of the Inspector.
const (
	inspectorFine      = 0
	inspectorError     = 1
	inspectorToolError = 5
)

func commonQuestions(s site, era string) []question {
	version := v1125
	if era == "modern" {
		version = v0728
	}
	first := s.resources[0]["uri"].(string)
	contents := []string{"uri", "mimeType", "text", "blob"}
	questions := []question{
		{name: "initialize", args: []string{"--method", "initialize"}, result: object{"protocolVersion": version}},
		{name: "tools list", args: []string{"--method", "tools/list"},
			list: "tools", want: s.tools, fields: []string{"name", "title", "description", "inputSchema", "outputSchema"}},
		{name: "tools list, strict", args: []string{"--method", "tools/list", "--strict"}},
		{name: "resources list", args: []string{"--method", "resources/list"},
			list: "resources", want: s.resources, fields: []string{"uri", "name", "description", "mimeType"}},
		{name: "templates list", args: []string{"--method", "resources/templates/list"},
			list: "resourceTemplates", want: s.templates,
			fields: []string{"uriTemplate", "name", "title", "description", "mimeType"}},
		{name: "resource", args: []string{"--method", "resources/read", "--uri", first},
			list: "contents", want: []object{s.contents[first]}, fields: contents},
		{
			name: "unknown resource",
			args: []string{"--method", "resources/read", "--uri", "nowhere://nothing"},
			exit: inspectorError,
		},
		{
			name: "unknown tool",
			args: []string{"--method", "tools/call", "--tool-name", "no_such_tool"},
			exit: inspectorToolError,
		},
	}
	for uri, c := range s.contents {
		if c["blob"] != nil {
			questions = append(questions, question{name: "blob", args: []string{"--method", "resources/read", "--uri", uri},
				list: "contents", want: []object{c}, fields: contents})
			break
		}
	}
	return questions
}

func referenceQuestions(s site) []question {
	return []question{
		s.asks("integer argument", "get_status", object{"code": 404.0}, "code=404"),
		s.asks("two arguments", "compare_methods", object{"a": "GET", "b": "POST"}, "a=GET", "b=POST"),
		{name: "no such answer",
			args: []string{"--method", "tools/call", "--tool-name", "get_status", "--tool-arg", "code=599"},
			exit: inspectorToolError},
	}
}

func generatedQuestions(s site) []question {
	weather := s.answerTo("weather", object{})
	return []question{
		s.asks("words", "title", object{"title": "Two Words"}, "title=Two Words"),
		s.asks("two numbers", "add", object{"left": 1.0, "right": 2.0}, "left=1", "right=2"),
		{name: "every content", args: []string{"--method", "tools/call", "--tool-name", "weather"},
			result: object{"content": weather["content"], "structuredContent": weather["structuredContent"]}},
		{name: "prompts list", args: []string{"--method", "prompts/list"},
			list: "prompts", want: s.prompts, fields: []string{"name", "title", "description", "arguments"}},
		{name: "prompt",
			args: []string{"--method", "prompts/get", "--prompt-name", "translate", "--prompt-args", "language=french"},
			list: "messages", want: objects(s.messageFor("translate", "french")["messages"]),
			fields: []string{"role", "content"}},
		{
			name: "prompt without its argument",
			args: []string{"--method", "prompts/get", "--prompt-name", "translate"},
			exit: inspectorError,
		},
	}
}

// asks returns the question that calls tool with the arguments as pairs.
func (s site) asks(name, tool string, args object, pairs ...string) question {
	line := []string{"--method", "tools/call", "--tool-name", tool}
	for _, pair := range pairs {
		line = append(line, "--tool-arg", pair)
	}
	return question{name: name, args: line, result: object{"content": s.answerTo(tool, args)["content"]}}
}

// answerTo returns the site's answer to a call, or nil.
func (s site) answerTo(tool string, args object) object {
	return find(s.calls, tool, args)
}

func (s site) messageFor(prompt, value string) object {
	return find(s.messages, prompt, object{"language": value})
}

func find(all []exchange, name string, args object) object {
	for _, e := range all {
		if e.name == name && equal(e.args, args) {
			return e.want
		}
	}
	return nil
}

// An inspector runs the Inspector against one target.
type inspector struct {
	tools     npmTools
	to        target
	transport string
	era       string
}

func (i inspector) ask(t *testing.T, q question) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, i.tools.node(), i.commandLine(t, q)...)
	// The Inspector stores its state below HOME.
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != q.exit {
		t.Fatalf("inspector %q: exit code %d, want %d; stdout:\n%.2000s\nstderr:\n%.2000s", q.args, got, q.exit, out, &stderr)
	}
	if q.exit == inspectorFine {
		q.check(t, out)
	}
}

func (i inspector) commandLine(t *testing.T, q question) []string {
	t.Helper()
	line := []string{i.tools.module("@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
		"--cli", "--format", "json", "--quiet", "--protocol-era", i.era}
	line = append(line, q.args...)
	if i.transport == "http" {
		return append(line, "--transport", "http", "--server-url", i.to.endpoint)
	}
	command, tap := traced(t, i.to.command())
	for _, entry := range tap {
		line = append(line, "-e", entry)
	}
	return append(append(line, "--"), command...)
}

func (q question) check(t *testing.T, out []byte) {
	t.Helper()
	var said struct {
		Result object `json:"result"`
	}
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatalf("inspector %q printed %.2000s: %v", q.args, out, err)
	}
	if q.list != "" {
		same(t, q.list, pick(objects(said.Result[q.list]), q.fields), pick(q.want, q.fields))
	}
	for key, want := range q.result {
		same(t, key, said.Result[key], want)
	}
}

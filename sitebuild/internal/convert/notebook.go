package convert

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// maxOutput is how many bytes of one output of a notebook are kept.
const maxOutput = 4 << 10

// notebook is a file of Jupyter, nbformat 3 and 4.
// See https://nbformat.readthedocs.io/en/latest/format_description.html.
type notebook struct {
	// Format is the major version. The two versions differ in where the cells are.
	Format   int `json:"nbformat"`
	Metadata struct {
		Title      string `json:"title"`
		KernelSpec struct {
			Language string `json:"language"`
		} `json:"kernelspec"`
		LanguageInfo struct {
			Name string `json:"name"`
		} `json:"language_info"`
	} `json:"metadata"`
	Cells      []cell `json:"cells"`
	Worksheets []struct {
		Cells []cell `json:"cells"`
	} `json:"worksheets"` // nbformat 3
}

// cell is a part of a notebook.
type cell struct {
	// Type is "markdown", "code", "raw" or, in nbformat 3, "heading".
	Type     string `json:"cell_type"`
	Source   lines  `json:"source"`
	Input    lines  `json:"input"` // nbformat 3: the source of code
	Level    int    `json:"level"` // nbformat 3: of a heading
	Language string `json:"language"`
	Metadata struct {
		Tags     []string `json:"tags"`
		NBSphinx string   `json:"nbsphinx"`
		Format   string   `json:"raw_mimetype"`
	} `json:"metadata"`
	Outputs []output `json:"outputs"`
}

// output is a result that is stored with a cell.
type output struct {
	// Type selects the members that are set: a stream has Text, a result Data by MIME type, and an
	// error Name and Value.
	Type  string                     `json:"output_type"`
	Text  lines                      `json:"text"`
	Data  map[string]json.RawMessage `json:"data"`
	Name  string                     `json:"ename"`
	Value string                     `json:"evalue"`
}

// lines is a text that a notebook stores whole or line by line.
type lines string

// UnmarshalJSON implements json.Unmarshaler.
func (l *lines) UnmarshalJSON(data []byte) error {
	var whole string
	if err := json.Unmarshal(data, &whole); err == nil {
		*l = lines(whole)
		return nil
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*l = lines(strings.Join(list, ""))
	return nil
}

// readNotebook reads a notebook. Cells that Jupyter Book and nbsphinx hide are left out.
func readNotebook(name string, data []byte, limit int64) (*Document, error) {
	var n notebook
	if err := json.Unmarshal(data, &n); err != nil {
		return nil, fmt.Errorf("it is not a notebook: %w", err)
	}
	if n.Format < 3 || n.Format > 4 {
		return nil, fmt.Errorf("it is not a notebook of format 3 or 4 (nbformat is %d)", n.Format)
	}
	for _, sheet := range n.Worksheets {
		n.Cells = append(n.Cells, sheet.Cells...)
	}
	language := n.Metadata.LanguageInfo.Name
	if language == "" {
		language = n.Metadata.KernelSpec.Language
	}
	if language == "" {
		language = "python"
	}
	var b strings.Builder
	for i := range n.Cells {
		n.Cells[i].write(&b, language)
		if int64(b.Len()) > limit {
			return nil, fmt.Errorf("its text has more than %d bytes", limit)
		}
	}
	title := n.Metadata.Title
	if title == "" && !hasMainHeading(b.String()) {
		title = nameTitle(name)
	}
	return &Document{Title: title, Markdown: b.String()}, nil
}

// hasMainHeading reports whether Markdown begins a line with one number sign, which is good
// enough to decide whether a notebook needs a title.
func hasMainHeading(text string) bool {
	return strings.HasPrefix(text, "# ") || strings.Contains(text, "\n# ")
}

// tagged reports whether a cell has one of the tags.
func (c *cell) tagged(tags ...string) bool {
	return slices.ContainsFunc(c.Metadata.Tags, func(tag string) bool {
		return slices.Contains(tags, strings.ReplaceAll(tag, "_", "-"))
	})
}

// write writes a cell as Markdown.
func (c *cell) write(b *strings.Builder, language string) {
	if c.Metadata.NBSphinx == "hidden" || c.tagged("remove-cell", "hide-cell") {
		return
	}
	source := string(c.Source)
	switch c.Type {
	case "markdown":
		block(b, attachments().ReplaceAllString(strings.ReplaceAll(source, "\r\n", "\n"), "$1"))
	case "heading":
		block(b, strings.Repeat("#", min(max(c.Level, 1), 6))+" "+source)
	case "raw":
		if c.Metadata.Format == "" || strings.Contains(c.Metadata.Format, "markdown") {
			block(b, source)
		}
	case "code":
		if source == "" {
			source = string(c.Input)
		}
		if c.Language != "" {
			language = c.Language
		}
		if !c.tagged("remove-input", "hide-input") {
			fence(b, language, source)
		}
		if !c.tagged("remove-output", "hide-output") {
			for i := range c.Outputs {
				c.Outputs[i].write(b)
			}
		}
	}
}

// write writes an output: its text, but no picture, and no page that only a browser shows.
func (o *output) write(b *strings.Builder) {
	switch o.Type {
	case "stream":
		fence(b, "text", cutOutput(string(o.Text)))
	case "error", "pyerr":
		fence(b, "text", cutOutput(plainTerminal(o.Name+": "+o.Value)))
	default:
		if text := o.as("text/markdown"); text != "" {
			block(b, cutOutput(text))
			return
		}
		text := o.as("text/plain")
		if o.Data == nil {
			text = string(o.Text) // nbformat 3
		}
		if o.isPicture() && (strings.HasPrefix(text, "<") || text == "") {
			return // the name of an object in place of the picture
		}
		fence(b, "text", cutOutput(text))
	}
}

// as returns the form of an output in one media type, or "".
func (o *output) as(mediaType string) string {
	var text lines
	if json.Unmarshal(o.Data[mediaType], &text) != nil {
		return ""
	}
	return string(text)
}

// isPicture reports whether an output is a picture or an interactive view.
func (o *output) isPicture() bool {
	for mediaType := range o.Data {
		if mediaType != "text/plain" && mediaType != "text/html" && mediaType != "text/latex" {
			return true
		}
	}
	return false
}

// cutOutput shortens an output to the lines that fit into maxOutput.
func cutOutput(text string) string {
	text = plainTerminal(text)
	if len(text) <= maxOutput {
		return text
	}
	end := strings.LastIndexByte(text[:maxOutput], '\n')
	if end < 0 {
		end = maxOutput
	}
	return strings.ToValidUTF8(text[:end], "") +
		fmt.Sprintf("\n[%d more lines]", 1+strings.Count(strings.TrimRight(text[end+1:], "\n"), "\n"))
}

// attachments matches a picture that is stored in its cell. It has no address.
var attachments = lazyregexp.New(`!\[([^\]]*)\]\(attachment:[^)]*\)`)

// colors matches the codes that color text in a terminal.
var colors = lazyregexp.New(`\x1b\[[0-9;]*[A-Za-z]`)

// plainTerminal returns text for a terminal without its colors, and of lines that were
// overwritten, such as progress bars, the last state.
func plainTerminal(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if strings.ContainsRune(text, '\x1b') {
		text = colors().ReplaceAllString(text, "")
	}
	if strings.ContainsRune(text, '\r') {
		all := strings.Split(text, "\n")
		for i, line := range all {
			line = strings.TrimRight(line, "\r")
			all[i] = line[strings.LastIndexByte(line, '\r')+1:]
		}
		text = strings.Join(all, "\n")
	}
	return text
}

// block writes Markdown with an empty line after it.
func block(b *strings.Builder, text string) {
	if text = strings.Trim(text, "\n"); strings.TrimSpace(text) != "" {
		b.WriteString(text + "\n\n")
	}
}

// fence writes a block of code.
func fence(b *strings.Builder, language, text string) {
	text = strings.TrimRight(strings.TrimLeft(text, "\n"), " \t\n")
	if text == "" {
		return
	}
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	b.WriteString(mark + language + "\n" + text + "\n" + mark + "\n\n")
}

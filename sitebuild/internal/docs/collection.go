package docs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/search"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/mcp"
)

// Names of the arguments that choose an edition.
const (
	argVersion  = "version"
	argLanguage = "language"
)

// collection is all editions of a folder. Each has pages, a navigation and a search index of its
// own, so that nothing of one edition is found in another, and a search reads the files of one.
type collection struct {
	all    *editions
	makers []*maker
}

// collect reads all editions of the folder with read or survey. It returns nil if there is only
// one.
func (f *Folder) collect(ctx context.Context, how reading) (*collection, error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	prefix := filepath.ToSlash(filepath.Clean(f.dir))
	all := findEditions(root.FS(), prefix, f.beside(), &f.opts)
	switch {
	case all == nil:
		return nil, nil
	case all.err != nil:
		return nil, fmt.Errorf("read documents: %s: %w", prefix, all.err)
	case len(all.list) == 0:
		missing := all.report.Findings()[0]
		return nil, fmt.Errorf("read documents: %s: %s", missing.File, missing.Message)
	}
	c := &collection{all: all}
	options := f.siteOptions()
	var used usage
	for i := range all.list {
		e := &all.list[i]
		opts := *options
		opts.Language = e.language
		if e.language == "" {
			opts.Language = options.Language
		}
		if place := all.place(e); place != "" {
			opts.uriPlace = "@" + place + "/"
		}
		if options.TermFiles >= 0 {
			opts.TermFiles = max(1, options.withDefaults(0, 0).TermFiles/len(all.list)) // 0 is the default
		}
		opts.BaseURL = e.address(options.BaseURL)
		opts.used = used // the limits are those of all editions together
		sub, err := fs.Sub(root.FS(), e.dir)
		if err != nil {
			return nil, err
		}
		if e.as != nil {
			e.as.FS = sub
			sub = e.as
			opts.actual = e.as.actual
		}
		set, err := how(ctx, sub, path.Join(prefix, e.dir), e.config, &opts)
		if err != nil {
			return nil, fmt.Errorf("read documents: %w", err)
		}
		used.add(set)
		if opts.BaseURL == "" && e.under != "" {
			set.published.base = publishedAt(set.published.base, e.under)
		}
		set.place = folderName(f.dir)
		set.Title = cmp.Or(set.Title, projectTitle(f.dir))
		if i > 0 {
			set.Title = c.makers[0].set.Title
		}
		m := newMaker(set, &opts)
		m.all = all
		m.edition = e
		m.nav = newNavTree(set.Nav, slices.Concat(all.versions, all.languages)...)
		c.makers = append(c.makers, m)
	}
	return c, nil
}

// address returns the address of an edition if options say where the documents are published,
// which is given, or "".
func (e *edition) address(documents string) string {
	switch {
	case e.base != "":
		return e.base
	case documents == "":
		return ""
	}
	return publishedAt(documents, e.under)
}

// site builds the site of all editions.
func (c *collection) site(ctx context.Context) (*sitewriter.Site, error) {
	site := c.definitions()
	site.Findings = slices.Clone(c.all.report.Findings())
	for i, m := range c.makers {
		if err := m.prepare(ctx); err != nil {
			return nil, err
		}
		site.Findings = append(site.Findings, m.set.Report.Findings()...)
		if i == 0 {
			site.Findings = append(site.Findings, m.checkPins()...)
		}
	}
	site.Answers = func(yield func(*sitewriter.Answer, error) bool) {
		for _, m := range c.makers {
			for a, err := range m.placed(ctx) {
				if !yield(a, err) || err != nil {
					return
				}
			}
		}
	}
	return site, nil
}

// definitions returns the site without its answers. It lists the pages of the default edition;
// those of the others are read by templates, so that the manifest, which every client reads, does
// not grow with their number.
func (c *collection) definitions() *sitewriter.Site {
	site := c.makers[0].definitions()
	for _, m := range c.makers {
		if m.place() == "" {
			continue
		}
		site.Templates = append(site.Templates, mcp.ResourceTemplate{
			Name:        m.named("Pages"),
			URITemplate: uriOf(m.uriPlace()) + "{+path}",
			Description: "A page of the documentation of " + m.named(m.title()) + ", by its path.",
			MIMEType:    "text/markdown",
		})
	}
	return site
}

// placed yields the answers of an edition with the arguments that choose it, and its other files
// in places of their own.
func (m *maker) placed(ctx context.Context) iter.Seq2[*sitewriter.Answer, error] {
	return func(yield func(*sitewriter.Answer, error) bool) {
		for a, err := range func(yield func(*sitewriter.Answer, error) bool) { m.answers(ctx, yield) } {
			if err == nil && m.place() != "" {
				a = m.moved(a)
			}
			if !yield(a, err) || err != nil {
				return
			}
		}
	}
}

// moved returns an answer as that of the edition.
func (m *maker) moved(a *sitewriter.Answer) *sitewriter.Answer {
	own := *a
	switch {
	case own.Path == "llms.txt":
		own.Path = m.all.llmsName(m.edition)
	case own.Path != "":
		own.Path = m.all.indexDir(m.edition) + strings.TrimPrefix(own.Path, search.Dir)
	case own.Tool != "":
		own.Arguments = m.chosen(own.Arguments)
		own.Title = m.named(own.Title)
	default:
		own.Title = m.named(own.Title)
	}
	if m.base() == "" {
		own.Twin = nil // where it would be written is not known
	}
	return &own
}

// chosen adds the arguments that choose the edition to those of a call.
func (m *maker) chosen(arguments json.RawMessage) json.RawMessage {
	text := []byte("{")
	if inner := strings.TrimSpace(string(arguments)); len(inner) > len("{}") {
		text = append(text, inner[1:len(inner)-1]...)
	}
	for _, v := range m.all.values(m.edition) {
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(jsonscan.AppendQuote(text, v[0]), ':')
		text = jsonscan.AppendQuote(text, v[1])
	}
	return append(text, '}')
}

// place returns what tells the edition from the default one, or "".
func (m *maker) place() string {
	if m.all == nil {
		return ""
	}
	return m.all.place(m.edition)
}

// uriPlace returns what precedes ids in URIs.
func (m *maker) uriPlace() string { return m.opts.uriPlace }

// also returns the end of a sentence about a call that stays in the edition, such as
// " and version=2.1", or "" for the default one.
func (m *maker) also() string {
	if m.all == nil {
		return ""
	}
	text := ""
	for _, v := range m.all.values(m.edition) {
		text += " and " + v[0] + "=" + v[1]
	}
	return text
}

// named returns a title with the edition, unless that is the default one.
func (m *maker) named(title string) string {
	place := m.place()
	if place == "" || title == "" {
		return title
	}
	return title + " (" + strings.ReplaceAll(place, "/", ", ") + ")"
}

// values returns the arguments that choose an edition, with their values, without those that have
// their default.
func (all *editions) values(e *edition) [][2]string {
	var list [][2]string
	if len(all.versions) > 0 && e.version != all.versions[0] {
		list = append(list, [2]string{argVersion, e.version})
	}
	if len(all.languages) > 0 && e.language != all.languages[0] {
		list = append(list, [2]string{argLanguage, e.language})
	}
	return list
}

// indexDir returns the folder of the search index of an edition.
func (all *editions) indexDir(e *edition) string {
	if place := all.place(e); place != "" {
		return search.Dir + "/" + all.files[place]
	}
	return search.Dir
}

// fileName returns a place as a name of a file or folder, which no file of a search index has.
func fileName(place string) string {
	name := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, place)
	if bare := strings.Trim(name, "."); bare != name {
		name = "-" + bare + "-" // a hidden file, or a part of a path
	}
	if bare, ok := strings.CutSuffix(name, ".json"); ok {
		name = bare + "-json"
	}
	return name
}

// llmsName returns the name of the llms.txt of an edition.
func (all *editions) llmsName(e *edition) string {
	if place := all.place(e); place != "" {
		return "llms-" + all.files[place] + ".txt"
	}
	return "llms.txt"
}

// llms returns the section of llms.txt with those of the other editions.
func (all *editions) llms() []byte {
	if len(all.list) < 2 {
		return nil
	}
	var b strings.Builder
	b.WriteString("\n## Other versions and languages\n\n")
	for i := range all.list {
		if e := &all.list[i]; all.place(e) != "" {
			fmt.Fprintf(&b, "- [%s](%s)\n", strings.ReplaceAll(all.place(e), "/", ", "), all.llmsName(e))
		}
	}
	return []byte(b.String())
}

// searchVariant is the search index of an edition in the definition of a tool.
type searchVariant struct {
	Arguments map[string]string `json:"arguments"`
	Index     string            `json:"index"`
}

// indexes returns the search indexes of all editions but the default one.
func (all *editions) indexes() []searchVariant {
	if all == nil {
		return nil
	}
	var list []searchVariant
	for i := range all.list {
		e := &all.list[i]
		v := searchVariant{Arguments: make(map[string]string), Index: all.indexDir(e)}
		for _, value := range all.values(e) {
			v.Arguments[value[0]] = value[1]
		}
		if len(v.Arguments) > 0 {
			list = append(list, v)
		}
	}
	return list
}

// properties returns the arguments that choose an edition, for the schemas of tools.
func (all *editions) properties() []string {
	if all == nil {
		return nil
	}
	var list []string
	add := func(name, description string, values []string) {
		if len(values) < 2 {
			return
		}
		enum, _ := json.Marshal(values) // texts always encode
		fallback, _ := json.Marshal(values[0])
		list = append(list, property(name, "string", description,
			`"enum":`+string(enum)+`,"default":`+string(fallback)+`,`))
	}
	gaps := all.gaps()
	add(argVersion, "The version of the documentation.", all.versions)
	add(argLanguage, "The language of the documentation."+gaps, all.languages)
	return list
}

// gaps returns a sentence about the languages that lack some versions, or "".
func (all *editions) gaps() string {
	if len(all.list) == len(all.versions)*len(all.languages) || len(all.versions) == 0 {
		return ""
	}
	var parts []string
	for _, language := range all.languages {
		var has []string
		for i := range all.list {
			if all.list[i].language == language {
				has = append(has, all.list[i].version)
			}
		}
		if len(has) < len(all.versions) {
			parts = append(parts, language+": "+strings.Join(has, ", "))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " Languages that lack some versions have these: " + strings.Join(parts, "; ") + "."
}

// instructions returns what instructions say about editions, or "".
func (all *editions) instructions() string {
	if all == nil || len(all.list) < 2 {
		return ""
	}
	text := ""
	say := func(name string, values []string) {
		if len(values) > 1 {
			text += fmt.Sprintf(" The argument %s chooses one of: %s; the default is %s.",
				name, strings.Join(values, ", "), values[0])
		}
	}
	say(argVersion, all.versions)
	say(argLanguage, all.languages)
	e := &all.list[len(all.list)-1]
	var chosen []string
	for _, v := range all.values(e) {
		chosen = append(chosen, v[0]+" "+v[1])
	}
	return text + fmt.Sprintf(" A link such as docs://@%s/guide/install means path guide/install, %s.", all.place(e),
		strings.Join(chosen, ", "))
}

package edge

import (
	"bytes"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/servercard"
	"github.com/slipway-mcp/slipway/mcp"
)

//go:embed widget
var widgets embed.FS

// HTMLMarker is the first line of the HTML files that WriteWeb may replace.
const HTMLMarker = "<!-- Written by slipway. Remove this line to keep changes: files without it are never replaced. -->"

// WidgetName is the name of the script with the search widget, next to the manifest.
const WidgetName = "search.js"

// WebOptions describe the files of a site for browsers, and for clients that have only its
// address.
type WebOptions struct {
	// Published is the folder that the host publishes, and Site the path of the site below it,
	// with slashes, or "" for the folder itself.
	Published, Site string
	// URL is the public address of the site, such as https://docs.example.com/mcp/. Without,
	// only the search widget is written.
	URL string
	// Endpoint is the path of the endpoint on the same host, such as "/mcp", or "" if the host
	// runs no code. Its server card is written only if it is below Published.
	Endpoint string
	// Host is the name of the host, or "".
	Host string
	// Server is the server of the manifest.
	Server mcp.Implementation
	// Language is the language of the search index; see [Language]. Searched reports whether
	// the site has one.
	Language string
	Searched bool

	// DryRun determines the changes without making them.
	DryRun bool
}

// WriteWeb writes the search widget of a site, the page that adds it to clients, and its
// server card with the catalog that refers to it. Foreign files are left alone: the result
// says how to add what they lack.
func WriteWeb(o *WebOptions) (*Result, error) {
	var files []plannedFile
	add := func(name string, text []byte, ours func(old []byte) bool, lines string) {
		files = append(files, plannedFile{
			name:  filepath.Join(o.Published, filepath.FromSlash(name)),
			text:  text,
			ours:  ours,
			lines: lines,
		})
	}
	below := ""
	if o.Site != "" {
		below = o.Site + "/"
	}
	if o.Searched {
		text, err := Widget(o.Language)
		if err != nil {
			return nil, err
		}
		add(below+WidgetName, text, marked(Marker), "rename the file, and run the command again")
	}
	if o.URL != "" {
		site, err := url.Parse(o.URL)
		if err != nil || site.Scheme != "https" && site.Scheme != "http" || site.Host == "" || site.User != nil {
			return nil, fmt.Errorf("the address %q of the site: want an https URL", o.URL)
		}
		site = &url.URL{Scheme: site.Scheme, Host: site.Host, Path: strings.TrimSuffix(site.Path, "/") + "/"}
		add(below+o.pageName(), o.page(site), marked(HTMLMarker), "rename the file, and run the command again")
		if o.Endpoint != "" {
			endpoint := &url.URL{Scheme: site.Scheme, Host: site.Host, Path: o.Endpoint}
			if err := o.addCards(site, endpoint, add); err != nil {
				return nil, err
			}
		}
	}
	return writeFiles(files, o.DryRun)
}

// pageName returns the name of the page that adds the site to clients. The endpoint itself
// answers browsers, and on Vercel an index.html would take its requests.
func (o *WebOptions) pageName() string {
	if o.Host == "vercel" {
		return "add.html"
	}
	return "index.html"
}

// addCards adds the server card and its catalog.
func (o *WebOptions) addCards(site, endpoint *url.URL, add func(string, []byte, func([]byte) bool, string)) error {
	// The published folder may itself have a path on its host.
	root := strings.TrimSuffix(strings.TrimSuffix(site.Path, "/"), strings.TrimSuffix("/"+o.Site, "/"))
	name, inside := strings.CutPrefix(endpoint.Path, root+"/")
	if !inside {
		return nil
	}
	card, err := indented(servercard.New(o.Server, endpoint, false))
	if err != nil {
		return err
	}
	add(name+servercard.PathSuffix, card, func(old []byte) bool {
		var said servercard.Card
		return json.Unmarshal(old, &said) == nil && len(said.Remotes) == 1 && said.Remotes[0].URL == endpoint.String()
	}, "rename the file, and run the command again")
	if root != "" {
		return nil // the catalog is at the root of the host
	}
	catalog := servercard.NewCatalog(o.Server, endpoint)
	text, err := indented(catalog)
	if err != nil {
		return err
	}
	entry, err := indented(catalog.Entries[0])
	if err != nil {
		return err
	}
	add(strings.TrimPrefix(servercard.CatalogPath, "/"), text, func(old []byte) bool {
		var said servercard.Catalog
		return json.Unmarshal(old, &said) == nil && len(said.Entries) == 1 && said.Entries[0].URL == catalog.Entries[0].URL
	}, "in \"entries\": "+strings.TrimSpace(string(entry)))
	return nil
}

// indented returns a value as JSON on several lines.
func indented(value any) ([]byte, error) {
	raw, err := mcp.Marshal(value)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// Widget returns the script that defines the element slipway-search for a language such as
// "pt-BR". It searches the index next to it.
func Widget(language string) ([]byte, error) {
	core, err := widgets.ReadFile("widget/core.js")
	if err != nil {
		return nil, err
	}
	part, err := widgets.ReadFile("widget/" + baseLanguage(language) + ".js")
	if err != nil {
		part = []byte("S={LANGUAGE:{code:\"\",stops:\"\",weak:\"\",related:\"\",elides:false},stem:e=>e};\n")
	}
	var b bytes.Buffer
	b.WriteString(Marker + "\n")
	b.WriteString("// The search widget of a StaticMCP site, by https://github.com/slipway-mcp/slipway\n")
	b.WriteString("(()=>{let S;\n")
	b.Write(part)
	b.Write(core)
	b.WriteString("})();\n")
	return b.Bytes(), nil
}

// pageTemplate returns the page that adds a server to clients, with placeholders such as
// {{url}}. body is the file with its main part.
func pageTemplate(body string) (string, error) {
	page, err := scripts.ReadFile("js/page.html")
	if err != nil {
		return "", err
	}
	main, err := scripts.ReadFile("js/" + body)
	if err != nil {
		return "", err
	}
	return strings.Replace(string(page), "{{body}}\n", string(main), 1), nil
}

// page returns the page that adds the site to clients.
func (o *WebOptions) page(site *url.URL) []byte {
	name := o.Server.Name
	body := "page-files.html"
	address := site.String()
	cursor := any(map[string]any{"command": "slipway", "args": []string{"serve", "--stdio", address}})
	config := cursor
	if o.Endpoint != "" {
		body = "page-endpoint.html"
		address = (&url.URL{Scheme: site.Scheme, Host: site.Host, Path: o.Endpoint}).String()
		cursor = map[string]string{"url": address}
		config = httpServer{"http", address}
	}
	template, err := pageTemplate(body)
	if err != nil {
		return nil // it is embedded, and tested
	}
	title := o.Server.Title
	if title == "" {
		title = name
	}
	values := []string{
		"{{title}}", title,
		"{{url}}", address,
		"{{word}}", process.POSIXWord(name),
		"{{cursor}}", "cursor://anysphere.cursor-deeplink/mcp/install?name=" + encodeComponent(name) + "&config=" +
			encodeComponent(base64.StdEncoding.EncodeToString(marshal(cursor))),
		"{{code}}", "vscode:mcp/install?" + encodeComponent(string(marshal(withName(name, config)))),
		"{{config}}", prettyConfig(name, config),
	}
	for i := 1; i < len(values); i += 2 {
		values[i] = escapeHTML(values[i])
	}
	return []byte(HTMLMarker + "\n" + strings.NewReplacer(values...).Replace(template))
}

// httpServer is an endpoint in the configuration of clients.
type httpServer struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// withName returns an object with a name before its other members.
func withName(name string, object any) json.RawMessage {
	rest := marshal(object)
	return append(append([]byte(`{"name":`), marshal(name)...), append([]byte(","), rest[1:]...)...)
}

// prettyConfig returns the configuration of clients with one server.
func prettyConfig(name string, server any) string {
	text, err := indented(map[string]any{"mcpServers": map[string]any{name: server}})
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// marshal encodes values that always encode.
func marshal(value any) []byte {
	raw, err := mcp.Marshal(value)
	if err != nil {
		return []byte("{}")
	}
	return raw
}

// escapeHTML escapes a text like the script of the endpoint.
func escapeHTML(text string) string {
	return strings.NewReplacer("&", "&#38;", "<", "&#60;", ">", "&#62;", `"`, "&#34;", "'", "&#39;").Replace(text)
}

// encodeComponent is encodeURIComponent of JavaScript.
func encodeComponent(text string) string {
	return strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").
		Replace(url.QueryEscape(text))
}

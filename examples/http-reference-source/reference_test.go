// Package reference tests the data of the HTTP reference and the site built from it.
package reference_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"image/color"
	"image/png"
	"io/fs"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
)

const committed = "../http-reference"

// row is a row of a CSV file.
type row = map[string]string

// status, method and field are the rows of the YAML files.
type status struct {
	Code                                                                                  int
	Class, Phrase, Note, Source, Caching, Meaning, Cause, Retry, Server, Section, Example string
	Related                                                                               []int
	Fields                                                                                []string
}

type method struct {
	Name, Source     string
	Safe, Idempotent bool
	Statuses         []int
}

type field struct {
	Name, Topic, Source, Note, Meaning, Advice, Example string
	SentIn                                              string `json:"sent_in"`
	Related                                             []string
}

func readYAML[T any](t *testing.T, name string) []T {
	t.Helper()
	text, err := os.ReadFile("data/" + name)
	if err != nil {
		t.Fatal(err)
	}
	root, err := tree.ReadDocument(name, text)
	if err != nil {
		t.Fatal(err)
	}
	var rows []T
	if err := json.Unmarshal(root.AppendJSON(nil), &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func readCSV(t *testing.T, name string) []row {
	t.Helper()
	text, err := os.ReadFile("data/" + name)
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for _, record := range records[1:] {
		r := row{}
		for i, column := range records[0] {
			r[column] = record[i]
		}
		rows = append(rows, r)
	}
	return rows
}

func column(rows []row, name string) []string {
	var values []string
	for _, r := range rows {
		values = append(values, r[name])
	}
	return values
}

// buildSite returns the files of the site.
func buildSite(t *testing.T) fs.FS {
	t.Helper()
	in, err := sitebuild.OpenMapping(sitebuild.MappingName)
	if err != nil {
		t.Fatal(err)
	}
	site, err := in.Site(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files := sitebuild.NewMemory()
	if _, err := sitebuild.Write(t.Context(), site, files,
		&sitebuild.Options{Collisions: sitebuild.Refuse}); err != nil {
		t.Fatal(err)
	}
	return files
}

func eachFile(t *testing.T, site fs.FS, do func(name string, text []byte)) {
	t.Helper()
	err := fs.WalkDir(site, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(site, name)
		if err == nil {
			do(name, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func decode(t *testing.T, site fs.FS, name string, v any) {
	t.Helper()
	text, err := fs.ReadFile(site, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

type manifest struct {
	ProtocolVersion string
	ServerInfo      mcp.Implementation
	Capabilities    struct {
		Resources []mcp.Resource
		Prompts   []mcp.Prompt
		Tools     []mcp.Tool
	}
}

// TestSiteIsCurrent verifies that the committed site is the one that these files describe,
// byte for byte.
func TestSiteIsCurrent(t *testing.T) {
	site := buildSite(t)
	current := make(map[string]bool)
	const hint = "run go run ./cmd/slipway site build examples/http-reference-source"
	eachFile(t, site, func(name string, want []byte) {
		current[name] = true
		got, err := os.ReadFile(committed + "/" + name)
		if err != nil {
			t.Errorf("%v; %s", err, hint)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s differs; %s\n%s", name, hint, cmp.Diff(string(want), string(got)))
		}
	})
	eachFile(t, os.DirFS(committed), func(name string, _ []byte) {
		if !current[name] && name != "README.md" {
			t.Errorf("%s no longer belongs to the site; remove it", name)
		}
	})
}

// TestManifest verifies what section 1 of the standard requires, and our own tools.
func TestManifest(t *testing.T) {
	var m manifest
	decode(t, os.DirFS(committed), "mcp.json", &m)
	if !regexp.MustCompile(`^\d{4}-\d\d-\d\d$`).MatchString(m.ProtocolVersion) {
		t.Errorf("protocolVersion is %q, want a date", m.ProtocolVersion)
	}
	if m.ServerInfo.Name == "" || !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(m.ServerInfo.Version) {
		t.Errorf("serverInfo is %+v, want a name and a semantic version", m.ServerInfo)
	}
	if len(m.Capabilities.Tools) < 3 {
		t.Errorf("%d tools, want at least 3", len(m.Capabilities.Tools))
	}
	for _, tool := range m.Capabilities.Tools {
		var schema mcp.Schema
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
			t.Fatal(err)
		}
		if tool.Name == "" || tool.Title == "" || tool.Description == "" || schema.Type != "object" ||
			schema.Required == nil {
			t.Errorf("tool is incomplete: %+v", tool)
		}
		for _, name := range schema.Required {
			if !slices.ContainsFunc(schema.Properties, func(p mcp.Property) bool { return p.Name == name }) {
				t.Errorf("%s requires the unknown parameter %s", tool.Name, name)
			}
		}
		if a := tool.Annotations; !a.ReadOnlyHint || *a.DestructiveHint || !a.IdempotentHint || *a.OpenWorldHint {
			t.Errorf("%s has the annotations %+v", tool.Name, a)
		}
	}
}

func TestFilesAreTidy(t *testing.T) {
	eachFile(t, os.DirFS(committed), func(name string, text []byte) {
		if path.Ext(name) != ".json" {
			return
		}
		if !bytes.HasSuffix(text, []byte("}\n")) || bytes.Contains(text, []byte("\r")) {
			t.Errorf("%s does not end in one newline, or has carriage returns", name)
		}
		if strings.ToLower(name) != name {
			t.Errorf("%s would collide on a file system that folds case", name)
		}
	})
}

// TestResources verifies that every resource in the manifest has a file, and every file an
// entry.
func TestResources(t *testing.T) {
	site := os.DirFS(committed)
	var m manifest
	decode(t, site, "mcp.json", &m)
	entries := make(map[string]mcp.Resource)
	for _, r := range m.Capabilities.Resources {
		entries[r.URI] = r
		if r.Name == "" || r.Description == "" {
			t.Errorf("resource %s lacks a name or a description", r.URI)
		}
	}
	blobs, long := 0, 0
	seen := make(map[string]bool)
	eachFile(t, site, func(name string, _ []byte) {
		if !strings.HasPrefix(name, "resources/") {
			return
		}
		var f struct{ URI, MIMEType, Text, Blob string }
		decode(t, site, name, &f)
		entry, ok := entries[f.URI]
		if !ok || f.MIMEType != entry.MIMEType {
			t.Errorf("%s holds %s %s, want %s %s", name, f.URI, f.MIMEType, entry.URI, entry.MIMEType)
		}
		seen[f.URI] = true
		if (f.Text == "") == (f.Blob == "") {
			t.Errorf("%s has neither or both of text and blob", name)
		}
		if f.Blob != "" {
			blobs++
		}
		if len(path.Base(name)) == 200+len(".json") {
			long++
		}
	})
	if len(seen) != len(entries) || len(entries) < 60 || blobs != 1 || long < 1 {
		t.Errorf("%d of %d resources, %d blobs, %d long names, want all of at least 60, 1, at least 1",
			len(seen), len(entries), blobs, long)
	}
}

// TestPaths spells out the layout of the standard.
func TestPaths(t *testing.T) {
	const long = "what-should-a-client-do-when-a-request-that-is-not-idempotent-ends-in-a-timeout-or-a-broken-" +
		"connection-and-it-cannot-know-whether-the-server-has-carried-it-out-or-never-received-it-or_c3447532b2cd2bd4"
	for _, p := range []string{
		".nojekyll",
		"mcp.json",
		"resources/status.json",
		"resources/status/404.json",
		"resources/method/get.json",
		"resources/header/content-type.json",
		"resources/guide/question/is-it-401-or-403.json",
		"resources/chart/status-classes_png.json",
		"resources/guide/question/" + long + ".json",
		"tools/get_status/404.json",
		"tools/find_header/www-authenticate.json",
		"tools/compare_methods/put/patch.json",
		"tools/compare_methods/patch/put.json",
		"tools/list_statuses.json",
		"tools/list_statuses/4xx.json",
		"tools/localize_status/404/zh-hans.json",
		"prompts/explain_status/404.json",
		"prompts/choose_method.json",
		"prompts/choose_method/search.json",
		"prompts/review_exchange.json",
	} {
		if _, err := os.Stat(committed + "/" + p); err != nil {
			t.Error(err)
		}
	}
}

// TestAnswers verifies that every call which the enums in the schemas permit has an answer.
func TestAnswers(t *testing.T) {
	site := os.DirFS(committed)
	var calls []string
	call := func(tool string, arguments ...string) {
		name := "tools/" + tool
		for _, a := range arguments {
			name += "/" + staticmcp.EncodeName(a)
		}
		calls = append(calls, name+".json")
	}
	for _, s := range readYAML[status](t, "statuses.yaml") {
		call("get_status", strconv.Itoa(s.Code))
	}
	for _, f := range readYAML[field](t, "fields.yaml") {
		call("find_header", strings.ToUpper(f.Name))
	}
	methods := readYAML[method](t, "methods.yaml")
	for _, a := range methods {
		for _, b := range methods {
			call("compare_methods", a.Name, b.Name)
		}
	}
	call("list_statuses")
	for class := 1; class <= 5; class++ {
		call("list_statuses", fmt.Sprintf("%dxx", class))
	}
	call("list_headers")
	for _, topic := range readCSV(t, "topics.csv") {
		call("list_headers", topic["name"])
	}
	for _, code := range pageCodes {
		for _, l := range readCSV(t, "languages.csv") {
			call("localize_status", code, l["tag"])
		}
	}
	for _, p := range calls {
		var f struct{ Content []mcp.Content }
		decode(t, site, p, &f)
		if len(f.Content) != 1 || f.Content[0].Type != "text" || len(f.Content[0].Text) < 80 {
			t.Errorf("%s has no useful text: %+v", p, f.Content)
		}
	}
	stored := 0
	eachFile(t, site, func(name string, _ []byte) {
		if strings.HasPrefix(name, "tools/") {
			stored++
		}
	})
	if stored != len(calls) || stored < 100 {
		t.Errorf("%d answers for %d calls, want as many and at least 100", stored, len(calls))
	}
}

func TestOrderOfArguments(t *testing.T) {
	for name, want := range map[string]string{
		"tools/compare_methods/get/post.json": "# GET compared with POST\n",
		"tools/compare_methods/post/get.json": "# POST compared with GET\n",
	} {
		var f struct{ Content []mcp.Content }
		decode(t, os.DirFS(committed), name, &f)
		if got := f.Content[0].Text; !strings.HasPrefix(got, want) {
			t.Errorf("%s begins with %.30q, want %q", name, got, want)
		}
	}
}

func TestPrompts(t *testing.T) {
	site := os.DirFS(committed)
	var m manifest
	decode(t, site, "mcp.json", &m)
	known := make(map[string]bool)
	for _, p := range m.Capabilities.Prompts {
		known[p.Name] = true
		required := slices.ContainsFunc(p.Arguments, func(a mcp.PromptArgument) bool { return a.Required })
		if _, err := os.Stat(committed + "/prompts/" + p.Name + ".json"); (err == nil) == required {
			t.Errorf("prompt %s: file without arguments exists: %v, want %v", p.Name, err == nil, !required)
		}
	}
	eachFile(t, site, func(name string, _ []byte) {
		rest, ok := strings.CutPrefix(name, "prompts/")
		if !ok {
			return
		}
		var result mcp.GetPromptResult
		decode(t, site, name, &result)
		prompt, _, _ := strings.Cut(strings.TrimSuffix(rest, ".json"), "/")
		if !known[prompt] || len(result.Messages) == 0 || result.Description == "" {
			t.Errorf("%s: unknown prompt, or an empty result", name)
		}
	})
}

// TestPhrases compares the phrases with those of Go, which are outdated for some codes and
// missing for others.
func TestPhrases(t *testing.T) {
	older := map[int]string{
		306: "", 418: "I'm a teapot", 413: "Request Entity Too Large", 414: "Request URI Too Long",
		416: "Requested Range Not Satisfiable", 422: "Unprocessable Entity", 104: "",
	}
	byCode := make(map[int]status)
	for _, s := range readYAML[status](t, "statuses.yaml") {
		byCode[s.Code] = s
	}
	for code := 100; code < 600; code++ {
		s, ok := byCode[code]
		if text := http.StatusText(code); text != "" && !ok {
			t.Errorf("%d %s is missing", code, text)
		}
		if !ok || !s.registered() {
			continue
		}
		want, differs := older[code]
		if !differs {
			want = s.Phrase
		}
		if got := http.StatusText(code); got != want {
			t.Errorf("phrase of %d is %q here and %q in net/http", code, s.Phrase, got)
		}
	}
}

func (s status) registered() bool { return !strings.HasPrefix(s.Note, "Not registered") }

// counts returns the number of registered codes by class.
func counts(statuses []status) map[string]int {
	n := make(map[string]int)
	for _, s := range statuses {
		if s.registered() {
			n[s.Class]++
		}
	}
	return n
}

func TestStatuses(t *testing.T) {
	statuses := readYAML[status](t, "statuses.yaml")
	var codes []int
	for _, s := range statuses {
		codes = append(codes, s.Code)
	}
	if !slices.IsSorted(codes) || len(slices.Compact(slices.Clone(codes))) != len(codes) {
		t.Errorf("the codes are not in order, or one occurs twice: %v", codes)
	}
	names := fieldNames(t)
	for _, s := range statuses {
		of := fmt.Sprint(s.Code)
		for _, code := range s.Related {
			if !slices.Contains(codes, code) || code == s.Code {
				t.Errorf("%s is related to %d, which is itself or missing", of, code)
			}
		}
		checkNames(t, of, s.Fields, names)
		checkSource(t, of, s.Source)
		if s.Meaning == "" || s.Cause == "" || s.Retry == "" || s.Caching == "" || s.Class != of[:1]+"xx" {
			t.Errorf("%s is incomplete, or of another class", of)
		}
		checkProse(t, of, s.Meaning, s.Cause, s.Retry, s.Server, s.Note)
	}
	want := map[string]int{"1xx": 5, "2xx": 10, "3xx": 9, "4xx": 29, "5xx": 11}
	if diff := cmp.Diff(want, counts(statuses)); diff != "" {
		t.Errorf("registered codes by class (-want +got):\n%s", diff)
	}
}

// TestCachedByDefault follows RFC 9110, section 15.1, and RFC 7725.
func TestCachedByDefault(t *testing.T) {
	want := []int{200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 451, 501}
	rules := make(row)
	for _, r := range readCSV(t, "caching.csv") {
		rules[r["name"]] = r["text"]
	}
	var got []int
	for _, s := range readYAML[status](t, "statuses.yaml") {
		text := rules[s.Caching]
		if text == "" {
			text = s.Caching
		}
		if !strings.HasSuffix(text, ".") {
			t.Errorf("%d: caching %q is neither a sentence nor in caching.csv", s.Code, s.Caching)
		}
		if strings.HasPrefix(text, "Cacheable by default") {
			got = append(got, s.Code)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cacheable by default (-want +got):\n%s", diff)
	}
}

func TestFields(t *testing.T) {
	fields, names := readYAML[field](t, "fields.yaml"), fieldNames(t)
	topics := column(readCSV(t, "topics.csv"), "name")
	if len(names) != len(fields) || len(fields) < 80 {
		t.Errorf("%d fields, %d different names, want equal and at least 80", len(fields), len(names))
	}
	for _, f := range fields {
		checkNames(t, f.Name, f.Related, names)
		if slices.Contains(f.Related, f.Name) || !slices.Contains(topics, f.Topic) {
			t.Errorf("%s is related to itself, or of no topic", f.Name)
		}
		checkSource(t, f.Name, f.Source)
		senders := []string{"requests", "responses", "requests and responses"}
		if f.Meaning == "" || !slices.Contains(senders, f.SentIn) || !strings.Contains(f.Example, f.Name+": ") {
			t.Errorf("%s is incomplete, or its example does not show it", f.Name)
		}
		checkProse(t, f.Name, f.Meaning, f.Advice, f.Note)
	}
}

func TestMethods(t *testing.T) {
	methods, pairs := readYAML[method](t, "methods.yaml"), readCSV(t, "pairs.csv")
	var names, codes []string
	for _, s := range readYAML[status](t, "statuses.yaml") {
		codes = append(codes, strconv.Itoa(s.Code))
	}
	wanted := 0
	for i, a := range methods {
		names = append(names, a.Name)
		checkSource(t, a.Name, a.Source)
		if a.Safe && !a.Idempotent {
			t.Errorf("%s is safe but not idempotent", a.Name)
		}
		for _, code := range a.Statuses {
			if !slices.Contains(codes, strconv.Itoa(code)) {
				t.Errorf("%s: no status %d", a.Name, code)
			}
		}
		for _, b := range methods[i+1:] {
			wanted++
			notes := 0
			for _, p := range pairs {
				if (p["a"] == a.Name && p["b"] == b.Name || p["a"] == b.Name && p["b"] == a.Name) && p["note"] != "" {
					notes++
				}
			}
			if notes != 1 {
				t.Errorf("%d notes for %s and %s, want 1", notes, a.Name, b.Name)
			}
		}
	}
	if len(pairs) != wanted {
		t.Errorf("%d notes for %d pairs", len(pairs), wanted)
	}
	for _, task := range readCSV(t, "tasks.csv") {
		if !slices.Contains(names, task["a"]) || !slices.Contains(names, task["b"]) {
			t.Errorf("task %s: no method %s or %s", task["name"], task["a"], task["b"])
		}
	}
}

// pageCodes are the codes that visitors encounter.
var pageCodes = []string{"400", "401", "403", "404", "410", "429", "500", "503"}

func TestGlossary(t *testing.T) {
	words := readCSV(t, "words.csv")
	languages := column(readCSV(t, "languages.csv"), "tag")
	for _, l := range languages {
		var codes []string
		for _, w := range words {
			if w["language"] == l && w["title"] != "" && w["text"] != "" {
				codes = append(codes, w["code"])
			}
		}
		if !slices.Equal(codes, pageCodes) {
			t.Errorf("%s has words for %v, want %v", l, codes, pageCodes)
		}
	}
	if len(words) != len(languages)*len(pageCodes) {
		t.Errorf("%d rows of words for %d languages", len(words), len(languages))
	}
	if !strings.ContainsFunc(words[0]["text"], func(r rune) bool { return r > unicode.MaxLatin1 }) {
		t.Error("the glossary has lost its letters")
	}
}

// TestDates verifies that dates in examples have the only format that HTTP allows, and the
// right day of the week.
func TestDates(t *testing.T) {
	date := regexp.MustCompile(`(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT`)
	found := 0
	eachFile(t, os.DirFS(committed), func(name string, text []byte) {
		for _, s := range date.FindAllString(string(text), -1) {
			found++
			// Parsing ignores the day of the week, so compare the formatted date.
			if at, err := http.ParseTime(s); err != nil || at.Format(http.TimeFormat) != s {
				t.Errorf("%s: %q is no date, or on another day of the week", name, s)
			}
		}
	})
	if found == 0 {
		t.Error("no date found: the expression no longer fits")
	}
}

// TestChart verifies that the bars of the picture have the heights, and its description the
// numbers, of the registered codes.
func TestChart(t *testing.T) {
	n := counts(readYAML[status](t, "statuses.yaml"))
	f, err := os.Open("data/status-classes.png")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	bars := []color.RGBA{
		{86, 120, 160, 255}, {70, 140, 90, 255}, {200, 160, 60, 255}, {200, 110, 60, 255}, {170, 60, 70, 255},
	}
	areas := make(map[string]int)
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			if i := slices.Index(bars, color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)); i >= 0 {
				areas[fmt.Sprintf("%dxx", i+1)]++
			}
		}
	}
	text, err := os.ReadFile(sitebuild.MappingName)
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range []string{"1xx", "2xx", "3xx", "4xx", "5xx"} {
		want := float64(n[class]) / float64(n["4xx"])
		if got := float64(areas[class]) / float64(areas["4xx"]); got < want-0.02 || got > want+0.02 {
			t.Errorf("bar %s is %.2f of the highest, want %.2f", class, got, want)
		}
		if !strings.Contains(string(text), fmt.Sprintf("%s %d", class, n[class])) {
			t.Errorf("the description of the chart lacks %s %d", class, n[class])
		}
	}
}

func fieldNames(t *testing.T) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	for _, f := range readYAML[field](t, "fields.yaml") {
		names[f.Name] = true
	}
	return names
}

func checkNames(t *testing.T, of string, names []string, known map[string]bool) {
	t.Helper()
	for _, name := range names {
		if !known[name] {
			t.Errorf("%s names the unknown field %s", of, name)
		}
	}
}

func checkSource(t *testing.T, of, source string) {
	t.Helper()
	known := slices.Contains(column(readCSV(t, "documents.csv"), "name"), source)
	if !known && !regexp.MustCompile(`^RFC \d+$`).MatchString(source) {
		t.Errorf("%s: unknown source %q", of, source)
	}
}

// checkProse reports sentences without a final punctuation mark.
func checkProse(t *testing.T, of string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if text != "" && !strings.ContainsAny(text[len(text)-1:], ".?!") {
			t.Errorf("%s: no full stop after %q", of, text)
		}
	}
}

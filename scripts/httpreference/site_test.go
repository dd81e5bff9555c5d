package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

const committed = "../../examples/http-reference"

func buildSite(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func decode(t *testing.T, files map[string][]byte, path string, v any) {
	t.Helper()
	data, ok := files[path]
	if !ok {
		t.Fatalf("no file %s", path)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// listed is the part of the manifest that the tests check.
type listed struct {
	ProtocolVersion string
	ServerInfo      serverInfo
	Capabilities    struct {
		Resources []resource
		Prompts   []prompt
		Tools     []struct {
			Name, Title, Description string
			InputSchema              struct {
				Type       string
				Properties map[string]json.RawMessage
				Required   []string
			}
			Annotations annotations
		}
	}
}

func readManifest(t *testing.T, files map[string][]byte) listed {
	t.Helper()
	var m listed
	if err := json.Unmarshal(files["mcp.json"], &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// The fields that the standard requires in section 1, and those of our tools.
func TestManifest(t *testing.T) {
	m := readManifest(t, buildSite(t))
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
		schema := tool.InputSchema
		if tool.Name == "" ||
			tool.Title == "" ||
			tool.Description == "" ||
			schema.Type != "object" ||
			schema.Required == nil {
			t.Errorf("tool is incomplete: %+v", tool)
		}
		for _, name := range schema.Required {
			if _, ok := schema.Properties[name]; !ok {
				t.Errorf("%s requires the unknown parameter %s", tool.Name, name)
			}
		}
		if a := tool.Annotations; !a.ReadOnlyHint || a.DestructiveHint || !a.IdempotentHint || a.OpenWorldHint {
			t.Errorf("%s has the annotations %+v", tool.Name, a)
		}
	}
}

// The site in the repository matches the tables.
func TestSiteIsCurrent(t *testing.T) {
	files := buildSite(t)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		got, err := os.ReadFile(filepath.Join(committed, filepath.FromSlash(path)))
		if err != nil {
			t.Errorf("%v; run go generate ./scripts/httpreference", err)
			continue
		}
		if !bytes.Equal(got, files[path]) {
			t.Errorf("%s differs; run go generate ./scripts/httpreference\n%s", path, cmp.Diff(string(files[path]), string(got)))
		}
	}
	stale, err := strays(os.DirFS(committed), files)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stale {
		t.Errorf("%s no longer belongs to the site; remove it", path)
	}
}

func TestFilesAreTidy(t *testing.T) {
	for path, data := range buildSite(t) {
		if path == ".nojekyll" {
			continue
		}
		if !bytes.HasSuffix(data, []byte("}\n")) || bytes.Contains(data, []byte("\r")) {
			t.Errorf("%s does not end in one newline, or has carriage returns", path)
		}
		if strings.ToLower(path) != path {
			t.Errorf("%s would collide on a file system that folds case", path)
		}
	}
}

// Every resource in the manifest has a file, and every file an entry.
func TestResources(t *testing.T) {
	files := buildSite(t)
	m := readManifest(t, files)
	inManifest := make(map[string]bool)
	blobs, long := 0, 0
	for _, r := range m.Capabilities.Resources {
		var f resourceFile
		p := resourcePath(r.URI)
		decode(t, files, p, &f)
		inManifest[p] = true
		if f.URI != r.URI || f.MIMEType != r.MIMEType {
			t.Errorf("%s holds %s %s, want %s %s", p, f.URI, f.MIMEType, r.URI, r.MIMEType)
		}
		if (f.Text == "") == (f.Blob == nil) {
			t.Errorf("%s has neither or both of text and blob", p)
		}
		if r.Name == "" || r.Description == "" {
			t.Errorf("resource %s lacks a name or a description", r.URI)
		}
		if f.Blob != nil {
			blobs++
		}
		if len(path.Base(p)) == 200+len(".json") {
			long++
		}
	}
	for p := range files {
		if strings.HasPrefix(p, "resources/") && !inManifest[p] {
			t.Errorf("%s is not in the manifest", p)
		}
	}
	if got := len(m.Capabilities.Resources); got < 60 || blobs != 1 || long < 1 {
		t.Errorf("%d resources, %d blobs, %d long names, want at least 60, 1, at least 1", got, blobs, long)
	}
}

// The layout of the standard, with the names spelled out.
func TestPaths(t *testing.T) {
	files := buildSite(t)
	for _, p := range []string{
		".nojekyll",
		"mcp.json",
		"resources/status.json",
		"resources/status/404.json",
		"resources/method/get.json",
		"resources/header/content-type.json",
		"resources/guide/question/is-it-401-or-403.json",
		"resources/chart/status-classes_png.json",
		"resources/guide/question/what-should-a-client-do-when-a-request-that-is-not-idempotent-ends-in-a-timeout-or-a-broken-connection-and-it-cannot-know-whether-the-server-has-carried-it-out-or-never-received-it-or_c3447532b2cd2bd4.json",
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
		if _, ok := files[p]; !ok {
			t.Errorf("no file %s", p)
		}
	}
}

// Every call that the enums in the schemas permit has an answer.
func TestAnswers(t *testing.T) {
	files := buildSite(t)
	r := newReference()
	var calls []string
	call := func(tool string, args ...string) { calls = append(calls, callPath("tools", tool, args)) }
	for _, s := range r.statuses {
		call("get_status", fmt.Sprint(s.code))
	}
	for _, f := range allFields(r.topics) {
		call("find_header", strings.ToUpper(f.name))
	}
	for _, a := range r.methods {
		for _, b := range r.methods {
			call("compare_methods", a.name, b.name)
		}
	}
	call("list_statuses")
	for class := range classNames {
		call("list_statuses", fmt.Sprintf("%dxx", class))
	}
	call("list_headers")
	for _, topic := range r.topics {
		call("list_headers", topic.name)
	}
	for _, code := range glossaryCodes {
		for _, l := range r.languages {
			call("localize_status", fmt.Sprint(code), l.tag)
		}
	}
	for _, p := range calls {
		var f answerFile
		decode(t, files, p, &f)
		if len(f.Content) != 1 || f.Content[0].Type != "text" || len(f.Content[0].Text) < 80 {
			t.Errorf("%s has no useful text: %+v", p, f.Content)
		}
	}
	stored := 0
	for p := range files {
		if strings.HasPrefix(p, "tools/") {
			stored++
		}
	}
	if stored != len(calls) || stored < 100 {
		t.Errorf("%d answers for %d calls, want as many and at least 100", stored, len(calls))
	}
}

func TestOrderOfArguments(t *testing.T) {
	files := buildSite(t)
	var forth, back answerFile
	decode(t, files, "tools/compare_methods/get/post.json", &forth)
	decode(t, files, "tools/compare_methods/post/get.json", &back)
	if got, want := forth.Content[0].Text, "# GET compared with POST\n"; !strings.HasPrefix(got, want) {
		t.Errorf("get/post begins with %.30q, want %q", got, want)
	}
	if got, want := back.Content[0].Text, "# POST compared with GET\n"; !strings.HasPrefix(got, want) {
		t.Errorf("post/get begins with %.30q, want %q", got, want)
	}
}

func TestPrompts(t *testing.T) {
	files := buildSite(t)
	m := readManifest(t, files)
	known := make(map[string]bool)
	for _, p := range m.Capabilities.Prompts {
		known[p.Name] = true
		required := slices.ContainsFunc(p.Arguments, func(a promptArgument) bool { return a.Required })
		if _, ok := files["prompts/"+p.Name+".json"]; ok == required {
			t.Errorf("prompt %s: file without arguments is there: %v, want %v", p.Name, ok, !required)
		}
	}
	for p := range files {
		rest, ok := strings.CutPrefix(p, "prompts/")
		if !ok {
			continue
		}
		var result promptResult
		decode(t, files, p, &result)
		name, _, _ := strings.Cut(strings.TrimSuffix(rest, ".json"), "/")
		if !known[name] || len(result.Messages) == 0 || result.Description == "" {
			t.Errorf("%s: unknown prompt, or an empty result", p)
		}
	}
}

func TestCollisionIsAnError(t *testing.T) {
	s := &site{files: make(map[string][]byte)}
	s.addAnswer("find", "one", "東京")
	s.addAnswer("find", "two", "北京")
	if s.err == nil {
		t.Error("two values with one file name: no error")
	}
}

// Go's phrases are outdated for some codes and missing for others.
func TestPhrases(t *testing.T) {
	older := map[int]string{
		306: "", 418: "I'm a teapot", 413: "Request Entity Too Large", 414: "Request URI Too Long",
		416: "Requested Range Not Satisfiable", 422: "Unprocessable Entity", 104: "",
	}
	byCode := newReference().byCode
	for code := 100; code < 600; code++ {
		s, ok := byCode[code]
		if text := http.StatusText(code); text != "" && !ok {
			t.Errorf("%d %s is missing", code, text)
		}
		if !ok || s.isUnregistered() {
			continue
		}
		want, differs := older[code]
		if !differs {
			want = s.phrase
		}
		if got := http.StatusText(code); got != want {
			t.Errorf("phrase of %d is %q here and %q in net/http", code, s.phrase, got)
		}
	}
}

func TestStatusTable(t *testing.T) {
	r := newReference()
	if len(r.byCode) != len(r.statuses) {
		t.Errorf("%d statuses, %d different codes", len(r.statuses), len(r.byCode))
	}
	names := fieldNames(r)
	for _, s := range r.statuses {
		for _, code := range s.related {
			if _, ok := r.byCode[code]; !ok || code == s.code {
				t.Errorf("%s is related to %d, which is itself or not there", s.name(), code)
			}
		}
		checkNames(t, s.name(), s.fields, names)
		checkSource(t, s.name(), s.source)
		if s.meaning == "" || s.cause == "" || s.retry == "" || s.caching == "" {
			t.Errorf("%s is incomplete", s.name())
		}
		checkProse(t, s.name(), s.meaning, s.cause, s.retry, s.server, s.note)
	}
	want := map[int]int{1: 5, 2: 10, 3: 9, 4: 29, 5: 11}
	if diff := cmp.Diff(want, registered(r.statuses)); diff != "" {
		t.Errorf("registered codes by class (-want +got):\n%s", diff)
	}
}

// RFC 9110, section 15.1, and RFC 7725.
func TestCachedByDefault(t *testing.T) {
	want := []int{200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 451, 501}
	var got []int
	for _, s := range sortedByCode(statuses()) {
		if strings.HasPrefix(s.caching, "Cacheable by default") {
			got = append(got, s.code)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cacheable by default (-want +got):\n%s", diff)
	}
}

func TestFieldTable(t *testing.T) {
	r := newReference()
	names := fieldNames(r)
	if all := allFields(r.topics); len(names) != len(all) || len(all) < 80 {
		t.Errorf("%d fields, %d different names, want equal and at least 80", len(all), len(names))
	}
	for _, f := range allFields(r.topics) {
		checkNames(t, f.name, f.related, names)
		if slices.Contains(f.related, f.name) {
			t.Errorf("%s is related to itself", f.name)
		}
		checkSource(t, f.name, f.source)
		if f.meaning == "" || f.sentIn == "" || !strings.Contains(f.example, f.name+": ") {
			t.Errorf("%s is incomplete, or its example does not show it", f.name)
		}
		checkProse(t, f.name, f.meaning, f.advice, f.note)
	}
}

func TestMethodTable(t *testing.T) {
	r := newReference()
	pairs := 0
	for i, a := range r.methods {
		checkSource(t, a.name, a.source)
		if a.safe && !a.idempotent {
			t.Errorf("%s is safe but not idempotent", a.name)
		}
		for _, code := range a.statuses {
			if _, ok := r.byCode[code]; !ok {
				t.Errorf("%s: no status %d", a.name, code)
			}
		}
		for _, b := range r.methods[i+1:] {
			pairs++
			if pairNote(a.name, b.name) == "" || pairNote(a.name, b.name) != pairNote(b.name, a.name) {
				t.Errorf("no note for %s and %s, or two", a.name, b.name)
			}
		}
	}
	if len(pairNotes) != pairs {
		t.Errorf("%d notes for %d pairs", len(pairNotes), pairs)
	}
	for _, task := range tasks() {
		for _, name := range task.candidates {
			if !slices.ContainsFunc(r.methods, func(m method) bool { return m.name == name }) {
				t.Errorf("task %s: no method %s", task.name, name)
			}
		}
	}
}

func TestGlossary(t *testing.T) {
	r := newReference()
	for _, l := range r.languages {
		if len(l.phrases) != len(glossaryCodes) {
			t.Errorf("%s has %d phrases, want %d", l.tag, len(l.phrases), len(glossaryCodes))
		}
		for _, code := range glossaryCodes {
			if p := l.phrases[code]; p.title == "" || p.text == "" {
				t.Errorf("%s has no words for %d", l.tag, code)
			}
		}
	}
	text := r.languages[0].markdown(r.byCode)
	if !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxLatin1 }) {
		t.Error("the glossary has lost its letters")
	}
}

// Dates in examples have the only format that HTTP allows, and the right day of the week.
func TestDates(t *testing.T) {
	date := regexp.MustCompile(`(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT`)
	found := 0
	for path, data := range buildSite(t) {
		for _, s := range date.FindAllString(string(data), -1) {
			found++
			// Parsing ignores the day of the week, so compare the formatted date.
			if at, err := http.ParseTime(s); err != nil || at.Format(http.TimeFormat) != s {
				t.Errorf("%s: %q is no date, or on another day of the week", path, s)
			}
		}
	}
	if found == 0 {
		t.Error("no date found: the expression no longer fits")
	}
}

func TestChart(t *testing.T) {
	counts := registered(statuses())
	data, err := encodeChart(classChart(counts))
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	areas := make(map[int]int)
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			if i := slices.Index(bars[:], color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)); i >= 0 {
				areas[i+1]++
			}
		}
	}
	for class := 1; class <= 5; class++ {
		want := float64(counts[class]) / float64(counts[4])
		if got := float64(areas[class]) / float64(areas[4]); got < want-0.02 || got > want+0.02 {
			t.Errorf("bar %dxx is %.2f of the highest, want %.2f", class, got, want)
		}
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	if err := run([]string{"-out", dir}, &out); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(dir, "tools", "get_status", "mine.json")
	if err := os.WriteFile(mine, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mcp.json"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := run([]string{"-out", dir}, &out); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%d files, 1 of them written\ndoes not belong to the site: tools/get_status/mine.json\n",
		len(buildSite(t)))
	if got := out.String(); got != want {
		t.Errorf("second run says %q, want %q", got, want)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("a file that is not ours is gone: %v", err)
	}
	if err := run(nil, io.Discard); err == nil {
		t.Error("run without a folder: no error")
	}
}

func fieldNames(r reference) map[string]bool {
	names := make(map[string]bool)
	for _, f := range allFields(r.topics) {
		names[f.name] = true
	}
	return names
}

func checkNames(t *testing.T, of string, names []string, known map[string]bool) {
	t.Helper()
	for _, name := range names {
		if !known[name] {
			t.Errorf("%s names the field %s, which is not there", of, name)
		}
	}
}

func checkSource(t *testing.T, of string, s source) {
	t.Helper()
	_, known := documents[s.document]
	if !known && !regexp.MustCompile(`^RFC \d+$`).MatchString(s.document) {
		t.Errorf("%s: unknown source %q", of, s.document)
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

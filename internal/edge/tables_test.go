package edge_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/slipway-mcp/slipway/mcp"
)

var update = flag.Bool("update", false, "write the generated JavaScript")

// The endpoint says what the Go packages say: its texts, limits and tables are read from
// their sources. A test that fails here asks for "go generate ./internal/edge".
func TestTables(t *testing.T) {
	compareGenerated(t, "js/tables.js", tables(t))
}

// compareGenerated compares a generated file with its contents, or writes it.
func compareGenerated(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is out of date: run go generate ./internal/edge", name)
	}
}

// textAt locates a message: the only string in a function that begins with start.
type textAt struct{ name, function, start string }

// messages lists the texts of the endpoint, by the folder of their package.
var messages = map[string][]textAt{
	"internal/jsonscan": {
		{"jsonAt", "Error.Error", "%s at"}, {"jsonEnd", "unexpected", "unexpected end"},
		{"jsonCharacter", "unexpected", "unexpected character"}, {"jsonByte", "unexpected", "unexpected byte"},
		{"jsonAfter", "End", "text after"}, {"jsonDepth", "skipObject", "nested"},
		{"jsonControl", "scanString", "control"}, {"jsonUTF8", "scanString", "invalid UTF"},
	},
	"mcp": {
		{"unknownTool", "UnknownTool", ""}, {"unknownPrompt", "UnknownPrompt", ""},
		{"methodNotFound", "MethodNotFound", ""}, {"resourceNotFound", "ResourceNotFound", "resource"},
		{"badCursor", "Catalog.List", ""},
	},
	"mcp/server": {
		{"didYouMean", "suggest", ", did"},
		{"invalidRequest", "invalidRequest", ""}, {"parseError", "parseError", ""},
		{"emptyFull", "message.scan", "parse error"},
		{"memberUnknown", "message.member", "unknown member"}, {"memberTwice", "message.member", "duplicate"},
		{"jsonrpc", "message.keep", `"jsonrpc" must`}, {"methodString", "message.keep", `"method" must`},
		{"paramsObject", "message.keep", `"params" must`}, {"notObject", "notAnObject", ""}, {"badID", "badID", ""},
		{"jsonrpcMissing", "message.checkShape", `"jsonrpc"`}, {"methodAndResult", "message.checkShape", "both a method"},
		{"methodMissing", "message.checkShape", `"method"`}, {"resultAndError", "message.checkShape", "both a result"},
		{"resultNoID", "message.checkShape", "a result"},
		{"paramUnknown", "message.scanParams", "params: unknown"}, {"paramTwice", "message.scanParams", "params: duplicate"},
		{"metaObject", "requestMeta.scan", "params._meta must"}, {"metaTwice", "requestMeta.scan", "params._meta: "},
		{"versionMissing", "request.checkVersionHeader", "the MCP-Protocol-Version header is missing"},
		{"versionDiffers", "request.checkVersionHeader", "the MCP-Protocol-Version header is %q"},
		{"metaMissing", "missingMeta", "params"}, {"versionUnsupported", "request.checkEnvelope", "unsupported"},
		{"progressToken", "request.checkEnvelope", "_meta.progress"},
		{"wantString", "request.checkEnvelope", "a string"}, {"wantObject", "request.checkEnvelope", "an object"},
		{"methodHeader", "request.checkMethodHeaders", "the Mcp-Method header is missing"},
		{"methodDiffers", "request.checkMethodHeaders", "the Mcp-Method header is %q"},
		{"nameMissing", "request.checkMethodHeaders", "the Mcp-Name header is missing"},
		{"nameDiffers", "request.checkMethodHeaders", "the Mcp-Name header differs"},
		{"headerVersion", "exchange.admit", "unsupported"}, {"headerOther", "exchange.admit", "the MCP"},
		{"noResponses", "exchange.admit", "clients"},
		{"notPost", "HTTPHandler.methodNotAllowed", "this is"},
		{"contentType", "HTTPHandler.acceptsBody", "the Content-Type"},
		{"contentEncoding", "HTTPHandler.acceptsBody", "the Content-Encoding"},
		{"accept", "HTTPHandler.post", "Accept must"},
		{"bodyLarge", "HTTPHandler.bodyFailed", "the body is larger"},
		{"hostBefore", "guard.refuses", "the Host "}, {"notAllowed", "guard.refuses", " is not allowed"},
		{"originBefore", "guard.refuses", "the Origin "},
		{"batchEmpty", "checkBatch", "empty"}, {"batchLong", "checkBatch", "a batch"},
		{"batchBusy", "request.fitsBatch", "the answers"}, {"batchInitialize", "request.fitsBatch", "initialize cannot"},
		{"batchModern", "request.fitsBatch", "a batch"},
		{"nameRequired", "Server.callTool", "params.name"}, {"argumentsNotObject", "Server.callTool", "params.arguments"},
		{"uriRequired", "Server.readResource", "params.uri"},
		{"promptRequired", "Server.getPrompt", "prompt %q: missing"},
		{"paramsRequired", "request.decodeParams", "params are"}, {"givenTwice", "fields.decode", "duplicate"},
		{"notString", "decodeInto", "want"}, {"notStrings", "decodeStrings", "want an object"},
		{"notObjectValue", "fields.decode", "want an object"},
		{"promptArgument", "Server.complete", "prompt %q has"}, {"unknownTemplate", "Server.complete", "unknown"},
		{"noVariable", "Server.complete", "resource template"}, {"refType", "Server.complete", "params.ref.type"},
		{"listenStream", "Server.listen", "subscriptions/listen needs"},
		{"listenObject", "request.readListen", "params.notifications is required"},
		{"internal", "Server.panicked", "internal"},
	},
	"staticmcp": {
		{"noAnswer", "Site.noAnswer", " has no"}, {"noAnswerFor", "Site.noAnswer", " for "},
		{"searchBroken", "Site.CallTool", " failed:"}, {"readOnly", "readOnly", ""},
		{"onlySome", "tool.otherArguments#0", " Answers were computed beforehand, so only some values have one."},
		{"onlySomeTakes", "tool.otherArguments", " Answers were computed beforehand, so only some values have one. It"},
		{"tryWith", "tool.otherArguments", " Try it"},
		{"argumentsObject", "tool.arguments", "the arguments must"},
		{"argumentTwice", "tool.arguments", "duplicate"},
		{"argumentLong", "tool.arguments", "argument %q is longer"},
		{"argumentNone", "tool.unknown", "unknown argument %q:"},
		{"argumentUnknown", "tool.unknown", "unknown argument %q%s"}, {"argumentRequired", "tool.unknown", " (required"},
		{"hintMean", "tool.unknown", " (did"}, {"argumentsInvalid", "tool.check", "invalid"},
		{"fileInvalid", "Site.wireError", "the site's"},
		{"resourceListed", "Site.missingResource", "resource not found:"},
		{"resourceMean", "Site.missingResource", "resource not found;"},
		{"promptLong", "prompt.check", "prompt %q: argument %q is longer"},
		{"promptNoArguments", "prompt.check", "prompt %q takes"},
		{"promptUnknown", "prompt.check", "prompt %q: unknown"}, {"promptMissing", "Site.noPrompt", "prompt"},
		{"knownMean", "describeKnown", " Did"}, {"knownValues", "describeKnown", " Values"},
		{"knownMore", "describeKnown", " and"},
	},
	"internal/schema": {
		{"schemaMore", "Error.Error", "; and"}, {"schemaRequired", "walker.wholeObject#0", "required"},
		{"schemaNever", "walker.failType", "not allowed"}, {"schemaType", "walker.failType", "must be"},
		{"schemaAtLeast", "walker.failCount", "must have at least"},
		{"schemaAtMost", "walker.failCount", "must have at most"},
		{"schemaBound", "walker.number", "must be %s"}, {"schemaEmpty", "walker.string", "must not"},
		{"schemaPattern", "walker.string", "must match"}, {"schemaWork", "Schema.explain", "too much work"},
		{"atLeast", "compiler.keyword", "at least"}, {"atMost", "compiler.keyword", "at most"},
		{"greater", "compiler.keyword", "greater"}, {"less", "compiler.keyword", "less"},
		{"schemaMean", "walker.failUnknown", ", did"}, {"schemaNoValue", "enumRule.message", "no value"},
		{"schemaMust", "enumRule.message", "must be %s"}, {"schemaOneOf", "enumRule.message", "must be one"},
		{"schemaListed", "listed", "%s and"},
		{"kindObject", "kindNames", "an object"}, {"kindArray", "kindNames", "an array"},
		{"kindString", "kindNames", "a string"}, {"kindInteger", "kindNames", "an integer"},
		{"kindNumber", "kindNames", "a number"}, {"kindBoolean", "kindNames", "a boolean"},
	},
	"internal/search": {
		{"searchReplaced", "Result.Text", "No page has"}, {"searchNear", "Result.Text", "No page matches %s. Words"},
		{"searchNone", "Result.Text", "No page matches %s. Try"}, {"searchOne", "Result.Text", "1 page"},
		{"searchBeyond", "Result.Text", "%d pages match %s, none"},
		{"searchNumbers", "Result.Text", "%d pages match %s; numbers"},
		{"searchBest", "Result.Text", "%d pages match %s; the best"},
		{"searchAll", "Result.Text", "%d pages match %s, the best"},
		{"searchHit", "Result.Text", "\n%d. "}, {"searchHeading", "Result.Text", "   heading"},
		{"searchLink", "Result.Text", "   url"}, {"searchSnippet", "Result.Text", "   %s"},
		{"searchHint", "Result.Text", "\n%s"},
		{"searchSection", "SectionError.Error#0", "no pages below %q"},
		{"searchSectionMean", "SectionError.Error", "no pages below %q;"},
	},
}

// constantAt is a constant of a package, under its name in the endpoint.
type constantAt struct{ name, folder, constant string }

var limits = []constantAt{
	{"jsonDepth", "internal/jsonscan", "MaxDepth"},
	{"name", "internal/site", "MaxName"}, {"longPrefix", "internal/site", "LongPrefix"},
	{"path", "internal/site", "maxPath"}, {"segment", "internal/site", "maxSegment"},
	{"text", "internal/site", "MaxText"}, {"schemaParts", "internal/site", "maxSchemaParts"},
	{"known", "internal/site", "MaxKnown"}, {"shownText", "internal/site", "maxShown"},
	{"nearRunes", "internal/nearest", "maxRunes"}, {"nearWork", "internal/nearest", "maxWork"},
	{"problems", "internal/schema", "maxProblems"}, {"listed", "internal/schema", "maxListed"},
	{"shown", "internal/schema", "maxShown"}, {"patternCost", "internal/schema", "maxPatternSize"},
	{"compared", "staticmcp", "maxCompared"}, {"suggested", "staticmcp", "maxSuggested"},
	{"body", "mcp/server", "defaultMaxBody"}, {"batch", "mcp/server", "maxBatch"},
	{"batchAnswers", "mcp/server", "maxBatchAnswers"},
	{"page", "mcp", "DefaultPageSize"}, {"completions", "mcp", "maxCompletionValues"},
}

var searchConstants = []constantAt{
	{"format", "internal/search", "format"}, {"head", "internal/search", "HeadName"},
	{"words1", "internal/search", "words1Name"},
	{"maxWord", "internal/search", "maxWord"}, {"maxParts", "internal/search", "maxParts"},
	{"maxPages", "internal/search", "maxPages"}, {"maxSections", "internal/search", "maxSections"},
	{"maxWeight", "internal/search", "maxWeight"}, {"sections", "internal/search", "kMost"},
	{"withLinks", "internal/search", "withLinks"}, {"bestLinks", "internal/search", "bestLinks"},
	{"perUnit", "internal/search", "perUnit"}, {"sizeStep", "internal/search", "sizeStep"},
	{"sectionBits", "internal/search", "sectionBits"}, {"sameWeight", "internal/search", "sameWeight"},
	{"titleBit", "internal/search", "titleBit"}, {"postingShift", "internal/search", "postingShift"},
	{"elsewhere", "internal/search", "elsewhere"}, {"headingJoint", "internal/search", "headingJoint"},
	{"ln2", "internal/search", "ln2"},
	{"accented", "internal/search", "accented"}, {"bare", "internal/search", "bare"},
}

// tables returns the contents of js/tables.js.
func tables(t *testing.T) []byte {
	sources := sources{}
	var b bytes.Buffer
	b.WriteString("// Generated from the Go sources by \"go generate ./internal/edge\". Do not edit.\n\n")
	var versions []string
	for _, v := range slices.Backward(mcp.Versions()) {
		versions = append(versions, v.String())
	}
	fmt.Fprintf(&b, "export const VERSIONS = %s;\n\n", script(versions))

	b.WriteString("export const CODES = {\n")
	for _, c := range []struct {
		name string
		code mcp.Code
	}{
		{"parse", mcp.CodeParseError}, {"invalidRequest", mcp.CodeInvalidRequest},
		{"methodNotFound", mcp.CodeMethodNotFound}, {"invalidParams", mcp.CodeInvalidParams},
		{"internal", mcp.CodeInternalError}, {"resourceNotFound", mcp.CodeResourceNotFound},
		{"headerMismatch", mcp.CodeHeaderMismatch}, {"unsupportedVersion", mcp.CodeUnsupportedProtocolVersion},
		{"busy", mcp.CodeToolBusy},
	} {
		fmt.Fprintf(&b, "  %s: %d,\n", c.name, c.code)
	}
	fmt.Fprintf(&b, "};\n\n// The data.kind of errors.\nexport const ERROR_KINDS = { [CODES.busy]: %s };\n\n",
		script(errorKind(t, mcp.CodeToolBusy)))

	b.WriteString("// Methods: the first and the last version that has them, and the capability they need.\n")
	b.WriteString("export const METHODS = {\n")
	for _, m := range sources.methods(t) {
		fmt.Fprintf(&b, "  %s: [%d, %d, %s],\n", script(m.name), m.since, m.until, script(m.capability))
	}
	b.WriteString("};\n\n")

	fmt.Fprintf(&b, "// Members of _meta.\nexport const META = {\n")
	for _, c := range []constantAt{
		{"version", "mcp/server", "metaProtocolVersion"}, {"capabilities", "mcp/server", "metaClientCapabilities"},
		{"subscription", "mcp/server", "metaSubscriptionID"}, {"serverInfo", "mcp", "metaServerInfo"},
		{"disambiguation", "internal/site", "MetaDisambiguation"},
		{"template", "internal/site", "MetaTemplate"}, {"search", "internal/site", "MetaSearch"},
	} {
		fmt.Fprintf(&b, "  %s: %s,\n", c.name, sources.constant(t, c))
	}
	prefix := sources.constant(t, constantAt{"", "internal/site", "MetaPrefix"})
	for _, name := range []string{"page", "packs", "values", "variants"} {
		fmt.Fprintf(&b, "  %s: %s,\n", name, strings.TrimSuffix(prefix, `"`)+name+`"`)
	}
	b.WriteString("};\n\nexport const LIMITS = {\n")
	for _, c := range limits {
		fmt.Fprintf(&b, "  %s: %s,\n", c.name, sources.constant(t, c))
	}
	// The cache of the endpoint is part of the 128 MB that hosts allow.
	b.WriteString("  file: 16777216,\n  kept: 25165824,\n  keptFile: 6291456,\n  ttl: 60000,\n")
	// The counts and the depth of a pattern are those of regexp/syntax. The steps of all patterns of a request take about
	// half a second at most.
	b.WriteString("  patternCount: 1000,\n  patternDepth: 1000,\n  patternSteps: 5000000,\n")
	// The compiled patterns that are kept take about 50 bytes a state.
	b.WriteString("  patternStates: 100000,\n};\n\n")
	writeProperties(&b)

	b.WriteString("export const SEARCH = {\n")
	for _, c := range searchConstants {
		fmt.Fprintf(&b, "  %s: %s,\n", c.name, sources.constant(t, c))
	}
	writeRanking(t, &b)
	b.WriteString("};\n\n")

	writeNames(t, &b, sources)
	writeTexts(t, &b, sources)
	return b.Bytes()
}

// writeProperties writes the names of Unicode properties that patterns of package regexp can have.
func writeProperties(b *bytes.Buffer) {
	names := func(all ...iter.Seq[string]) string {
		var known []string
		for _, names := range all {
			for name := range names {
				if _, err := regexp.Compile(`\p{` + name + `}`); err == nil {
					known = append(known, name)
				}
			}
		}
		slices.Sort(known)
		return strings.Join(known, " ")
	}
	fmt.Fprintf(b, "// The properties of patterns that Go knows.\n"+
		"export const CATEGORIES = %s;\nexport const SCRIPTS = %s;\n\n",
		script(names(maps.Keys(unicode.Categories), maps.Keys(unicode.CategoryAliases))),
		script(names(maps.Keys(unicode.Scripts))))
}

// writeRanking writes the weights and limits of the ranking.
func writeRanking(t *testing.T, b *bytes.Buffer) {
	text, err := os.ReadFile("../../internal/search/ranking.json")
	var table map[string]any
	if err == nil {
		err = json.Unmarshal(text, &table)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if name != "$comment" {
			fmt.Fprintf(b, "  %s: %s,\n", name, script(table[name]))
		}
	}
}

// writeNames writes the tables of the file name encoder.
func writeNames(t *testing.T, b *bytes.Buffer, s sources) {
	const folder = "internal/site"
	b.WriteString("// The encoding of code points; runs of the others are [first, last, result].\n")
	b.WriteString("export const NAMES = {\n")
	fmt.Fprintf(b, "  latin: %s,\n", s.constant(t, constantAt{"", folder, "nameLatin"}))
	fmt.Fprintf(b, "  latinAdditional: %s,\n  runs: [\n", s.constant(t, constantAt{"", folder, "nameLatinAdditional"}))
	list := s.variable(t, folder, "nameRuns").(*ast.CompositeLit)
	line := "   "
	for _, e := range list.Elts {
		run := e.(*ast.CompositeLit).Elts
		item := fmt.Sprintf(" [%s, %s, %s],", literal(run[0]), literal(run[1]), literal(run[2]))
		if len(line)+len(item) > 118 {
			b.WriteString(line + "\n")
			line = "   "
		}
		line += item
	}
	b.WriteString(line + "\n  ],\n};\n\n")
}

// writeTexts writes the messages.
func writeTexts(t *testing.T, b *bytes.Buffer, s sources) {
	b.WriteString("// Messages, with the verbs of Go's package fmt.\nexport const TEXTS = {\n")
	var folders []string
	for folder := range messages {
		folders = append(folders, folder)
	}
	slices.Sort(folders)
	for _, folder := range folders {
		fmt.Fprintf(b, "  // %s\n", folder)
		for _, m := range messages[folder] {
			text := s.text(t, folder, m)
			switch m.name {
			case "emptyFull":
				m.name, text = "emptyMessage", strings.TrimPrefix(text, "parse error: ")
			case "invalidRequest":
				text = strings.TrimSuffix(text, "%s")
			case "schemaNoValue":
				text = strings.TrimSuffix(text, "%s)")
			}
			fmt.Fprintf(b, "  %s: %s,\n", m.name, script(text))
		}
	}
	b.WriteString("};\n")
}

// script returns a value as JavaScript on one line.
func script(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return strings.TrimSpace(b.String())
}

func literal(e ast.Expr) string {
	value := e.(*ast.BasicLit).Value
	if strings.HasPrefix(value, `"`) {
		return value
	}
	n, _ := strconv.ParseInt(value, 0, 64)
	return strconv.FormatInt(n, 10)
}

func errorKind(t *testing.T, code mcp.Code) string {
	t.Helper()
	var said struct{ Data struct{ Kind string } }
	text, err := json.Marshal(mcp.Error{Code: code})
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	if err != nil || said.Data.Kind == "" {
		t.Fatalf("error kind of %d: %v", code, err)
	}
	return said.Data.Kind
}

// sources are parsed packages by folder, relative to the module.
type sources map[string]*source

type source struct {
	files []*ast.File
	types *types.Package
}

// read parses the package in a folder.
func (s sources) read(t *testing.T, folder string) *source {
	t.Helper()
	if s[folder] != nil {
		return s[folder]
	}
	names, err := filepath.Glob(filepath.Join("../..", folder, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no sources in %s: %v", folder, err)
	}
	fset := token.NewFileSet()
	p := &source{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		p.files = append(p.files, file)
	}
	// Constants need no imports, so that errors about them do not matter.
	config := types.Config{Error: func(error) {}, Importer: noImports{}}
	p.types, _ = config.Check(folder, fset, p.files, nil)
	s[folder] = p
	return p
}

type noImports struct{}

func (noImports) Import(path string) (*types.Package, error) {
	return nil, fmt.Errorf("%s is not imported", path)
}

// constant returns the value of a constant as JavaScript.
func (s sources) constant(t *testing.T, c constantAt) string {
	t.Helper()
	object, ok := s.read(t, c.folder).types.Scope().Lookup(c.constant).(*types.Const)
	if !ok {
		t.Fatalf("%s has no constant %s", c.folder, c.constant)
	}
	value := object.Val()
	switch value.Kind() {
	case constant.String:
		return script(constant.StringVal(value))
	case constant.Int:
		return value.ExactString()
	case constant.Float:
		f, _ := constant.Float64Val(value)
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	t.Fatalf("the constant %s.%s has no value", c.folder, c.constant)
	return ""
}

// variable returns the value of a variable of a package, or what a function of that name
// consists of.
func (s sources) variable(t *testing.T, folder, name string) ast.Node {
	t.Helper()
	for _, file := range s.read(t, folder).files {
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if functionName(d) == name {
					return d
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					v, ok := spec.(*ast.ValueSpec)
					if ok && v.Names[0].Name == name && len(v.Values) == 1 {
						return v.Values[0]
					}
				}
			}
		}
	}
	t.Fatalf("%s has no %s", folder, name)
	return nil
}

// functionName returns the name of a function, after its receiver.
func functionName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	receiver := d.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if id, ok := receiver.(*ast.Ident); ok {
		return id.Name + "." + d.Name.Name
	}
	return d.Name.Name
}

// text returns a message, which must be unique in its function.
func (s sources) text(t *testing.T, folder string, m textAt) string {
	t.Helper()
	function, exact := strings.CutSuffix(m.function, "#0")
	var found []string
	ast.Inspect(s.variable(t, folder, function), func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		if !ok || l.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(l.Value)
		matches := strings.HasPrefix(text, m.start)
		if exact {
			matches = text == m.start
		}
		if err == nil && text != "" && matches && !slices.Contains(found, text) {
			found = append(found, text)
		}
		return true
	})
	if len(found) != 1 {
		t.Fatalf("%s: %s: %s: found %q, want one text that begins with %q", folder, m.function, m.name, found, m.start)
	}
	return found[0]
}

// endpointMethod is a row of the table of methods.
type endpointMethod struct {
	name, capability string
	since, until     int
}

// methods returns the methods of the server that a site without sessions can answer, or
// must report as unknown by version.
func (s sources) methods(t *testing.T) []endpointMethod {
	t.Helper()
	spans := map[string][2]int{}
	last := len(mcp.Versions()) - 1
	spans["always"], spans["handshake"], spans["stateless"] = [2]int{0, last}, [2]int{0, last - 1}, [2]int{last, last}
	var list []endpointMethod
	for _, e := range s.variable(t, "mcp/server", "methods").(*ast.CompositeLit).Elts {
		row := e.(*ast.CompositeLit).Elts
		name, _ := strconv.Unquote(row[0].(*ast.BasicLit).Value)
		span, ok := spans[row[1].(*ast.Ident).Name]
		if !ok {
			t.Fatalf("method %s: unknown versions", name)
		}
		capability := strings.ToLower(strings.TrimPrefix(row[2].(*ast.Ident).Name, "has"))
		if capability == "nil" {
			capability = ""
		}
		if slices.Contains([]string{"logging", "subscribe", "tasks"}, capability) {
			continue // a site has no such capability, so that the method does not exist
		}
		list = append(list, endpointMethod{name, capability, span[0], span[1]})
	}
	return list
}

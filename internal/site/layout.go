package site

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
)

// The lists of a manifest.
const (
	ListResources = iota
	ListTools
	ListTemplates
	ListPrompts
	ManifestLists
)

// Names in the _meta of definitions and stored answers, documented in package staticmcp.
const (
	MetaDisambiguation = MetaPrefix + "disambiguation"
	MetaTemplate       = MetaPrefix + "template"
	MetaSearch         = MetaPrefix + "search"
)

// AnyObject is the inputSchema of a tool that has none.
var AnyObject = json.RawMessage(`{"type":"object"}`)

// maxSchemaParts bounds how many parts of a schema are searched.
const maxSchemaParts = 64

// MaxKnown is how many values a message lists.
const MaxKnown = 20

// ToolFolders returns the possible spellings of the folder of a tool.
func ToolFolders(name string) []string {
	var dirs []string
	for _, dir := range []string{name, SanitizedName(name), EncodeName(name)} {
		if dir != "" && len(dir) <= maxSegment-len(Extension) &&
			IsSafePath(dir) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// SanitizedName returns the name that a known reader gives to a tool and its folder.
func SanitizedName(name string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-':
			return r
		}
		return '_'
	}, name)
	return safe[:min(len(safe), 64)]
}

// SchemaParts returns the object schemas that every call must satisfy: schema itself, its
// references within root, and the branches of its allOf.
func SchemaParts(schema, root []byte, found [][]byte) [][]byte {
	if len(schema) == 0 || schema[0] != '{' || len(found) >= maxSchemaParts {
		return found
	}
	found = append(found, schema)
	for _, m := range jsonscan.Members(schema) {
		switch {
		case m.Name == "$ref":
			ref, _ := jsonscan.Unquote(m.Value)
			found = SchemaParts(pointed(root, ref), root, found)
		case m.Name == "allOf" && m.Value[0] == '[':
			for _, branch := range jsonscan.Elements(m.Value) {
				found = SchemaParts(branch, root, found)
			}
		}
	}
	return found
}

// pointed returns the part of root that a reference such as "#/$defs/page"
// points to, or nil.
func pointed(root []byte, ref string) []byte {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	at := root
	for step := range strings.SplitSeq(path, "/") {
		step = jsonscan.UnescapeToken(step)
		if len(at) == 0 || at[0] != '{' {
			return nil
		}
		i := slices.IndexFunc(jsonscan.Members(at), func(m jsonscan.Field) bool {
			return m.Name == step
		})
		if i < 0 {
			return nil
		}
		at = jsonscan.Members(at)[i].Value
	}
	return at
}

// DistinctName returns the long form of a name, whatever its length: it differs where the
// encoding alone does not.
func DistinctName(text string) string {
	var buf [MaxName + maxWidth]byte
	return longName(appendSafe(buf[:0], text, widthUTF16), hash64(text))
}

// DistinctURIName returns the distinct name of the last segment of a URI. The hash covers
// the whole URI, because two URIs can differ only in their schemes.
func DistinctURIName(segment, uri string) string {
	var buf [MaxName + maxWidth]byte
	return longName(appendSafe(buf[:0], segment, widthUTF16), hash64(uri))
}

// IsListing reports whether path is, by its name, a listing rather than an answer. It may
// still be an answer if its content looks like one.
func IsListing(file string) bool {
	name := strings.TrimSuffix(path.Base(file), Extension)
	return name == SchemaName || name == IndexName
}

// LastPlace means the last part of a path.
const LastPlace = -1

// WholeURI means the last part of a path, with the hash of the whole URI.
const WholeURI = -2

// places decodes a list of positions, and ignores invalid ones.
func places(array []byte) []int {
	var list []int
	for _, element := range jsonscan.Elements(array) {
		var place int
		_, err := fmt.Sscan(string(element), &place)
		if err == nil && place >= 0 {
			list = append(list, place)
		}
	}
	return list
}

// MetaPrefix begins the names in _meta with which a site states more than the standard
// can express. Other readers pass them on or ignore them.
const MetaPrefix = "io.github.slipway-mcp/"

// Alternatives joins names as in "a", "b" or "c".
func Alternatives(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

func Shorten(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "…"
}

// maxShown is how much of a value a message repeats.
const maxShown = 200

func Quote(s string) []byte { return jsonscan.AppendQuote(nil, s) }

var ByteOrderMark = []byte("\xef\xbb\xbf")

// ListNames are the members that contain the lists. The last two are extensions of the
// standard.
var ListNames = [ManifestLists]string{"resources", "tools", "resourceTemplates", "prompts"}

// Compact returns raw without white space between its tokens.
func Compact(raw []byte) []byte {
	if jsonscan.IsCompact(raw) {
		return raw
	}
	return jsonscan.AppendCompact(make([]byte, 0, len(raw)), raw)
}

// StartingWith returns the part of a sorted list whose names begin with prefix.
func StartingWith(sorted []string, prefix string) []string {
	first, _ := slices.BinarySearch(sorted, prefix)
	rest := sorted[first:]
	end := len(rest)
	for i, name := range rest {
		if !strings.HasPrefix(name, prefix) {
			end = i
			break
		}
	}
	return rest[:end]
}

// SubjectError is an error that names its subject.
type SubjectError string

func (e SubjectError) Error() string { return string(e) }

// SharedPlaces returns the places of a path in which the answers that share a file differ,
// from the file's _meta, or nil if the file is a single answer.
func SharedPlaces(meta []byte) []int {
	if len(meta) == 0 || meta[0] != '{' {
		return nil
	}
	for _, m := range jsonscan.Members(meta) {
		if m.Name != MetaDisambiguation {
			continue
		}
		switch m.Value[0] {
		case 't':
			return []int{LastPlace}
		case '"':
			return []int{WholeURI}
		case '[':
			return places(m.Value)
		}
	}
	return nil
}

// IsTemplate reports whether the _meta of a prompt marks it as a template.
func IsTemplate(meta []byte) bool {
	return len(meta) > 0 && meta[0] == '{' &&
		string(jsonscan.Member(meta, MetaTemplate)) == "true"
}

// StatedParameters returns the arguments that the envelope of an answer states, or nil.
func StatedParameters(envelope []byte) []byte {
	if len(envelope) == 0 || envelope[0] != '{' {
		return nil
	}
	for _, m := range jsonscan.Members(envelope) {
		if m.Name == "parameters" && m.Value[0] == '{' {
			return m.Value
		}
	}
	return nil
}

// SearchOptions are the arguments that a tool with a search index may have besides the
// query.
var SearchOptions = []string{"queries", "limit", "offset", "section"}

// Searches are the search indexes that the _meta of a tool declares.
type Searches struct {
	// Folder has the index of calls without other choices.
	Folder string
	// Choices are the arguments that choose an index, and Variants the indexes for values that
	// are not the defaults.
	Choices  []string
	Variants []SearchVariant
}

// SearchVariant is the index for some values of the choices; the others have their default.
type SearchVariant struct {
	Arguments map[string]string
	Index     string
}

// Folders returns the folders of all indexes.
func (s *Searches) Folders() []string {
	if s == nil {
		return nil
	}
	list := []string{s.Folder}
	for _, v := range s.Variants {
		list = append(list, v.Index)
	}
	return list
}

// Choose returns the folder of the index for values, which are those of the choices that are not
// their default. ok is false if the site has none.
func (s *Searches) Choose(values map[string]string) (folder string, ok bool) {
	if len(values) == 0 {
		return s.Folder, true
	}
	for _, v := range s.Variants {
		if maps.Equal(v.Arguments, values) {
			return v.Index, true
		}
	}
	return "", false
}

// SearchesOf returns the search indexes that the _meta of a tool with these arguments declares,
// or nil.
func SearchesOf(arguments []string, meta []byte) (*Searches, error) {
	if len(meta) == 0 || meta[0] != '{' {
		return nil, nil
	}
	for _, m := range jsonscan.Members(meta) {
		if m.Name != MetaSearch {
			continue
		}
		var said struct {
			Index, Argument string
			Variants        []SearchVariant
		}
		if err := json.Unmarshal(m.Value, &said); err != nil {
			return nil, fmt.Errorf("%s: %w", MetaSearch, err)
		}
		s := &Searches{Folder: said.Index, Variants: said.Variants}
		for _, v := range said.Variants {
			for _, name := range slices.Sorted(maps.Keys(v.Arguments)) {
				if !slices.Contains(s.Choices, name) {
					s.Choices = append(s.Choices, name)
				}
			}
			if len(v.Arguments) == 0 {
				return nil, fmt.Errorf("%s: a variant without arguments", MetaSearch)
			}
		}
		others := slices.Concat(SearchOptions, s.Choices)
		for _, name := range s.Choices {
			if !slices.Contains(arguments, name) || slices.Contains(SearchOptions, name) || name == said.Argument {
				return nil, fmt.Errorf("%s: the tool has no argument %q to choose an index", MetaSearch, name)
			}
		}
		switch {
		case !slices.Contains(arguments, said.Argument) || slices.Contains(others, said.Argument):
			return nil, fmt.Errorf("%s: the tool has no argument %q for the query", MetaSearch, said.Argument)
		case slices.ContainsFunc(arguments, func(name string) bool {
			return name != said.Argument && !slices.Contains(others, name)
		}):
			return nil, fmt.Errorf("%s: a search takes %q and %s, and no other arguments", MetaSearch, said.Argument,
				strings.Join(others, ", "))
		}
		for _, folder := range s.Folders() {
			if !fs.ValidPath(folder) || folder == "." || !IsSafePath(folder) {
				return nil, fmt.Errorf("%s: %q is not a folder of the site", MetaSearch, folder)
			}
		}
		return s, nil
	}
	return nil, nil
}

// SeparateFolders removes from each tool the folder spellings that belong, or could belong,
// to another tool: the folder a/b of a tool "a/b" also holds answers of a tool "a". Keys
// are the names of tools.
func SeparateFolders(dirs map[string][]string) {
	owners := make(map[string]int)
	for _, list := range dirs {
		for _, dir := range list {
			owners[dir]++
		}
	}
	for name, list := range dirs {
		dirs[name] = slices.DeleteFunc(list, func(dir string) bool {
			first, _, nested := strings.Cut(dir, "/")
			return dir != name && owners[dir] > 1 || nested && owners[first] > 0
		})
	}
}

// IsAnswerFile reports whether path is that of a file in one of the folders of a site.
func IsAnswerFile(path string) bool {
	dir, _, inside := strings.Cut(path, "/")
	return inside && IsSitePart(dir) && strings.HasSuffix(path, Extension) &&
		IsSafePath(path)
}

// NamesSubject reports whether the text of an error names what it is about.
func NamesSubject(err error) bool {
	return errors.As(err, new(*Unavailable)) || errors.As(err, new(SubjectError)) || errors.As(err, new(*NotSite))
}

// Detail returns the cause of an error that its text omits, or "".
func Detail(err error) string {
	var host *Unavailable
	if errors.As(err, &host) && host.cause != nil {
		return host.cause.Error()
	}
	return ""
}

// TableNames returns the names of the entries in a list of a table.
func TableNames(table []byte, list string) []string {
	var names []string
	for _, entry := range jsonscan.Elements(jsonscan.Member(table, list)) {
		name, _ := jsonscan.Unquote(jsonscan.Member(entry, "name"))
		names = append(names, name)
	}
	return names
}

// UnknownChoice returns the error for a name that is not in a list.
func UnknownChoice(what, name string, known []string) error {
	hint := "there are " + Alternatives(known)
	if near := nearest.DidYouMean(name, known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return fmt.Errorf("unknown %s %q: %s", what, name, hint)
}

// CompareNames orders argument names like JavaScript's localeCompare: signs before digits
// before letters, and upper case after lower case only where nothing else differs.
func CompareNames(a, b string) int {
	return cmp.Or(
		slices.CompareFunc([]rune(a), []rune(b), func(x, y rune) int {
			return cmp.Or(cmp.Compare(class(x), class(y)),
				cmp.Compare(unicode.ToLower(x), unicode.ToLower(y)))
		}),
		-cmp.Compare(a, b), // lower case sorts after upper case in ASCII
	)
}

// class groups runes for splitting names into words.
func class(r rune) int {
	switch {
	case unicode.IsLetter(r):
		return 2
	case unicode.IsDigit(r):
		return 1
	}
	return 0
}

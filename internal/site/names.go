package site

import (
	"io/fs"
	"net/url"
	"slices"
	"strings"
)

// The parts of a site. The last two folders are extensions of the standard.
const (
	ManifestName   = "mcp.json"
	ResourcesDir   = "resources"
	ToolsDir       = "tools"
	PromptsDir     = "prompts"
	CompletionsDir = "completions"

	Extension  = ".json"
	SchemaName = "_schema" // a tool's definition in its folder
	IndexName  = "index"   // a listing, which some generators write
)

const (
	// maxSegment is the longest name that file systems allow.
	maxSegment = 255
	// maxPath is the longest path that they allow, less room for the site's location.
	maxPath = 3072
	// MaxText is the longest URI or argument that is looked up. Long ones are hashed, but
	// must be read in full first.
	MaxText = 64 << 10
)

// Candidate is a path under which an answer may be found.
type Candidate struct {
	// Path is a path to try, and Form how it was derived.
	Path string
	Form Form
}

// Form is the rule by which a path was built. On a web host, the rule that last succeeded
// is tried first.
type Form uint16

// The rules that turn a text into a part of a path, the standard's own first.
const (
	FormEncoded       Form = iota // the standard
	FormEncoded31                 // with the 32-bit hash
	FormEncodedScalar             // counting Unicode scalar values
	FormRaw                       // unchanged
	FormSlashes                   // "/" separates folders, the parts are encoded
	FormSlashes31                 // the same, cut as a whole
	FormRawSlashes                // unchanged, "/" separates folders
	FormReplaced                  // unchanged, but *?"<>| become "_"
	formFlat                      // a whole URI encoded as one name
	formDecoded                   // percent-decoded, encoded
	formDecodedRaw                // percent-decoded, otherwise unchanged
	FormBase64                    // all arguments in one name
	FormBase64Padded              // the same, with its padding as "_"
	formKinds

	// FormRest marks the rules above applied to the part after "://".
	FormRest Form = 1 << 5
	// FormDir counts the spellings of the tool's folder.
	FormDir Form = 1 << 6
)

// Candidates collects candidates, each path once, in insertion order.
type Candidates []Candidate

// Add adds a path, unless a part cannot be a file name or the path is already there.
func (p *Candidates) Add(f Form, root string, segments ...string) {
	for _, s := range segments {
		if s == "" || len(s) > maxSegment-len(Extension) || strings.Contains(s, "/") {
			return
		}
	}
	path := root + Extension
	if len(segments) > 0 {
		path = root + "/" + strings.Join(segments, "/") + Extension
	}
	if !IsSafePath(path) || slices.ContainsFunc(*p, func(c Candidate) bool {
		return c.Path == path
	}) {
		return
	}
	*p = append(*p, Candidate{path, f})
}

// IsSafePath reports whether path stays below the root of a site on every system: no "..",
// no empty part, and no character that any system treats as a separator, a drive or a
// terminator.
func IsSafePath(path string) bool {
	if len(path) > maxPath || !fs.ValidPath(path) {
		return false
	}
	for i := range len(path) {
		c := path[i]
		if c < 0x20 || c == 0x7f || c == '\\' {
			return false
		}
	}
	return true
}

// SplitSlashes returns the parts of s between slashes, without empty ones.
func SplitSlashes(s string) []string {
	return slices.DeleteFunc(strings.Split(s, "/"), func(part string) bool {
		return part == ""
	})
}

// ReplaceReserved replaces the characters that Windows does not allow in names, the way a known
// generator does.
func ReplaceReserved(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`*?"<>|`, r) {
			return '_'
		}
		return r
	}, s)
}

// URIRest returns the part of a URI after the first "://". A URI is opaque: it is cut,
// never parsed, because parsers rewrite their input.
func URIRest(uri string) string {
	if _, rest, ok := strings.Cut(uri, "://"); ok {
		return rest
	}
	return uri
}

// ResourcePaths returns where the file of a resource may be, the standard's name first.
func ResourcePaths(uri string, strict bool) []Candidate {
	rest := URIRest(uri)
	parts := SplitSlashes(rest)
	if len(parts) == 0 || len(uri) > MaxText {
		return nil
	}
	found := make(Candidates, 0, 4)
	found.AddEncoded(FormEncoded, ResourcesDir, parts, !strict)
	if strict {
		return found
	}
	found.Add(FormRawSlashes, ResourcesDir, parts...)
	found.Add(FormReplaced, ResourcesDir, SplitSlashes(ReplaceReserved(rest))...)
	found.Add(formFlat, ResourcesDir, EncodeName(rest))
	decoded, err := url.PathUnescape(rest)
	if err == nil && decoded != rest {
		// "%2F" decodes to no parts at all: the folder itself is not a resource.
		if parts := SplitSlashes(decoded); len(parts) > 0 {
			found.AddEncoded(formDecoded, ResourcesDir, parts, false)
			found.Add(formDecodedRaw, ResourcesDir, parts...)
		}
	}
	return found
}

// AddEncoded adds the encoded form of segments and, if others is set, the forms of the
// other known encoders.
func (p *Candidates) AddEncoded(f Form, root string, segments []string, others bool) {
	if len(segments) == 0 {
		return
	}
	names := make([][]string, len(segments))
	most := 1
	for i, s := range segments {
		names[i] = nameForms(nil, s)
		most = max(most, len(names[i]))
	}
	if !others {
		most = 1
	}
	for k := range most {
		chosen := make([]string, len(segments))
		for i := range segments {
			chosen[i] = names[i][min(k, len(names[i])-1)]
		}
		p.Add(f+Form(k), root, chosen...)
	}
}

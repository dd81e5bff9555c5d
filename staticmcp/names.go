package staticmcp

import (
	"io/fs"
	"net/url"
	"slices"
	"strings"
)

// The parts of a site. The last two folders are extensions of the standard.
const (
	manifestName   = "mcp.json"
	resourcesDir   = "resources"
	toolsDir       = "tools"
	promptsDir     = "prompts"
	completionsDir = "completions"

	extension  = ".json"
	schemaName = "_schema" // a tool's definition in its folder
	indexName  = "index"   // a listing, which some generators write
)

const (
	// maxSegment is the longest name that file systems allow.
	maxSegment = 255
	// maxPath is the longest path that they allow, less room for the site's location.
	maxPath = 3072
	// maxText is the longest URI or argument that is looked up. Long ones are hashed, but
	// must be read in full first.
	maxText = 64 << 10
)

// candidate is a path under which an answer may be found.
type candidate struct {
	path string
	form form
}

// form is the rule by which a path was built. On a web host, the rule that last succeeded
// is tried first.
type form uint16

// The rules that turn a text into a part of a path, the standard's own first.
const (
	formEncoded       form = iota // the standard
	formEncoded31                 // with the 32-bit hash
	formEncodedScalar             // counting Unicode scalar values
	formRaw                       // unchanged
	formSlashes                   // "/" separates folders, the parts are encoded
	formSlashes31                 // the same, cut as a whole
	formRawSlashes                // unchanged, "/" separates folders
	formReplaced                  // unchanged, but *?"<>| become "_"
	formFlat                      // a whole URI encoded as one name
	formDecoded                   // percent-decoded, encoded
	formDecodedRaw                // percent-decoded, otherwise unchanged
	formBase64                    // all arguments in one name
	formBase64Padded              // the same, with its padding as "_"
	formKinds

	// formRest marks the rules above applied to the part after "://".
	formRest form = 1 << 5
	// formDir counts the spellings of the tool's folder.
	formDir form = 1 << 6
)

// paths collects candidates, each path once, in insertion order.
type paths []candidate

func (p *paths) add(f form, root string, segments ...string) {
	for _, s := range segments {
		if s == "" || len(s) > maxSegment-len(extension) || strings.Contains(s, "/") {
			return
		}
	}
	path := root + extension
	if len(segments) > 0 {
		path = root + "/" + strings.Join(segments, "/") + extension
	}
	if !safePath(path) || slices.ContainsFunc(*p, func(c candidate) bool { return c.path == path }) {
		return
	}
	*p = append(*p, candidate{path, f})
}

// safePath reports whether path stays below the root of a site on every system: no "..",
// no empty part, and no character that any system treats as a separator, a drive or a
// terminator.
func safePath(path string) bool {
	if len(path) > maxPath || !fs.ValidPath(path) {
		return false
	}
	for i := range len(path) {
		if c := path[i]; c < 0x20 || c == 0x7f || c == '\\' {
			return false
		}
	}
	return true
}

// splitSlashes returns the parts of s between slashes, without empty ones.
func splitSlashes(s string) []string {
	return slices.DeleteFunc(strings.Split(s, "/"), func(part string) bool { return part == "" })
}

// replaced replaces the characters that Windows does not allow in names, the way a known
// generator does.
func replaced(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`*?"<>|`, r) {
			return '_'
		}
		return r
	}, s)
}

// uriRest returns the part of a URI after the first "://". A URI is opaque: it is cut,
// never parsed, because parsers rewrite their input.
func uriRest(uri string) string {
	if _, rest, ok := strings.Cut(uri, "://"); ok {
		return rest
	}
	return uri
}

// resourcePaths returns where the file of a resource may be, the standard's name first.
func resourcePaths(uri string, strict bool) []candidate {
	rest := uriRest(uri)
	parts := splitSlashes(rest)
	if len(parts) == 0 || len(uri) > maxText {
		return nil
	}
	found := make(paths, 0, 4)
	found.addEncoded(formEncoded, resourcesDir, parts, !strict)
	if strict {
		return found
	}
	found.add(formRawSlashes, resourcesDir, parts...)
	found.add(formReplaced, resourcesDir, splitSlashes(replaced(rest))...)
	found.add(formFlat, resourcesDir, EncodeName(rest))
	if decoded, err := url.PathUnescape(rest); err == nil && decoded != rest {
		// "%2F" decodes to no parts at all: the folder itself is not a resource.
		if parts := splitSlashes(decoded); len(parts) > 0 {
			found.addEncoded(formDecoded, resourcesDir, parts, false)
			found.add(formDecodedRaw, resourcesDir, parts...)
		}
	}
	return found
}

// addEncoded adds the encoded form of segments and, if others is set, the forms of the
// other known encoders.
func (p *paths) addEncoded(f form, root string, segments []string, others bool) {
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
		p.add(f+form(k), root, chosen...)
	}
}

package staticmcp

import (
	"io/fs"
	"net/url"
	"slices"
	"strings"
)

// The parts of a site. The last two are additions to the standard.
const (
	manifestName   = "mcp.json"
	resourcesDir   = "resources"
	toolsDir       = "tools"
	promptsDir     = "prompts"
	completionsDir = "completions"

	extension  = ".json"
	schemaName = "_schema" // a tool's definition in its folder
	indexName  = "index"   // a listing, for those who write one
)

const (
	// maxSegment is what file systems allow for one name.
	maxSegment = 255
	// maxPath is what they allow for a path, with room for where the site lies.
	maxPath = 3072
	// maxText is the longest URI or argument that is looked for. Long ones are
	// hashed, but somebody has to read them first.
	maxText = 64 << 10
)

// candidate is a path under which an answer may be found.
type candidate struct {
	path string
	form form
}

// form says by which rule a path was made. A web host is asked first by the rule
// that had success before.
type form uint16

// The rules by which a text becomes a part of a path, the standard's own first.
const (
	formEncoded       form = iota // the standard
	formEncoded31                 // with the 32-bit hash
	formEncodedScalar             // counting Unicode scalar values
	formRaw                       // as it is
	formSlashes                   // "/" makes folders, the parts are encoded
	formSlashes31                 // the same, cut as a whole
	formRawSlashes                // as it is, "/" makes folders
	formReplaced                  // as it is, but *?"<>| become "_"
	formFlat                      // a whole URI encoded as one name
	formDecoded                   // percent-decoded, encoded
	formDecodedRaw                // percent-decoded, as it is
	formBase64                    // all arguments in one name
	formBase64Padded              // the same, with its padding as "_"
	formKinds

	// formRest marks the rules above applied to what follows "://".
	formRest form = 1 << 5
	// formDir counts the spellings of the tool's folder.
	formDir form = 1 << 6
)

// paths collects candidates, each path once, in the order of their adding.
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

// safePath reports whether path stays below the root of a site on every system:
// no "..", no empty part, nothing that another system takes for a separator, a
// drive or an end.
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

// replacer makes the names that Windows cannot hold harmless in the way of a
// known generator.
func replaced(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`*?"<>|`, r) {
			return '_'
		}
		return r
	}, s)
}

// uriRest returns what follows the first "://" of a URI. A URI is opaque: it is
// cut, never parsed, since parsers rewrite what they read.
func uriRest(uri string) string {
	if _, rest, ok := strings.Cut(uri, "://"); ok {
		return rest
	}
	return uri
}

// resourcePaths returns where the file of a resource may be, the standard's name
// first.
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
		// Nothing is left of "%2F": the folder itself is no resource.
		if parts := splitSlashes(decoded); len(parts) > 0 {
			found.addEncoded(formDecoded, resourcesDir, parts, false)
			found.add(formDecodedRaw, resourcesDir, parts...)
		}
	}
	return found
}

// addEncoded adds the encoded form of segments, and with others set those of the
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

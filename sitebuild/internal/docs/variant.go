package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// Variant is a version or a language of documents that are kept side by side.
type Variant struct {
	// Name is the value of the argument that chooses it, such as "2.1" or "de".
	Name string `json:"name"`
	// Folder has its documents, below the folder of all. Default: Name.
	Folder string `json:"folder"`
	// BaseURL is where its pages are published. Default: Folder below that of the documents.
	BaseURL string `json:"baseURL"`
}

// Variants are the versions or languages of documents, the default first.
type Variants struct {
	// List has them; if it is empty, they are detected, unless Off is set.
	List []Variant
	Off  bool
}

// UnmarshalJSON decodes false, true for the default, or a list of names and objects.
func (v *Variants) UnmarshalJSON(text []byte) error {
	switch string(bytes.TrimSpace(text)) {
	case "false":
		*v = Variants{Off: true}
		return nil
	case "true":
		*v = Variants{}
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	v.List = nil
	for _, raw := range list {
		var one Variant
		if json.Unmarshal(raw, &one.Name) != nil {
			if err := json.Unmarshal(raw, &one); err != nil {
				return err
			}
		}
		one.Folder = cmp.Or(one.Folder, one.Name)
		v.List = append(v.List, one)
	}
	return nil
}

// versionName matches a folder with the documents of a version. A mere number may be that of a
// chapter.
var versionName = lazyregexp.New(`^(?:v\d+(?:[._](?:\d+|x))*|\d+(?:\.(?:\d+|x))+)$`)

// branches are the names of versions without a number, in the order in which they are the
// default, and unreleased those that never are while there is another.
var (
	branches   = []string{"latest", "stable", "current"}
	unreleased = []string{"next", "main", "master", "dev", "edge", "canary"}
)

// isVersion reports whether a name is that of a folder with the documents of a version.
func isVersion(name string) bool {
	return versionName().MatchString(name) || slices.Contains(branches, name) || slices.Contains(unreleased, name)
}

// compareVersions orders versions by their numbers: unreleased ones first, then numbers, and
// branches that are the default last.
func compareVersions(a, b string) int {
	rank := func(name string) int {
		switch {
		case slices.Contains(unreleased, name):
			return -1
		case slices.Contains(branches, name):
			return 1 + len(branches) - slices.Index(branches, name)
		}
		return 0
	}
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	split := func(name string) []string {
		return strings.FieldsFunc(strings.TrimPrefix(name, "v"), func(r rune) bool { return r == '.' || r == '_' })
	}
	return slices.CompareFunc(split(a), split(b), func(x, y string) int {
		m, errM := strconv.Atoi(x)
		n, errN := strconv.Atoi(y)
		if errM != nil || errN != nil {
			return cmp.Compare(x, y) // "x" is after all numbers
		}
		return cmp.Compare(m, n)
	})
}

// languageCodes are those of ISO 639-1 into which documentation is translated.
const languageCodes = " af am ar az be bg bn bs ca cs cy da de el en eo es et eu fa fi fil fr ga gl gu he hi hr " +
	"hu hy id is it ja ka kk km kn ko ky lo lt lv mk ml mn mr ms my nb ne nl nn no pa pl ps pt ro ru si sk sl sq " +
	"sr sv sw ta te th tr uk ur uz vi zh "

// region matches the part of a language code after the language.
var region = lazyregexp.New(`^[-_](?i:hans|hant|latn|cyrl|[a-z]{2}|419)$`)

// isLanguage reports whether a name is the code of a language, such as "pt-BR".
func isLanguage(name string) bool {
	end := strings.IndexAny(name, "-_")
	if end < 0 {
		end = len(name)
	}
	return end > 1 && strings.Contains(languageCodes, " "+name[:end]+" ") &&
		(end == len(name) || region().MatchString(name[end:]))
}

// foldersBelow returns the folders of others that are below that of a variant, from there.
func foldersBelow(v *Variant, others []Variant) []string {
	var list []string
	for _, other := range others {
		rest, found := other.Folder, v.Folder == ""
		if !found {
			rest, found = strings.CutPrefix(other.Folder, v.Folder+"/")
		}
		if found && rest != "" {
			list = append(list, rest)
		}
	}
	return list
}

// toFront moves the first element for which is returns true to the front of a list.
func toFront[T any](list []T, is func(T) bool) {
	if i := slices.IndexFunc(list, is); i > 0 {
		chosen := list[i]
		copy(list[1:i+1], list[:i])
		list[0] = chosen
	}
}

// called returns a function that reports whether a variant has a name.
func called(name string) func(Variant) bool { return func(v Variant) bool { return v.Name == name } }

// pointers returns the variants, or one nil if there are none.
func pointers(list []Variant) []*Variant {
	if len(list) == 0 {
		return []*Variant{nil}
	}
	var all []*Variant
	for i := range list {
		all = append(all, &list[i])
	}
	return all
}

// versionLabel returns the value of the argument for a version. A mere number would share file
// names with the part of a page.
func versionLabel(name string) string {
	if strings.Trim(name, "0123456789") == "" {
		return "v" + name
	}
	return name
}

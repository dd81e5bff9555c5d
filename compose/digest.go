package compose

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/slipway-mcp/slipway/internal/canonical"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Kind is what an [Item] of a source is.
type Kind string

// The kinds. The first three are there once in a source, or not at all.
const (
	Origin       Kind = "origin"       // how it is started or reached
	Server       Kind = "server"       // what it calls itself, but for the version
	Instructions Kind = "instructions" // what it tells models
	Tools        Kind = "tools"
	Prompts      Kind = "prompts"
	Resources    Kind = "resources"
	Templates    Kind = "resourceTemplates"
	// UI is what reading a ui:// resource yields, which clients run as a program.
	UI Kind = "ui"
	// Version and Whole are in no lock: a [Drift] says with them that the version
	// has changed, and that a source has come or gone.
	Version Kind = "version"
	Whole   Kind = "source"
)

// pinnedKinds are the kinds in a lock, in the order in which people are told.
func pinnedKinds() []Kind {
	return []Kind{Origin, Server, Instructions, Tools, Prompts, Resources, Templates, UI}
}

// digestPrefix is the version of the way in which digests are made.
const digestPrefix = "sha256/v1:"

// Digest returns the digest of a JSON text as an item of a kind: SHA-256 over the
// kind and the canonical form of the text (RFC 8785), as "sha256/v1:" and 64
// hexadecimal digits. The kind goes in so that what was approved as one thing does
// not count as another. It fails for text that has no canonical form.
func Digest(kind Kind, text []byte) (string, error) {
	form, err := canonical.Append([]byte("slipway.lock/v1/"+string(kind)+"\n"), text)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(form)
	return digestPrefix + hex.EncodeToString(sum[:]), nil
}

// pinOf returns the pin of a definition, which holds it in canonical form.
func pinOf(kind Kind, definition []byte) (Pin, error) {
	form, err := canonical.Append(nil, definition)
	if err != nil {
		return Pin{}, err
	}
	digest, err := Digest(kind, form)
	return Pin{Digest: digest, Definition: form}, err
}

// entry is an item as a source lists it.
type entry struct {
	item Item
	json func() (json.RawMessage, error)
}

// entries returns what a catalog offers, but for what the server says of itself.
func entries(cat *mcp.Catalog) []entry {
	all := make([]entry, 0, len(cat.Tools)+len(cat.Prompts)+len(cat.Resources)+len(cat.Templates))
	for i := range cat.Tools {
		all = append(all, entry{Item{Tools, cat.Tools[i].Name}, func() (json.RawMessage, error) { return cat.Tools[i].MarshalJSON() }})
	}
	for i := range cat.Prompts {
		all = append(all, entry{Item{Prompts, cat.Prompts[i].Name}, func() (json.RawMessage, error) { return cat.Prompts[i].MarshalJSON() }})
	}
	for i := range cat.Resources {
		all = append(all, entry{Item{Resources, cat.Resources[i].URI}, func() (json.RawMessage, error) { return cat.Resources[i].MarshalJSON() }})
	}
	for i := range cat.Templates {
		all = append(all, entry{Item{Templates, cat.Templates[i].URITemplate}, func() (json.RawMessage, error) { return cat.Templates[i].MarshalJSON() }})
	}
	return all
}

// digest returns the digest of an entry, or why it has none.
func (e *entry) digest() (string, error) {
	text, err := e.json()
	if err != nil {
		return "", err
	}
	return Digest(e.item.Kind, text)
}

// identityOf is what a server says of itself, as JSON, without its version: a new
// version of a server is the same server.
func identityOf(info mcp.Implementation) (json.RawMessage, error) {
	text, err := mcp.Marshal(info)
	if err != nil {
		return nil, err
	}
	members := make(map[string]json.RawMessage)
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	delete(members, "version")
	return mcp.Marshal(members)
}

// contentsOf returns what reading a resource yields, without what comes with the
// answer only, such as how long it may be kept.
func contentsOf(result *mcp.ReadResourceResult) (json.RawMessage, error) {
	text, err := mcp.Marshal(result)
	if err != nil {
		return nil, err
	}
	contents := jsonscan.Member(text, "contents")
	if contents == nil {
		return nil, fmt.Errorf("the answer has no contents")
	}
	return contents, nil
}

package lock

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/internal/canonical"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Kind is the kind of an [Item] of a source.
type Kind string

// The kinds. A source has at most one item of each of the first three.
const (
	Origin       Kind = "origin"       // how the server is started or reached
	Server       Kind = "server"       // the server's description of itself, without the version
	Instructions Kind = "instructions" // the server's instructions for models
	Tools        Kind = "tools"
	Prompts      Kind = "prompts"
	Resources    Kind = "resources"
	Templates    Kind = "resourceTemplates"
	// UI is the contents of a ui:// resource, which clients run as a program.
	UI Kind = "ui"
	// Version and Whole are never in a lock. A [Drift] uses them to report a new version,
	// and a source that was added or removed.
	Version Kind = "version"
	Whole   Kind = "source"
)

// pinnedKinds returns the kinds that a lock contains, in report order.
func pinnedKinds() []Kind {
	return []Kind{Origin, Server, Instructions, Tools, Prompts, Resources, Templates, UI}
}

// digestPrefix is the version of the digest algorithm.
const digestPrefix = "sha256/v1:"

// Digest returns the digest of a JSON text as an item of a kind: SHA-256 over the kind
// and the canonical form of the text (RFC 8785), as "sha256/v1:" and 64 hexadecimal
// digits. The kind is included so that an approval for one kind of item is not valid for
// another. Text without a canonical form is an error.
func Digest(kind Kind, text []byte) (string, error) {
	form, err := canonical.Append([]byte("slipway.lock/v1/"+string(kind)+"\n"), text)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(form)
	return digestPrefix + hex.EncodeToString(sum[:]), nil
}

// pinOf returns the pin of a definition, with the definition in canonical form.
func pinOf(kind Kind, definition []byte) (Pin, error) {
	form, err := canonical.Append(nil, definition)
	if err != nil {
		return Pin{}, err
	}
	digest, err := Digest(kind, form)
	return Pin{
		Digest:     digest,
		Definition: form,
	}, err
}

// entry is an item as a source lists it.
type entry struct {
	// item is the key in the lock, and definition what the digest covers.
	item       Item
	definition json.Marshaler
}

// entries returns the tools, prompts, resources and templates of a catalog.
func entries(cat *mcp.Catalog) []entry {
	return slices.Concat(
		entriesOf(Tools, cat.Tools, func(t *mcp.Tool) (string, json.Marshaler) {
			return t.Name, t
		}),
		entriesOf(Prompts, cat.Prompts, func(p *mcp.Prompt) (string, json.Marshaler) {
			return p.Name, p
		}),
		entriesOf(Resources, cat.Resources, func(r *mcp.Resource) (string, json.Marshaler) {
			return r.URI, r
		}),
		entriesOf(Templates, cat.Templates, func(t *mcp.ResourceTemplate) (string, json.Marshaler) {
			return t.URITemplate, t
		}),
	)
}

// entriesOf returns the items of one kind. name returns the key of an item and its definition.
func entriesOf[T any](kind Kind, all []T, name func(*T) (string, json.Marshaler)) []entry {
	entries := make([]entry, len(all))
	for i := range all {
		text, definition := name(&all[i])
		entries[i] = entry{Item{kind, text}, definition}
	}
	return entries
}

// digest returns the digest of an entry, or the reason it has none.
func (e *entry) digest() (string, error) {
	text, err := e.definition.MarshalJSON()
	if err != nil {
		return "", err
	}
	return Digest(e.item.Kind, text)
}

// identityOf returns a server's description of itself as JSON. It omits the version, as a
// new version is still the same server.
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

// contentsOf returns the contents of a read result, without response metadata such as
// cache hints.
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

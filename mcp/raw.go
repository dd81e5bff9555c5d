package mcp

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Raw is a result document kept as its author wrote it: validated once, then
// sent byte for byte to every client, without being decoded. It is immutable
// and safe for concurrent use.
type Raw struct {
	doc []byte
	// metaEnd is the index of the closing brace of the top-level _meta object, or 0.
	metaEnd                   int
	metaEmpty, metaHasServer  bool
	hasType, hasTTL, hasScope bool
}

// ParseRaw checks that doc is one JSON object in UTF-8 with distinct top-level
// members and returns it with white space between tokens removed. When there
// was none the Raw keeps doc itself, which must not be changed afterwards.
func ParseRaw(doc []byte) (*Raw, error) {
	if len(doc) > 0 && doc[0] != '{' {
		if i := jsonscan.Space(doc, 0); i < len(doc) && doc[i] != '{' {
			return nil, errors.New("want a JSON object")
		}
	}
	if err := jsonscan.Valid(doc); err != nil {
		return nil, err
	}
	if !jsonscan.IsCompact(doc) {
		doc = jsonscan.AppendCompact(make([]byte, 0, len(doc)), doc)
	}
	r := &Raw{doc: doc}
	var seen keySet
	_, err := jsonscan.Object(doc, 0, 0, func(key []byte, i int) (int, error) {
		if !seen.add(key) {
			return i, fmt.Errorf("member %q is given twice", key)
		}
		return r.note(key, i)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// note remembers what the server would otherwise have to look for when it adds
// the members that 2026-07-28 requires.
func (r *Raw) note(key []byte, i int) (int, error) {
	switch string(key) {
	case "resultType":
		r.hasType = true
	case "ttlMs":
		r.hasTTL = true
	case "cacheScope":
		r.hasScope = true
	case "_meta":
		return r.noteMeta(i)
	}
	return jsonscan.ValueAt(r.doc, i, 1)
}

func (r *Raw) noteMeta(i int) (int, error) {
	if r.doc[i] != '{' {
		return i, errors.New("_meta is not an object")
	}
	r.metaEmpty = true
	end, err := jsonscan.Object(r.doc, i, 1, func(key []byte, i int) (int, error) {
		r.metaEmpty = false
		if string(key) == metaServerInfo {
			r.metaHasServer = true
		}
		return jsonscan.ValueAt(r.doc, i, 2)
	})
	r.metaEnd = end - 1
	return end, err
}

// Bytes returns the document. The slice must not be changed.
func (r *Raw) Bytes() json.RawMessage { return r.doc }

// MarshalJSON implements json.Marshaler.
func (r *Raw) MarshalJSON() ([]byte, error) { return r.doc, nil }

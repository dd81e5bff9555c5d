package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Raw is a result document as written by its author: validated once, then sent byte for
// byte to every client, without being decoded. It is immutable and safe for concurrent
// use.
type Raw struct {
	// doc is the result, a valid JSON object.
	doc []byte
	// metaStart and metaEnd delimit the top-level _meta object; both are 0 if there is none.
	metaStart, metaEnd int
	meta               metaFacts
	// hasType, hasTTL and hasScope report whether the result already has the members that
	// 2026-07-28 requires, and isError whether it is a tool error: facts that the server
	// needs, found in the one pass that validates.
	hasType, hasTTL, hasScope bool
	isError                   bool
}

// ParseRaw checks that doc is one JSON object in UTF-8 with distinct top-level members,
// and returns it without whitespace between tokens. If doc has none, the Raw keeps doc
// itself, which must not be modified afterwards.
func ParseRaw(doc []byte) (*Raw, error) {
	if len(doc) > 0 && doc[0] != '{' {
		i := jsonscan.Space(doc, 0)
		if i < len(doc) && doc[i] != '{' {
			return nil, errors.New("want a JSON object")
		}
	}
	r := &Raw{doc: doc}
	if err := r.scan(); err != nil {
		return nil, err
	}
	if !jsonscan.IsCompact(doc) { // now known to be valid
		r = &Raw{doc: jsonscan.AppendCompact(make([]byte, 0, len(doc)), doc)}
		if err := r.scan(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// scan validates the document and records its members.
func (r *Raw) scan() error {
	var seen jsonscan.KeySet
	end, err := jsonscan.Object(r.doc, 0, 0, func(key []byte, i int) (int, error) {
		if !seen.Add(key) {
			return i, fmt.Errorf("duplicate member %q", key)
		}
		return r.note(key, i)
	})
	if err == nil {
		err = jsonscan.End(r.doc, end)
	}
	return err
}

// note records whether the members that 2026-07-28 requires are present, so that adding
// the missing ones needs no search.
func (r *Raw) note(key []byte, i int) (int, error) {
	switch string(key) {
	case "resultType":
		r.hasType = true
	case "ttlMs":
		r.hasTTL = true
	case "cacheScope":
		r.hasScope = true
	case "isError":
		end, err := jsonscan.ValueAt(r.doc, i, 1)
		r.isError = err == nil && string(r.doc[i:end]) == "true"
		return end, err
	case "_meta":
		return r.noteMeta(i)
	}
	return jsonscan.ValueAt(r.doc, i, 1)
}

// noteMeta records the _meta object at i.
func (r *Raw) noteMeta(i int) (int, error) {
	end, facts, err := scanMeta(r.doc, i)
	r.metaStart = i
	r.metaEnd = end
	r.meta = facts
	return end, err
}

// metaFacts is what the server must know about a result's _meta to add its own entry.
type metaFacts struct{ empty, hasServer bool }

// scanMeta validates the object at doc[i] and returns the index after it.
func scanMeta(doc []byte, i int) (end int, facts metaFacts, err error) {
	if i >= len(doc) || doc[i] != '{' {
		return i, facts, errors.New("_meta is not an object")
	}
	facts.empty = true
	end, err = jsonscan.Object(doc, i, 1, func(key []byte, i int) (int, error) {
		facts.empty = false
		if string(key) == metaServerInfo {
			facts.hasServer = true
		}
		return jsonscan.ValueAt(doc, i, 2)
	})
	return end, facts, err
}

// checkMeta validates a _meta object that an author supplied.
func checkMeta(meta json.RawMessage) (metaFacts, error) {
	end, facts, err := scanMeta(meta, 0)
	if err == nil {
		err = jsonscan.End(meta, end)
	}
	if err != nil {
		return facts, fmt.Errorf("the result's _meta: %w", err)
	}
	return facts, nil
}

// append appends the object meta with the server's info added.
func (f metaFacts) append(dst []byte, meta, info []byte) []byte {
	if f.hasServer {
		return append(dst, meta...)
	}
	dst = append(dst, meta[:bytes.LastIndexByte(meta, '}')]...)
	if !f.empty {
		dst = append(dst, ',')
	}
	return append(appendServerInfo(dst, info), '}')
}

func appendServerInfo(dst []byte, info []byte) []byte {
	dst = append(append(dst, '"'), metaServerInfo...)
	return append(append(dst, '"', ':'), info...)
}

// appendModern appends the document, including those members required by 2026-07-28 that
// it lacks.
func (r *Raw) appendModern(dst []byte, info []byte, hint *CacheHint) []byte {
	last := len(r.doc) - 1
	if r.metaEnd == 0 {
		dst = append(dst, r.doc[:last]...)
	} else {
		dst = append(dst, r.doc[:r.metaStart]...)
		dst = r.meta.append(dst, r.doc[r.metaStart:r.metaEnd], info)
		dst = append(dst, r.doc[r.metaEnd:last]...)
	}
	if last > 1 {
		dst = append(dst, ',')
	}
	if !r.hasType {
		dst = append(dst, `"resultType":"complete",`...)
	}
	if hint != nil && !r.hasTTL {
		dst = append(appendTTL(dst, *hint), ',')
	}
	if hint != nil && !r.hasScope {
		dst = append(appendScope(dst, *hint), ',')
	}
	if r.metaEnd == 0 {
		dst = append(appendServerInfo(append(dst, `"_meta":{`...), info), '}', ',')
	}
	dst[len(dst)-1] = '}'
	return dst
}

// downgraded returns the document for a client that may not know all of its content
// types. Almost always, that is the document itself.
func (r *Raw) downgraded(v Version) []byte {
	if !bytes.Contains(r.doc, []byte(`"resource_link"`)) &&
		(v >= Version20250326 || !bytes.Contains(r.doc, []byte(`"audio"`))) {
		return r.doc
	}
	var w struct {
		Content     []Content       `json:"content"`
		IsError     bool            `json:"isError"`
		Description string          `json:"description"`
		Messages    []PromptMessage `json:"messages"`
	}
	if json.Unmarshal(r.doc, &w) != nil {
		return r.doc
	}
	var typed Result
	switch {
	case w.Content != nil:
		typed = &CallToolResult{
			Content: w.Content,
			IsError: w.IsError,
		}
	case w.Messages != nil:
		typed = &GetPromptResult{
			Description: w.Description,
			Messages:    w.Messages,
		}
	default:
		return r.doc
	}
	doc, err := typed.members([]byte{'{'}, Form{Version: v})
	if err != nil {
		return r.doc
	}
	return append(doc, '}')
}

// Bytes returns the document. The slice must not be modified.
func (r *Raw) Bytes() json.RawMessage { return r.doc }

// MarshalJSON implements json.Marshaler.
func (r *Raw) MarshalJSON() ([]byte, error) { return r.doc, nil }

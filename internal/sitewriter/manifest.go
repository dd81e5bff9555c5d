package sitewriter

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/packs"
	"github.com/slipway-mcp/slipway/mcp"
)

// manifest writes mcp.json to the spool, entry by entry.
func (w *writer) manifest(ctx context.Context) error {
	m := &manifestWriter{
		w:   w,
		sum: sha256.New(),
		at:  w.spool.size,
	}
	server := w.site.Server
	server.Version = cmp.Or(server.Version, "1.0.0")
	m.open()
	m.member("protocolVersion",
		cmp.Or(w.site.ProtocolVersion, mcp.LatestLegacyVersion.String()))
	m.member("serverInfo", server)
	if w.site.Instructions != "" {
		m.member("instructions", w.site.Instructions)
	}
	m.name("capabilities")
	m.open()
	m.resources(ctx)
	if len(w.site.Templates) > 0 {
		list(m, "resourceTemplates", w.site.Templates)
	}
	m.tools()
	prompts := slices.DeleteFunc(slices.Clone(w.site.Prompts),
		func(p mcp.Prompt) bool { return w.omitted("", p.Name, "") })
	if len(prompts) > 0 {
		list(m, "prompts", prompts)
	}
	if w.site.Extensions != nil {
		m.member("extensions", w.site.Extensions)
	}
	m.close()
	if w.table != nil {
		table, err := w.table.Encode()
		m.err = cmp.Or(m.err, err)
		m.name("_meta")
		m.open()
		m.member(packs.MetaName, json.RawMessage(table))
		m.close()
	}
	m.close()
	m.text("\n")
	if m.err != nil {
		return m.err
	}
	f := file{
		path: manifestName,
		at:   m.at,
		size: w.spool.size - m.at,
	}
	m.sum.Sum(f.sum[:0])
	w.files = append(w.files, f)
	return nil
}

// manifestWriter writes indented JSON. After an error, it writes nothing more.
type manifestWriter struct {
	// w receives the text, which is written member by member because a manifest can be
	// larger than memory.
	w     *writer
	sum   hash.Hash
	at    int64
	depth int
	begun bool // the open object or array has a member
	err   error
}

func (m *manifestWriter) text(s string) { m.bytes([]byte(s)) }

func (m *manifestWriter) bytes(data []byte) {
	if m.err == nil {
		m.sum.Write(data)
		_, m.err = m.w.spool.write(data)
	}
}

func (m *manifestWriter) line() {
	if !m.w.opts.Compact {
		m.text("\n" + strings.Repeat("  ", m.depth))
	}
}

func (m *manifestWriter) open() {
	m.text("{")
	m.depth++
	m.begun = false
}

func (m *manifestWriter) close() {
	m.depth--
	m.line()
	m.text("}")
	m.begun = true
}

// next starts another member or element.
func (m *manifestWriter) next() {
	if m.begun {
		m.text(",")
	}
	m.begun = true
	m.line()
}

// name writes the name of a member.
func (m *manifestWriter) name(name string) {
	m.next()
	m.bytes(quote(name))
	if m.w.opts.Compact {
		m.text(":")
	} else {
		m.text(": ")
	}
}

func (m *manifestWriter) member(name string, value any) {
	m.name(name)
	m.value(value)
}

// value writes a value with the indentation of its place.
func (m *manifestWriter) value(value any) {
	raw, err := mcp.Marshal(value)
	if err == nil && jsonscan.Valid(raw) != nil {
		err = errors.New("not valid JSON")
	}
	if err != nil {
		m.err = cmp.Or(m.err, fmt.Errorf("encode the manifest: %w", err))
		return
	}
	var b bytes.Buffer
	if m.w.opts.Compact {
		err = json.Compact(&b, raw)
	} else {
		err = json.Indent(&b, raw, strings.Repeat("  ", m.depth), "  ")
	}
	if err != nil {
		m.err = cmp.Or(m.err, err)
		return
	}
	m.bytes(b.Bytes())
}

// array writes a list; each calls element for every entry.
func (m *manifestWriter) array(name string, each func(element func(any))) {
	m.name(name)
	m.text("[")
	m.depth++
	m.begun = false
	each(func(value any) {
		m.next()
		m.value(value)
	})
	m.depth--
	if m.begun {
		m.line()
	}
	m.text("]")
	m.begun = true
}

func list[T any](m *manifestWriter, name string, entries []T) {
	m.array(name, func(element func(any)) {
		for i := range entries {
			element(&entries[i])
		}
	})
}

// tools writes the definitions. Reading a stored answer never changes anything, so tools
// without annotations get annotations that say so.
func (m *manifestWriter) tools() {
	m.array("tools", func(element func(any)) {
		for i := range m.w.site.Tools {
			t := m.w.site.Tools[i]
			if m.w.omitted(t.Name, "", "") && !m.w.searched(&t) {
				continue
			}
			if t.Raw == nil && t.Annotations == nil {
				no := false
				t.Annotations = &mcp.ToolAnnotations{
					ReadOnlyHint:    true,
					DestructiveHint: &no,
					IdempotentHint:  true,
					OpenWorldHint:   &no,
				}
			}
			element(t)
		}
	})
}

// resources writes the definitions and reports URIs that are listed twice.
func (m *manifestWriter) resources(ctx context.Context) {
	seen := make(map[[16]byte]bool)
	m.array("resources", func(element func(any)) {
		if m.w.site.Resources == nil {
			return
		}
		for r, err := range m.w.site.Resources {
			if err := errors.Join(err, ctx.Err()); err != nil {
				m.err = cmp.Or(m.err, err)
				return
			}
			if m.w.omitted("", "", r.URI) {
				continue
			}
			key := nameSum("", "", r.URI)
			if seen[key] {
				m.w.in("").Add(ruleDuplicateURI, "", "",
					"the resource %s is listed twice", r.URI)
			}
			seen[key] = true
			if r.Raw == nil {
				copied := *r
				copied.Name = cmp.Or(r.Name, r.URI)
				copied.Description = cmp.Or(r.Description, r.Title, copied.Name)
				copied.MIMEType = cmp.Or(r.MIMEType, "text/plain")
				r = &copied
			}
			element(*r)
		}
	})
}

// precompress adds a compressed copy of each file.
func (w *writer) precompress(ctx context.Context) error {
	if len(w.opts.Precompress) == 0 {
		return nil
	}
	plain := len(w.files)
	for i := range plain {
		if err := ctx.Err(); err != nil {
			return err
		}
		f := w.files[i]
		if f.size < minCompressed {
			continue
		}
		data, err := w.spool.read(f.at, f.size)
		if err != nil {
			return err
		}
		w.scratch.Reset()
		z, err := gzip.NewWriterLevel(&w.scratch, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := z.Write(data); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		if err := w.keep(file{path: f.path + ".gz"}, w.scratch.Bytes(), nil); err != nil {
			return err
		}
	}
	return nil
}

// minCompressed is the file size below which compression would not save a network packet.
const minCompressed = 1 << 10

package router

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/mcp"
)

// DefaultMaxReadBytes is the default of [Options.MaxReadBytes]: 16 MiB.
const DefaultMaxReadBytes = 16 << 20

// reader turns the return values of a function into the contents of a resource.
type reader struct {
	name, title, mimeType string
	// limit is the largest number of bytes that are read from a file or an io.Reader.
	limit int64
	cache mcp.CacheHint
	node  *node
	// form makes the contents from a return value. It is chosen once, by the type. node encodes
	// values that become JSON, and is nil for the others.
	form func(r *reader, uri string, v reflect.Value) (*mcp.ReadResourceResult, error)
}

// The result types that a resource may return besides text, bytes and values.
var (
	typeReader       = reflect.TypeFor[io.Reader]()
	typeRead         = reflect.TypeFor[*mcp.ReadResourceResult]()
	typeContentsItem = reflect.TypeFor[mcp.ResourceContents]()
	typeContentsList = reflect.TypeFor[[]mcp.ResourceContents]()
)

// newReader compiles the output type of a resource and determines its MIME type.
func (f *feature) newReader(t reflect.Type, b *builder) *reader {
	r := &reader{
		name:  f.name,
		title: f.title,
		limit: cmp.Or(max(b.routerOptions().MaxReadBytes, 0), DefaultMaxReadBytes),
		cache: f.cache,
	}
	mimeType := ""
	switch {
	case t == typeContentsItem, t == typeContentsList, t == typeRead:
		r.form = readAsIs
	case isPlainText(t):
		r.form = readText
		mimeType = "text/plain"
	case t == typeBytes:
		r.form = readBytes
		mimeType = "application/octet-stream"
	case t.Implements(typeReader):
		r.form = readAll
		mimeType = "application/octet-stream"
	default:
		r.form = readJSON
		mimeType = "application/json"
		r.node = f.outputNode(t)
	}
	f.mimeType = cmp.Or(f.mimeType, mimeType)
	r.mimeType = f.mimeType
	return r
}

// result returns the contents of the resource at uri for a function's return value.
func (r *reader) result(uri string, v reflect.Value) (*mcp.ReadResourceResult, error) {
	return r.form(r, uri, v)
}

// one returns a result with one item and the cache hint of the resource.
func (r *reader) one(c mcp.ResourceContents) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{
		Contents: []mcp.ResourceContents{c},
		Cache:    r.cache,
	}
}

// empty returns an item without text or data.
func (r *reader) empty(uri string) mcp.ResourceContents {
	return mcp.ResourceContents{
		Name:     r.name,
		Title:    r.title,
		URI:      uri,
		MIMEType: r.mimeType,
	}
}

// readText is a form for strings.
func readText(r *reader, uri string, v reflect.Value) (*mcp.ReadResourceResult, error) {
	c := r.empty(uri)
	c.Text = v.String()
	return r.one(c), nil
}

// readBytes is a form for []byte. Bytes that are UTF-8 and have a text type become text.
func readBytes(r *reader, uri string, v reflect.Value) (*mcp.ReadResourceResult, error) {
	return r.one(r.data(uri, v.Bytes())), nil
}

// data returns text contents if the MIME type is textual, otherwise a blob.
func (r *reader) data(uri string, data []byte) mcp.ResourceContents {
	c := r.empty(uri)
	if isText(c.MIMEType) && utf8.Valid(data) {
		c.Text = string(data)
		return c
	}
	c.Blob = data
	if c.Blob == nil {
		c.Blob = []byte{}
	}
	return c
}

// isText reports whether data of a MIME type is text.
func isText(mimeType string) bool {
	media, _, _ := strings.Cut(mimeType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	switch media {
	case "application/json", "application/xml", "application/yaml", "application/toml", "application/javascript",
		"image/svg+xml":
		return true
	}
	return strings.HasPrefix(media, "text/") ||
		strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml")
}

// readAll reads an io.Reader, and closes it if it can be closed. A nil reader means that
// the resource does not exist.
func readAll(r *reader, uri string, v reflect.Value) (*mcp.ReadResourceResult, error) {
	k := v.Kind()
	if (k == reflect.Interface || k == reflect.Pointer) && v.IsNil() {
		return nil, mcp.ResourceNotFound(uri, "")
	}
	source := v.Interface().(io.Reader)
	if closer, ok := source.(io.Closer); ok {
		defer closer.Close()
	}
	data, err := r.limited(source)
	if err != nil {
		return nil, err
	}
	return r.one(r.data(uri, data)), nil
}

// limited reads one byte more than the limit, to tell a larger file from one of exactly
// that size.
func (r *reader) limited(source io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(source, r.limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > r.limit {
		return nil, mcp.Errorf(mcp.CodeResourceTooLarge,
			"the resource is larger than %d bytes", r.limit)
	}
	return data, nil
}

// readJSON is a form for all other values.
func readJSON(r *reader, uri string, v reflect.Value) (*mcp.ReadResourceResult, error) {
	encoded, err := r.node.append(nil, v)
	if err != nil {
		return nil, err
	}
	c := r.empty(uri)
	c.Text = string(encoded)
	return r.one(c), nil
}

// readAsIs returns what a function built itself, and fills in what it omitted from single
// contents.
func readAsIs(r *reader, uri string, v reflect.Value) (*mcp.ReadResourceResult, error) {
	switch value := v.Interface().(type) {
	case mcp.ResourceContents:
		return r.completed(uri, []mcp.ResourceContents{value}), nil
	case []mcp.ResourceContents:
		return r.completed(uri, value), nil
	default:
		return value.(*mcp.ReadResourceResult), nil
	}
}

// completed fills in missing URIs and MIME types.
func (r *reader) completed(uri string, given []mcp.ResourceContents) *mcp.ReadResourceResult {
	contents := make([]mcp.ResourceContents, len(given))
	for i, c := range given {
		if c.URI == "" {
			c.URI = uri
		}
		if c.MIMEType == "" {
			c.MIMEType = r.mimeType
		}
		contents[i] = c
	}
	return &mcp.ReadResourceResult{
		Contents: contents,
		Cache:    r.cache,
	}
}

// file reads a file of a folder.
func (r *reader) file(uri string, fsys fs.FS, name string) (*mcp.ReadResourceResult, error) {
	if !fs.ValidPath(name) || name == "." {
		return nil, mcp.ResourceNotFound(uri, "")
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fileError(uri, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fileError(uri, err)
	}
	if !info.Mode().IsRegular() {
		return nil, mcp.ResourceNotFound(uri, "")
	}
	data, err := r.limited(f)
	if err != nil {
		return nil, err
	}
	own := *r
	own.name = path.Base(name)
	if own.mimeType == "" {
		own.mimeType = mimeTypeOf(name, data)
	}
	return r.one(own.data(uri, data)), nil
}

// fileError returns an error that hides the server's paths from clients.
func fileError(uri string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
		return mcp.ResourceNotFound(uri, "")
	case errors.Is(err, fs.ErrPermission):
		return &mcp.Error{
			Code:    mcp.CodeResourceDenied,
			Message: "the file may not be read",
			Cause:   err,
		}
	}
	return fmt.Errorf("open %s: %w", uri, err)
}

// mimeTypes are the MIME types of files by extension. Unlike the system's table, it is the
// same on every machine.
var mimeTypes = map[string]string{
	".css":      "text/css",
	".csv":      "text/csv",
	".gif":      "image/gif",
	".htm":      "text/html",
	".html":     "text/html",
	".jpeg":     "image/jpeg",
	".jpg":      "image/jpeg",
	".js":       "text/javascript",
	".json":     "application/json",
	".markdown": "text/markdown",
	".md":       "text/markdown",
	".mjs":      "text/javascript",
	".mp3":      "audio/mpeg",
	".pdf":      "application/pdf",
	".png":      "image/png",
	".svg":      "image/svg+xml",
	".toml":     "application/toml",
	".wav":      "audio/wav",
	".webp":     "image/webp",
	".xml":      "application/xml",
	".yaml":     "application/yaml",
	".yml":      "application/yaml",
	".zip":      "application/zip",
}

// mimeTypeOf returns the MIME type of a file by its extension or, if that is unknown, its
// contents.
func mimeTypeOf(name string, data []byte) string {
	if known := mimeTypes[strings.ToLower(path.Ext(name))]; known != "" {
		return known
	}
	if utf8.Valid(data) && !bytes.ContainsRune(data, 0) {
		return "text/plain"
	}
	return "application/octet-stream"
}

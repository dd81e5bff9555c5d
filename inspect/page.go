package inspect

import (
	"bytes"
	"compress/gzip"
	"embed"
	"html"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed dist
var dist embed.FS

// pageFiles are the files of the page by name, compressed if they are smaller that way.
type pageFiles struct {
	// files are by path; index is the page itself, before its settings are inserted.
	files map[string]*pageFile
	index string
}

// pageFile is an embedded file of the page.
type pageFile struct {
	// kind is the Content-Type, and plain the file uncompressed.
	kind   string
	plain  []byte
	packed []byte // with gzip, or nil
}

// newPageFiles reads the embedded files, most of which exist plain and compressed.
func newPageFiles() *pageFiles {
	p := &pageFiles{files: make(map[string]*pageFile)}
	_ = fs.WalkDir(dist, "dist", func(name string, d fs.DirEntry, _ error) error {
		if d.IsDir() {
			return nil
		}
		text, _ := dist.ReadFile(name) // it is embedded
		name, packed := strings.CutSuffix(strings.TrimPrefix(name, "dist/"), ".gz")
		f := p.files[name]
		if f == nil {
			f = &pageFile{kind: mime.TypeByExtension(path.Ext(name))}
			p.files[name] = f
		}
		if packed {
			f.packed = text
		} else {
			f.plain = text
		}
		return nil
	})
	for _, f := range p.files {
		if f.plain == nil {
			f.plain = unpack(f.packed)
		}
	}
	if f := p.files["index.html"]; f != nil {
		p.index = string(f.plain)
	}
	return p
}

// unpack returns the text of an embedded file, which is compressed with gzip.
func unpack(packed []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil
	}
	text, _ := io.ReadAll(r) // it is embedded, and tested
	return text
}

// serve serves a file, or the page itself for any other path: the page reads its state
// from its address.
func (p *pageFiles) serve(w http.ResponseWriter, r *http.Request, boot *bootData) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeFailure(w, failure(http.StatusMethodNotAllowed, "method", "%s is not allowed: use GET", r.Method))
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	f := p.files[name]
	if f == nil || name == "index.html" {
		p.serveIndex(w, r, boot)
		return
	}
	w.Header().Set("Content-Type", f.kind)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Vary", "Accept-Encoding")
	if f.packed != nil && acceptsGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(f.packed) // on failure, the client has gone
		return
	}
	_, _ = w.Write(f.plain)
}

func acceptsGzip(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
}

// bootData is what the page knows before its first request.
type bootData struct {
	// Base is the path of the page, with a slash at both ends.
	Base    string       `json:"base"`
	By      string       `json:"by,omitempty"`
	Auth    string       `json:"auth"` // token or none
	Sources []bootSource `json:"sources"`
}

// bootSource is a source in the data that the page starts with.
type bootSource struct {
	// ID is the number of the source in all other requests.
	ID    int    `json:"id"`
	Name  string `json:"name"`
	Label string `json:"label"`
}

// serveIndex serves the page. Its boot data is inside, so the page shows the sources without
// another request.
func (p *pageFiles) serveIndex(w http.ResponseWriter, r *http.Request, boot *bootData) {
	text := strings.ReplaceAll(p.index, "__BASE__", html.EscapeString(boot.Base))
	text = strings.Replace(text, "__BOOT__", html.EscapeString(string(mustJSON(boot))), 1)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Vary", "Accept-Encoding")
	if !acceptsGzip(r) {
		_, _ = io.WriteString(w, text) // on failure, the client has gone
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	packer := gzip.NewWriter(w)
	_, _ = io.WriteString(packer, text)
	_ = packer.Close()
}

// boot returns the settings that are part of the page, so that it needs no request before
// it shows something.
func (in *Inspector) boot() *bootData {
	b := &bootData{
		Base: "/" + strings.Trim(in.opts.Base, "/") + "/",
		By:   in.opts.By,
		Auth: "token",
	}
	b.Base = strings.Replace(b.Base, "//", "/", 1)
	if in.guard.open {
		b.Auth = "none"
	}
	for _, t := range in.all() {
		b.Sources = append(b.Sources, bootSource{t.id, t.src.Name, t.src.Label})
	}
	return b
}

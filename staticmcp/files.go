package staticmcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/packs"
	"github.com/slipway-mcp/slipway/internal/search"
)

// storedFile is a file of the site as stored.
type storedFile struct {
	// data is the whole file; etag is derived from it, so that it is equal on all
	// machines.
	data    []byte
	etag    string
	modTime time.Time
}

// FileHandler returns a handler for the unmodified files of the site, so that one address
// can be both an MCP endpoint and a StaticMCP site for other readers: mcp.json, the files
// in resources/, tools/, prompts/ and completions/, and the search index. No other files
// are served, and folders are not listed.
//
// Responses have an ETag derived from the content and a Cache-Control with
// [Options.MaxAge]; any web page may read them. Mount the handler with [http.StripPrefix]
// under any path. It works until the Site is closed.
func (s *Site) FileHandler() http.Handler {
	return http.HandlerFunc(s.serveFile)
}

// serveFile serves a file of the site to browsers and other readers of StaticMCP, from any
// origin.
func (s *Site) serveFile(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("X-Content-Type-Options", "nosniff")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
		h.Set("Access-Control-Allow-Headers", "If-None-Match, If-Modified-Since, Range")
		h.Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		h.Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/")
	if !isPublic(path) {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	f, err := s.file(r.Context(), path)
	if err != nil {
		s.serveFailure(w, r, path, err)
		return
	}
	h.Set("Access-Control-Expose-Headers", "ETag")
	h.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(s.opts.MaxAge/time.Second)))
	h.Set("Content-Type", "application/json")
	h.Set("ETag", f.etag)
	http.ServeContent(w, r, "", f.modTime, bytes.NewReader(f.data))
}

// serveFailure answers a request for a file that cannot be served, without the path on
// this machine.
func (s *Site) serveFailure(w http.ResponseWriter, r *http.Request, path string, err error) {
	switch {
	case r.Context().Err() != nil:
		return // the client has disconnected
	case errors.Is(err, site.ErrMissing):
		http.Error(w, "not found", http.StatusNotFound)
	case isUnavailable(err):
		w.Header().Set("Retry-After", "5")
		http.Error(w, "not available now", http.StatusServiceUnavailable)
	default:
		s.opts.Logger.Error("a file of the site cannot be served", "path", path, "error", err)
		http.Error(w, "cannot be read", http.StatusInternalServerError)
	}
}

// isPublic reports whether path is that of a file that belongs to a site.
func isPublic(path string) bool {
	if path == site.ManifestName {
		return true
	}
	if strings.HasPrefix(path, search.Dir+"/") {
		return strings.HasSuffix(path, site.Extension) && site.IsSafePath(path)
	}
	return site.IsAnswerFile(path)
}

// file returns the file at path.
func (s *Site) file(ctx context.Context, path string) (*storedFile, error) {
	key := "\x00file\x00" + path
	i := lookup(s.cache, key)
	if i == nil || !i.fresh(time.Now()) {
		limit := s.opts.MaxFileBytes
		if path == site.ManifestName {
			limit = s.opts.MaxManifestBytes
		}
		var err error
		if i, err = s.load(ctx, key, path, limit, asFile); err != nil {
			return nil, err
		}
	}
	if f, ok := i.value.(*storedFile); ok {
		return f, nil
	}
	return nil, site.ErrMissing
}

// asFile is the form in which files that are served themselves are cached.
func asFile(path string, loaded *site.File) (any, int64, error) {
	data := loaded.Data
	if path == site.ManifestName {
		data = withoutPacks(data)
	}
	sum := sha256.Sum256(data)
	return &storedFile{
		data:    data,
		etag:    `"` + hex.EncodeToString(sum[:16]) + `"`,
		modTime: loaded.Stamp.ModTime,
	}, int64(len(data)), nil
}

// withoutPacks returns a manifest in which the table of packs is null. Answers are served one
// by one, under the rules for their tools, and packs are not served.
func withoutPacks(manifest []byte) []byte {
	table := jsonscan.Member(jsonscan.Member(manifest, "_meta"), packs.MetaName)
	if table == nil {
		return manifest
	}
	before, after, _ := bytes.Cut(manifest, table)
	return slices.Concat(before, []byte("null"), after)
}

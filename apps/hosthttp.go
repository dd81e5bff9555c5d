package apps

import (
	"crypto/sha256"
	_ "embed" // for the script
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/slipway-mcp/slipway/internal/mediatype"
	"github.com/slipway-mcp/slipway/mcp"
)

//go:embed proxy.js
var proxyScript string

//go:embed checker.js
var checkerScript string

// proxyHash and checkerHash are the sources of scripts in policies.
var (
	proxyHash   = scriptHash(proxyScript)
	checkerHash = scriptHash(checkerScript)
)

func scriptHash(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Owns reports whether r is for a document or its proxy page.
func (h *Host) Owns(r *http.Request) bool {
	return ownName(hostName(r)) || strings.HasPrefix(r.URL.Path, fallbackPath)
}

func ownName(name string) bool {
	label, ok := strings.CutSuffix(name, ".localhost")
	return ok && (strings.HasPrefix(label, "proxy-") || strings.HasPrefix(label, "app-"))
}

// hostName returns the Host header without its port, in lower case.
func hostName(r *http.Request) string {
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		name = r.Host
	}
	return strings.ToLower(strings.Trim(name, "[]"))
}

// maxReport limits a violation report in bytes.
const maxReport = 64 << 10

// ServeHTTP serves proxy pages and documents, and receives violation reports. It answers
// 421 to requests with another Host header, and 404 for closed views.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	name := hostName(r)
	isFallback := !ownName(name)
	if isFallback {
		path = strings.TrimPrefix(r.URL.Path, fallbackPath)
	}
	id, rest, _ := strings.Cut(path, "/")
	v := h.View(id)
	origin := "http://" + strings.ToLower(r.Host)
	switch {
	case v == nil:
		http.NotFound(w, r)
	case isFallback && name != v.fallback, !isFallback && !v.servedAt(origin):
		http.Error(w, "this address does not serve the document", http.StatusMisdirectedRequest)
	case rest == "report":
		v.receiveReport(w, r)
	case rest != "" && (isFallback || !v.checks(rest)):
		http.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	case isFallback:
		v.serveFallback(w)
	case rest != "":
		v.serveChecker(w, rest)
	case strings.HasPrefix(name, "proxy-"):
		v.serveProxy(w)
	default:
		v.serveDocument(w)
	}
}

// servedAt reports whether origin, whatever its scheme, is one of v.
func (v *View) servedAt(origin string) bool {
	_, host, _ := strings.Cut(origin, "://")
	for _, own := range []string{v.proxy, v.app} {
		if _, name, _ := strings.Cut(own, "://"); name == host {
			return true
		}
	}
	return false
}

// setHeaders sets the headers of every page that is served.
func setHeaders(h http.Header, policy, permissions string) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Permissions-Policy", permissions)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// serveDocument serves the document itself. frame-ancestors must name every ancestor: with
// the proxy alone, browsers refuse to show it.
func (v *View) serveDocument(w http.ResponseWriter) {
	policy := v.Policy + "; frame-ancestors " + v.proxy + " " + v.page + "; report-uri /" + v.ID + "/report"
	setHeaders(w.Header(), policy, v.Grant.Permissions.Header())
	w.Header().Set("Origin-Agent-Cluster", "?1")
	io.WriteString(w, v.html)
}

// The paths of the accessibility check below that of the document.
const (
	checkerPage = "check"
	axePath     = "axe.js"
)

// checks reports whether a path belongs to the accessibility check.
func (v *View) checks(path string) bool {
	return v.host.opts.Axe != "" && (path == checkerPage || path == axePath)
}

// serveChecker serves the page that runs axe-core in the document, or axe-core itself. Both
// have the document's origin, where the document could do the same.
func (v *View) serveChecker(w http.ResponseWriter, path string) {
	policy := "default-src 'none'; script-src " + checkerHash + "; frame-ancestors " + v.proxy + " " + v.page
	setHeaders(w.Header(), policy, v.Grant.Permissions.Header())
	w.Header().Set("Origin-Agent-Cluster", "?1")
	if path == axePath {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		io.WriteString(w, v.host.opts.Axe)
		return
	}
	io.WriteString(w, "<!doctype html><meta charset=utf-8><title>Accessibility check</title>"+
		`<script data-script="/`+v.ID+"/"+axePath+`">`+checkerScript+"</script>")
}

// proxyConfig is what proxy.js reads.
type proxyConfig struct {
	Page    string `json:"page"`           // origin of the page
	App     string `json:"app"`            // origin of the document
	URL     string `json:"url,omitempty"`  // of the document
	HTML    string `json:"html,omitempty"` // the document itself, if it has no URL
	Allow   string `json:"allow"`
	Sandbox string `json:"sandbox"`
}

// serveProxy serves the proxy page. Its frame-src is what keeps the document from
// navigating its frame to another address, which connect-src does not prevent.
func (v *View) serveProxy(w http.ResponseWriter) {
	policy := "default-src 'none'; script-src " + proxyHash + "; style-src 'unsafe-inline'; frame-src " + v.app +
		"; base-uri 'none'; form-action 'none'; frame-ancestors " + v.page + "; report-uri /" + v.ID + "/report"
	setHeaders(w.Header(), policy, v.Grant.Permissions.header(`self "`+v.app+`"`))
	v.writeProxy(w, proxyConfig{
		Page:    v.page,
		App:     v.app,
		URL:     v.appURL,
		Allow:   v.Allow,
		Sandbox: "allow-scripts allow-same-origin allow-forms",
	})
}

// serveFallback serves a proxy page with the document in a srcdoc frame. Such a frame
// inherits the policy of its parent, so the proxy page itself has that of the document. Its
// origin is opaque: the document has no storage, and nothing is its own origin.
func (v *View) serveFallback(w http.ResponseWriter) {
	policy := v.Grant.policy("") + "; frame-ancestors " + v.page + "; report-uri " + fallbackPath + v.ID + "/report"
	setHeaders(w.Header(), policy, v.Grant.Permissions.header("*"))
	v.writeProxy(w, proxyConfig{
		Page:    v.page,
		App:     "null",
		HTML:    v.html,
		Allow:   v.Allow,
		Sandbox: "allow-scripts allow-forms",
	})
}

// writeProxy serves the page between ours and the document's. It has an origin of its own,
// so that neither can reach into the other. Its body begins before the script: an answer may
// arrive before the page is parsed to its end, and the script appends the frame to the body.
func (v *View) writeProxy(w http.ResponseWriter, config proxyConfig) {
	text, err := json.Marshal(config) // escapes "<", so the data cannot end its element
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	io.WriteString(w, "<!doctype html><meta charset=utf-8><title>MCP App</title>"+
		"<style>html,body,iframe{margin:0;border:0;padding:0;width:100%;height:100%;display:block;overflow:hidden}"+
		"html{color-scheme:light dark;background:transparent}</style>"+
		`<body><script type="application/json" id="config">`)
	w.Write(text)
	io.WriteString(w, "</script><script>"+proxyScript+"</script>")
}

// receiveReport takes a report of the browser.
func (v *View) receiveReport(w http.ResponseWriter, r *http.Request) {
	media := mediatype.Of(r.Header.Get("Content-Type"))
	if r.Method != http.MethodPost || media != "application/csp-report" {
		http.Error(w, "not a violation report", http.StatusBadRequest)
		return
	}
	var report struct {
		Violation struct {
			Directive string `json:"effective-directive"`
			Blocked   string `json:"blocked-uri"`
			File      string `json:"source-file"`
			Line      int    `json:"line-number"`
			Column    int    `json:"column-number"`
			Sample    string `json:"script-sample"`
		} `json:"csp-report"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxReport)).Decode(&report); err != nil {
		http.Error(w, "not a violation report", http.StatusBadRequest)
		return
	}
	is := report.Violation
	v.report(Violation{
		Directive: clip(is.Directive),
		Blocked:   clip(is.Blocked),
		File:      clip(is.File),
		Line:      is.Line,
		Column:    is.Column,
		Sample:    clip(is.Sample),
	})
	w.WriteHeader(http.StatusNoContent)
}

// maxRequest limits a request of a document in bytes.
const maxRequest = 16 << 20

// ServeHTTP answers one request of the document, for the page to call: a POST of a JSON
// object with method and params. The answer has result or error, and status 200. The
// caller authenticates the page.
func (v *View) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	var request struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&request); err != nil {
		http.Error(w, "not a request: "+err.Error(), http.StatusBadRequest)
		return
	}
	var answer struct {
		Result json.RawMessage `json:"result,omitempty"`
		Error  *mcp.Error      `json:"error,omitempty"`
	}
	result, err := v.Call(r.Context(), request.Method, request.Params)
	if err != nil {
		answer.Error = asError(err)
	} else {
		answer.Result = result
	}
	text, err := mcp.Marshal(answer)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(text)
}

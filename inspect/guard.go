package inspect

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// NewToken returns a random token of 256 bits, for [Options.Token].
func NewToken() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails
	return base64.RawURLEncoding.EncodeToString(secret)
}

// guard decides who may use the handler.
type guard struct {
	// token is the hash of the secret in the page's address, so that comparing takes the
	// same time for every guess.
	token [sha256.Size]byte
	open  bool // there is no token
	// hosts are the accepted values of Host, which keeps pages of other sites from
	// reaching this one (DNS rebinding).
	hosts []string
}

// newGuard returns the guard of a page. With a token, the page has only local names unless the
// options list others: a DNS name that resolves to this machine must not reach it.
func newGuard(opts *Options) *guard {
	g := &guard{
		token: sha256.Sum256([]byte(opts.Token)),
		open:  opts.Token == "",
		hosts: opts.Hosts,
	}
	if g.hosts == nil && !g.open {
		g.hosts = []string{"localhost", "127.0.0.1", "::1"}
	}
	return g
}

// policy is the Content-Security-Policy of the page, with the port of the origins of user
// interfaces.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"media-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'; " +
	"frame-src http://*.localhost%[1]s http://localhost%[1]s http://127.0.0.1%[1]s"

// setHeaders sets the header fields that restrict the page. The policy names the port, because
// frames of MCP Apps come from other names at the same port.
func (g *guard) setHeaders(h http.Header, host string) {
	port := ""
	_, number, err := net.SplitHostPort(host)
	if err == nil && isNumber(number) {
		port = ":" + number
	}
	h.Set("Content-Security-Policy", fmt.Sprintf(policy, port))
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "display-capture=(), usb=(), serial=(), hid=(), payment=()")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// isNumber reports whether a text is a number, so that it can be part of a policy.
func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// isAPI reports whether a path belongs to the API.
func isAPI(path string) bool { return path == "/api" || strings.HasPrefix(path, "/api/") }

// check returns why a request is refused, or nil.
func (g *guard) check(r *http.Request) *Failure {
	if !g.knowsHost(r.Host) {
		f := failure(http.StatusMisdirectedRequest, "host", "host name %q is not allowed", hostOf(r.Host))
		f.Hint = "open the address that slipway inspect printed, or start it with --host NAME"
		return f
	}
	if !isAPI(r.URL.Path) {
		return nil
	}
	if !ownOrigin(r) {
		return failure(http.StatusForbidden, "origin", "the request comes from another page")
	}
	if g.open {
		return nil
	}
	return g.checkToken(r.Header.Get("Authorization"))
}

// knowsHost reports whether the field Host is one of the allowed names, which prevents DNS
// rebinding.
func (g *guard) knowsHost(host string) bool {
	return g.hosts == nil || slices.Contains(g.hosts, hostOf(host))
}

// hostOf returns the name in a Host header.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// ownOrigin reports whether a request was made by the page, or by no page at all.
func ownOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host == r.Host
}

// checkToken compares a token in constant time. Wrong ones are not counted: 256 bits cannot be guessed, and refusing
// the right one for a while would let a page of another origin lock the user out.
func (g *guard) checkToken(header string) *Failure {
	sent, isBearer := strings.CutPrefix(header, "Bearer ")
	hash := sha256.Sum256([]byte(sent))
	if isBearer && subtle.ConstantTimeCompare(hash[:], g.token[:]) == 1 {
		return nil
	}
	return &Failure{
		Text: "the token is missing or wrong",
		Hint: "open the address that slipway inspect printed",
		Code: "token",
		http: http.StatusUnauthorized,
	}
}

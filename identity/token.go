package identity

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/secrets"
)

// maxLifetime limits what expires_in may say, so that a wrong unit is no overflow.
const maxLifetime = 10 * 365 * 24 * time.Hour

// token is a successful answer of a token endpoint (RFC 6749, section 5.1).
type token struct {
	access  string
	refresh string // or empty
	// dpop reports that the token is bound to the key of its request.
	dpop bool
	// scopes are those granted; nil means the requested ones.
	scopes []string
	// lifetime is how long the token is valid; 0 means until it is refused.
	lifetime time.Duration
	// requested is when the request was sent: the lifetime begins later, and not earlier.
	requested time.Time
	// issuedType is the type of a token from an exchange, or empty.
	issuedType string
	// id is the ID token of OpenID Connect, or empty.
	id string
}

// tokenRequest asks a token endpoint for a token.
type tokenRequest struct {
	web      *web
	endpoint string
	// issuer is the audience of assertions.
	issuer string
	form   url.Values
	client *registration
	// methods are the authentication methods that the server supports.
	methods []string
	// proof, if not nil, binds the token to its key.
	proof *proofKey
	now   func() time.Time
}

// send makes the request. If the server demands a nonce in the proof, the request is sent
// again with it (RFC 9449, section 8).
func (r *tokenRequest) send(ctx context.Context) (*token, error) {
	for attempt := 0; ; attempt++ {
		form, header, err := r.authenticated()
		if err != nil {
			return nil, err
		}
		if r.proof != nil {
			proof, err := r.proof.prove(http.MethodPost, r.endpoint, "", r.now())
			if err != nil {
				return nil, err
			}
			header.Set("DPoP", proof)
		}
		requested := r.now()
		resp, text, err := r.web.post(ctx, r.endpoint, "application/x-www-form-urlencoded",
			[]byte(form.Encode()), header)
		if err != nil {
			return nil, err
		}
		if r.proof != nil {
			r.proof.remember(r.endpoint, resp.Header)
		}
		failure := serverError(resp, text)
		if resp.StatusCode == http.StatusOK && failure.Code == "" { // GitHub answers errors with 200
			t, err := parseToken(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", secrets.URL(r.endpoint), err)
			}
			t.requested = requested
			return t, nil
		}
		if r.proof != nil && attempt == 0 && failure.Code == "use_dpop_nonce" {
			continue
		}
		return nil, failure
	}
}

// authenticated returns the form and the headers with the credentials of the client.
func (r *tokenRequest) authenticated() (url.Values, http.Header, error) {
	form := url.Values{}
	for name, values := range r.form {
		form[name] = values
	}
	header := http.Header{}
	c := r.client
	switch c.method(r.methods) {
	case authBasic:
		// RFC 6749, section 2.3.1: both parts are form-encoded first.
		req := http.Request{Header: header}
		req.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(c.Secret))
	case authPost:
		form.Set("client_id", c.ID)
		form.Set("client_secret", c.Secret)
	case authKey:
		assertion, err := c.assertion(r.issuer, r.now())
		if err != nil {
			return nil, nil, err
		}
		form.Set("client_id", c.ID)
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	default:
		form.Set("client_id", c.ID)
	}
	return form, header, nil
}

// parseToken reads the answer of a token endpoint. Its values are secrets, so no error
// quotes them.
func parseToken(text []byte) (*token, error) {
	var answer struct {
		AccessToken  string          `json:"access_token"`
		TokenType    string          `json:"token_type"`
		RefreshToken string          `json:"refresh_token"`
		Scope        *string         `json:"scope"`
		ExpiresIn    json.RawMessage `json:"expires_in"`
		IssuedType   string          `json:"issued_token_type"`
		IDToken      string          `json:"id_token"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, errors.New("the token endpoint did not answer with a JSON object")
	}
	if !isToken(answer.AccessToken) {
		return nil, errors.New("the token endpoint answered without a usable access_token")
	}
	if answer.RefreshToken != "" && !isToken(answer.RefreshToken) {
		return nil, errors.New("the token endpoint answered with an unusable refresh_token")
	}
	t := &token{
		access:     answer.AccessToken,
		refresh:    answer.RefreshToken,
		issuedType: answer.IssuedType,
		lifetime:   lifetime(answer.ExpiresIn),
		id:         answer.IDToken,
	}
	if answer.Scope != nil {
		t.scopes = append([]string{}, splitScopes(*answer.Scope)...)
	}
	switch strings.ToLower(cmp.Or(answer.TokenType, "bearer")) {
	case "bearer":
	case "dpop":
		t.dpop = true
	case "n_a": // RFC 8693: not an access token
	default:
		return nil, fmt.Errorf("the token endpoint answered with a token of the type %q: want Bearer or DPoP",
			printable(answer.TokenType))
	}
	return t, nil
}

// isToken reports whether a token can be sent in a header.
func isToken(text string) bool {
	for i := range len(text) {
		if text[i] < '!' || text[i] > '~' {
			return false
		}
	}
	return text != "" && len(text) <= maxSecret
}

// lifetime reads expires_in, which some servers send as a string. 0 means unknown.
func lifetime(raw json.RawMessage) time.Duration {
	text := strings.Trim(string(raw), `"`)
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds > 0) {
		return 0
	}
	if seconds > maxLifetime.Seconds() {
		return maxLifetime
	}
	return time.Duration(seconds * float64(time.Second))
}

// serverError reads an error response.
func serverError(resp *http.Response, text []byte) *ServerError {
	var answer struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(text, &answer) // without JSON, the status remains
	host := ""
	if resp.Request != nil {
		host = resp.Request.URL.Host
	}
	return &ServerError{
		Host:        host,
		Status:      resp.StatusCode,
		Code:        printable(answer.Error),
		Description: printable(answer.Description),
	}
}

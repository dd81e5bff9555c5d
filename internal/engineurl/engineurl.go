// Package engineurl parses the URLs of cluster engines.
package engineurl

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Form describes the URLs of an engine.
type Form struct {
	// Plain and Secure are the schemes without and with TLS.
	Plain, Secure string
	// Port is the default port.
	Port string
	// Example is a URL without credentials, for messages.
	Example string
	// Parameters are permitted in addition to "name".
	Parameters []string
}

// Server is one URL.
type Server struct {
	// Host is host:port.
	Host string
	// Secure reports whether the scheme is the one with TLS.
	Secure bool
	// User is the name of the user, or "".
	User string
	// Path is the path without slashes at its ends.
	Path string
}

// maxURLs limits the servers of one engine.
const maxURLs = 16

// DefaultName is the name of a cluster whose URL has none.
const DefaultName = "slipway"

// Parse parses URLs separated by commas. Name is their parameter "name", which separates
// clusters that share an engine; parameters are the others, equal in all URLs. Errors do not
// contain the URLs, which may contain a password.
func (f *Form) Parse(urls string) (servers []Server, name string, parameters url.Values, err error) {
	parts := strings.Split(urls, ",")
	if len(parts) > maxURLs {
		return nil, "", nil, fmt.Errorf("%d URLs, want at most %d", len(parts), maxURLs)
	}
	for i, part := range parts {
		s, query, err := f.parse(strings.TrimSpace(part))
		if err != nil {
			return nil, "", nil, err
		}
		n := DefaultName
		if query.Has("name") {
			n = query.Get("name")
		}
		query.Del("name")
		if i == 0 {
			name, parameters = n, query
		}
		if n != name {
			return nil, "", nil, errors.New("the URLs differ in their name")
		}
		if query.Encode() != parameters.Encode() {
			return nil, "", nil, errors.New("the URLs differ in their parameters")
		}
		servers = append(servers, s)
	}
	return servers, name, parameters, nil
}

func (f *Form) parse(text string) (Server, url.Values, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Server{}, nil, fmt.Errorf("invalid URL, want %s", f.Example)
	}
	if u.Scheme != f.Plain && u.Scheme != f.Secure || u.Hostname() == "" {
		return Server{}, nil, fmt.Errorf("want %s, or %s:// with TLS", f.Example, f.Secure)
	}
	if _, ok := u.User.Password(); ok {
		return Server{}, nil, errors.New("the URL contains a password")
	}
	s := Server{
		Host:   u.Host,
		Secure: u.Scheme == f.Secure,
		User:   u.User.Username(),
		Path:   strings.Trim(u.Path, "/"),
	}
	if u.Port() == "" {
		s.Host = net.JoinHostPort(u.Hostname(), f.Port)
	}
	query := u.Query()
	for key, values := range query {
		switch {
		case key == "name" && len(values) == 1 && isName(values[0]):
		case key != "name" && len(values) == 1 && slices.Contains(f.Parameters, key):
		default:
			return Server{}, nil, f.wrongParameter()
		}
	}
	return s, query, nil
}

func (f *Form) wrongParameter() error {
	only := "the only parameter is name: up to 64 letters, digits, - and _"
	if len(f.Parameters) > 0 {
		only = "the only parameters are name, up to 64 letters, digits, - and _, and " + strings.Join(f.Parameters, ", ")
	}
	return errors.New(only)
}

func isName(s string) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

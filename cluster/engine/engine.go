// Package engine opens the engines that replicas share records through: NATS JetStream, and
// Redis or Valkey. It is apart from package cluster, so that programs without a cluster link
// neither of their drivers.
package engine

import (
	"crypto/tls"
	"errors"
	"strings"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/nats"
	"github.com/slipway-mcp/slipway/internal/redis"
)

// Engine is an engine that runs on other machines.
type Engine interface {
	cluster.Engine
	// Hosts returns the addresses of its servers, as host:port.
	Hosts() []string
}

// Options configure [Open]. Nil and the zero value use no secret and trust the roots of the system.
type Options struct {
	// Secret returns the password of the user in the URL. For NATS without a user, it returns a
	// token, the seed of an NKey, or the content of a credentials file (.creds), which differ in
	// their form; for Redis, the password of the default user. It is called for every
	// connection, so that a secret can change, but not its kind.
	Secret func() (string, error)
	// TLS configures connections to URLs with tls:// or rediss://.
	TLS *tls.Config
}

// Open returns the engine at one or more URLs, separated by commas, without connecting to it:
// nats:// or tls:// for NATS, redis:// or rediss:// for Redis or Valkey. The error says what is
// wrong with a URL; a URL with a password is refused. Close the engine after use.
func Open(urls string, opts *Options) (Engine, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	switch scheme, _, _ := strings.Cut(urls, "://"); scheme {
	case "nats", "tls":
		return open(nats.Open(urls, &nats.Options{
			Secret: o.Secret,
			TLS:    o.TLS,
		}))
	case "redis", "rediss":
		return open(redis.Open(urls, &redis.Options{
			Password: o.Secret,
			TLS:      o.TLS,
		}))
	}
	return nil, errors.New("want nats:// or tls:// for NATS, redis:// or rediss:// for Redis or Valkey")
}

// open returns an engine or the error, never a nil pointer in an interface.
func open[E Engine](e E, err error) (Engine, error) {
	if err != nil {
		return nil, err
	}
	return e, nil
}

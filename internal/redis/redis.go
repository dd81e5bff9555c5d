// Package redis stores the records of a cluster in Redis 6 or Valkey.
//
// Every write is one script, so that comparing and swapping is atomic. Redis copies writes
// to its own replicas after it has acknowledged them: when it fails over, the last writes
// can be lost. Members of the cluster then renew their records within a second. A revision is
// at least the server's time in microseconds, so revisions grow even if Redis loses its
// data, provided that the clocks of its servers agree within the time of a failover.
//
// Messages use publish and subscribe: subscribers that are not connected miss them.
package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/engineurl"
)

// Engine is a [cluster.Engine] in Redis or Valkey.
type Engine struct {
	conns  atomic.Pointer[conns]
	dial   func(context.Context) (redis.Conn, error)
	prefix string
	routes []string // host:port of each server
}

var _ cluster.Engine = (*Engine)(nil)

// Options configure an [Engine]. Nil means the defaults.
type Options struct {
	// Password is the password of the user, who is named in the URL or the default user. It is
	// called for every connection, so that a password can change. Nil means none.
	Password func() (string, error)
	// TLS configures connections to rediss:// URLs; nil trusts the roots of the system.
	TLS *tls.Config
}

// Limits of connections to Redis.
const (
	dialTimeout = 2 * time.Second
	callTimeout = 2 * time.Second
	maxIdle     = 2
	maxActive   = 16
)

// form describes the URLs.
var form = engineurl.Form{
	Plain:   "redis",
	Secure:  "rediss",
	Port:    "6379",
	Example: "redis://HOST:PORT/DATABASE",
}

// server is one address of the database.
type server struct {
	engineurl.Server

	db int
}

// Open returns the engine at a URL such as redis://valkey:6379/0?name=production. With TLS
// the scheme is rediss. name separates clusters that share a database; the default is
// "slipway". Several URLs, separated by commas, are the servers of one database: the
// first that answers and is not a copy is used.
//
// Open does not connect. The URL must not contain a password, which would be visible in
// lists of processes; see [Options.Password].
func Open(urls string, opts *Options) (*Engine, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	parsed, name, _, err := form.Parse(urls)
	if err != nil {
		return nil, err
	}
	e := &Engine{prefix: "{" + name + "}:"} // braces keep all keys in one slot of a Redis cluster
	var servers []server
	for _, p := range parsed {
		s := server{Server: p}
		if p.Path != "" {
			if s.db, err = strconv.Atoi(p.Path); err != nil || s.db < 0 {
				return nil, fmt.Errorf("%q is not the number of a database", p.Path)
			}
		}
		servers = append(servers, s)
		e.routes = append(e.routes, p.Host)
	}
	e.dial = func(ctx context.Context) (redis.Conn, error) {
		return dialAny(ctx, servers, &o)
	}
	e.conns.Store(e.newConns())
	return e, nil
}

// dialAny connects to the first server that answers and accepts writes.
func dialAny(ctx context.Context, servers []server, o *Options) (redis.Conn, error) {
	var all []error
	for _, s := range servers {
		c, err := s.dial(ctx, o)
		if err == nil {
			return c, nil
		}
		all = append(all, err)
	}
	return nil, errors.Join(all...)
}

func (s server) dial(ctx context.Context, o *Options) (redis.Conn, error) {
	opts := []redis.DialOption{
		redis.DialConnectTimeout(dialTimeout),
		redis.DialReadTimeout(callTimeout),
		redis.DialWriteTimeout(callTimeout),
		redis.DialDatabase(s.db),
		redis.DialUseTLS(s.Secure),
		redis.DialUsername(s.User),
	}
	if o.TLS != nil {
		opts = append(opts, redis.DialTLSConfig(o.TLS))
	}
	if o.Password != nil {
		password, err := o.Password()
		if err != nil {
			return nil, err
		}
		opts = append(opts, redis.DialPassword(password))
	}
	c, err := redis.DialContext(ctx, "tcp", s.Host, opts...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Host, markRefused(err))
	}
	role, err := redis.Values(c.Do("ROLE"))
	if err == nil {
		_, err = c.Do("PING") // refused while the server loads its data
	}
	if err == nil && len(role) > 0 {
		if kind, _ := redis.String(role[0], nil); kind != "master" {
			err = fmt.Errorf("the server is a copy (%s)", kind)
		}
	}
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("%s: %w", s.Host, markRefused(err))
	}
	return c, nil
}

// markRefused adds [cluster.ErrRefused] to the error of a user or a password. The first word of an error is its code.
func markRefused(err error) error {
	var answer redis.Error
	if !errors.As(err, &answer) {
		return err
	}
	switch code, _, _ := strings.Cut(string(answer), " "); code {
	case "NOAUTH", "WRONGPASS", "NOPERM":
		return fmt.Errorf("%w: %w", cluster.ErrRefused, err)
	}
	return err
}

// Hosts returns the addresses of the database, as host:port.
func (e *Engine) Hosts() []string { return e.routes }

// Close implements [cluster.Engine].
func (e *Engine) Close() error { return e.conns.Load().pool.Close() }

// next is the beginning of scripts that write. It defines the next revision, see the
// comment of the package, as text: Lua would print a large number with an exponent.
const next = `
		local function next(key)
			local r = tonumber(redis.call('GET', key) or '0') + 1
			local t = redis.call('TIME')
			r = string.format('%.0f', math.max(r, t[1] * 1000000 + t[2]))
			redis.call('SET', key, r)
			return r
		end`

// The scripts. A record is a hash of value v and revision r. The names of a group are in a
// set, from which the list script removes those that have expired, and the create script a few of
// them: most groups are never listed. The others publish a change to the channel that is their last
// argument, and return 0 for a conflict.
var (
	createScript = redis.NewScript(3, next+`
		if redis.call('EXISTS', KEYS[1]) == 1 then return '0' end
		local r = next(KEYS[3])
		redis.call('HSET', KEYS[1], 'v', ARGV[1], 'r', r)
		if ARGV[2] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
		for _, name in ipairs(redis.call('SRANDMEMBER', KEYS[2], 4)) do
			if redis.call('EXISTS', KEYS[2] .. '/' .. name) == 0 then redis.call('SREM', KEYS[2], name) end
		end
		redis.call('SADD', KEYS[2], ARGV[3])
		redis.call('PUBLISH', ARGV[4], 'k' .. ARGV[3])
		return r`)
	updateScript = redis.NewScript(3, next+`
		if redis.call('HGET', KEYS[1], 'r') ~= ARGV[4] then return '0' end
		local changed = redis.call('HGET', KEYS[1], 'v') ~= ARGV[1]
		local r = next(KEYS[3])
		redis.call('HSET', KEYS[1], 'v', ARGV[1], 'r', r)
		if ARGV[2] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) else redis.call('PERSIST', KEYS[1]) end
		redis.call('SADD', KEYS[2], ARGV[3])
		if changed then redis.call('PUBLISH', ARGV[5], 'k' .. ARGV[3]) end
		return r`)
	deleteScript = redis.NewScript(2, `
		if redis.call('HGET', KEYS[1], 'r') ~= ARGV[1] then return '0' end
		redis.call('DEL', KEYS[1])
		redis.call('SREM', KEYS[2], ARGV[2])
		redis.call('PUBLISH', ARGV[3], 'k' .. ARGV[2])
		return '1'`)
	listScript = redis.NewScript(1, `
		local all = {}
		for _, name in ipairs(redis.call('SMEMBERS', KEYS[1])) do
			local fields = redis.call('HMGET', KEYS[1] .. '/' .. name, 'v', 'r')
			if fields[2] then
				all[#all + 1] = name
				all[#all + 1] = fields[1]
				all[#all + 1] = fields[2]
			else
				redis.call('SREM', KEYS[1], name)
			end
		end
		return all`)
)

// channel returns the name in Redis of a topic.
func (e *Engine) channel(topic string) string { return e.prefix + "events:" + topic }

// channelOf returns the channel for changes of a record.
func (e *Engine) channelOf(key string) string {
	group, _, _ := strings.Cut(key, "/")
	return e.channel(group)
}

// key returns the names in Redis of a record and of the set of its group.
func (e *Engine) key(key string) (record, group, name string) {
	kind, name, _ := strings.Cut(key, "/")
	return e.prefix + key, e.prefix + kind, name
}

// run runs a script and turns 0 into ErrConflict.
func (e *Engine) run(ctx context.Context, script *redis.Script, args ...any) (uint64, error) {
	var n uint64
	err := e.do(ctx, func(c redis.Conn) (err error) {
		n, err = redis.Uint64(script.DoContext(ctx, c, args...))
		return err
	})
	if err == nil && n == 0 {
		err = cluster.ErrConflict
	}
	return n, err
}

// Create implements [cluster.Engine].
func (e *Engine) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (uint64, error) {
	record, group, name := e.key(key)
	return e.run(ctx, createScript, record, group, e.prefix+"revision", value, ttl.Milliseconds(), name,
		e.channelOf(key))
}

// Update implements [cluster.Engine].
func (e *Engine) Update(
	ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration,
) (uint64, error) {
	record, group, name := e.key(key)
	return e.run(ctx, updateScript, record, group, e.prefix+"revision", value, ttl.Milliseconds(), name, revision,
		e.channelOf(key))
}

// Delete implements [cluster.Engine].
func (e *Engine) Delete(ctx context.Context, key string, revision uint64) error {
	record, group, name := e.key(key)
	_, err := e.run(ctx, deleteScript, record, group, revision, name, e.channelOf(key))
	return err
}

// Get implements [cluster.Engine].
func (e *Engine) Get(ctx context.Context, key string) (cluster.Record, error) {
	var fields [][]byte
	err := e.do(ctx, func(c redis.Conn) (err error) {
		fields, err = redis.ByteSlices(redis.DoContext(c, ctx, "HMGET", e.prefix+key, "v", "r"))
		return err
	})
	if err != nil {
		return cluster.Record{}, err
	}
	if len(fields) != 2 || fields[1] == nil {
		return cluster.Record{}, cluster.ErrNotFound
	}
	return record(key, fields[0], fields[1])
}

func record(key string, value, revision []byte) (cluster.Record, error) {
	r, err := strconv.ParseUint(string(revision), 10, 64)
	return cluster.Record{
		Key:      key,
		Value:    value,
		Revision: r,
	}, err
}

// List implements [cluster.Engine], with one round trip.
func (e *Engine) List(ctx context.Context, group string) ([]cluster.Record, error) {
	var fields [][]byte
	err := e.do(ctx, func(c redis.Conn) (err error) {
		fields, err = redis.ByteSlices(listScript.DoContext(ctx, c, e.prefix+group))
		return err
	})
	if err != nil {
		return nil, err
	}
	var all []cluster.Record
	for f := range slices.Chunk(fields, 3) {
		if len(f) != 3 {
			return nil, errors.New("the list is incomplete")
		}
		r, err := record(group+"/"+string(f[0]), f[1], f[2])
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// Publish implements [cluster.Engine].
func (e *Engine) Publish(ctx context.Context, topic string, message []byte) error {
	if len(message) > cluster.MaxMessage {
		return cluster.ErrTooLarge
	}
	return e.do(ctx, func(c redis.Conn) error {
		_, err := redis.DoContext(c, ctx, "PUBLISH", e.channel(topic), append([]byte{'m'}, message...))
		return err
	})
}

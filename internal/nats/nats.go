// Package nats stores the records of a cluster in NATS JetStream, of NATS 2.11 or later.
//
// Records are the last messages of the subjects of one stream, which the first replica
// creates, and those of sessions of a second one, NAME_session. Writes compare and swap the
// sequence of the subject; they are acknowledged once a majority of the stream's servers has
// them, so a failover loses none. Reads are answered by the leader. Revisions are sequences of
// the stream. A stream that is created again begins with the time in microseconds, so revisions
// grow even if NATS loses its data, provided that the clocks of the replicas agree within the
// time of the loss.
//
// A record expires by the clock of the server, which counts whole seconds: it may live up to
// two seconds longer than its time.
//
// Messages use core NATS: subscribers that are not connected miss them. The stream
// republishes each write to subscribers. They notice a lost one by its sequence, at the
// latest with the next write.
package nats

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/engineurl"
)

// Engine is a [cluster.Engine] in NATS JetStream.
type Engine struct {
	opts     Options
	urls     []string // without credentials
	hosts    []string // host:port of each server
	user     string
	replicas int // of a new stream; 0 means the default
	// stream is the name of the stream and the first token of all subjects.
	stream string
	// usable is set once the stream was found to be.
	usable   atomic.Bool
	maxBytes int // of a new stream
	// sessions has the records of the group of that name in a stream of its own: they are many,
	// and must neither fill the stream of the others nor be events.
	sessions *Engine
	main     *Engine // of sessions: has the connection

	mu            sync.Mutex
	connecting    *attempt // the current connection, or the attempt to get it
	subscriptions map[*subscription]struct{}
	closed        bool
	markers       markerBudget
}

var _ cluster.Engine = (*Engine)(nil)

// Options configure an [Engine]. Nil means the defaults.
type Options struct {
	// Secret returns the password of the user in the URL. Without a user, it returns a
	// token, the seed of an NKey, or the content of a credentials file (.creds), which differ
	// in their form. It is called for every connection, so that a secret can change, but
	// not its kind. Nil means none.
	Secret func() (string, error)
	// TLS configures connections; nil trusts the roots of the system.
	TLS *tls.Config
}

// Limits of NATS.
const (
	dialTimeout = 2 * time.Second
	callTimeout = 2 * time.Second
	// pingEvery and maxPings bound how long a server that does not answer is used: less than
	// the lease of a replica.
	pingEvery     = time.Second
	maxPings      = 1
	reconnectWait = 200 * time.Millisecond
	maxReplicas   = 5
	maxValue      = 128 << 10
	maxStream     = 32 << 20
	maxSessions   = 256 << 20
	// maxParallel limits the records that are read at once.
	maxParallel = 16
)

// form describes the URLs.
var form = engineurl.Form{
	Plain:      "nats",
	Secure:     "tls",
	Port:       "4222",
	Example:    "nats://HOST:PORT",
	Parameters: []string{"replicas"},
}

// Open returns the engine at a URL such as nats://nats:4222?name=production. With TLS the
// scheme is tls; a server that requires TLS gets it with nats as well. name separates
// clusters that share an account; the default is "slipway". replicas is the number of
// copies of a new stream, at most 5; the default is 3 on a cluster of NATS servers, else 1.
// Several URLs, separated by commas, are servers of one NATS cluster.
//
// Open does not connect. The URL must not contain a password, which would be visible in
// lists of processes; see [Options.Secret].
func Open(urls string, opts *Options) (*Engine, error) {
	servers, name, parameters, err := form.Parse(urls)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		stream:        streamOf(name),
		user:          servers[0].User,
		maxBytes:      maxStream,
		subscriptions: make(map[*subscription]struct{}),
	}
	if opts != nil {
		e.opts = *opts
	}
	if text := parameters.Get("replicas"); text != "" {
		if e.replicas, err = strconv.Atoi(text); err != nil || e.replicas < 1 || e.replicas > maxReplicas {
			return nil, fmt.Errorf("replicas is %q, want 1 to %d", text, maxReplicas)
		}
	}
	for _, s := range servers {
		switch {
		case s.Path != "":
			return nil, fmt.Errorf("the URL has a path, want %s", form.Example)
		case s.User != e.user:
			return nil, errors.New("the URLs differ in their user")
		}
		scheme := form.Plain
		if s.Secure {
			scheme = form.Secure
		}
		e.urls = append(e.urls, scheme+"://"+s.Host)
		e.hosts = append(e.hosts, s.Host)
	}
	e.sessions = &Engine{
		stream:   e.stream + "_" + sessionGroup,
		replicas: e.replicas,
		maxBytes: maxSessions,
		main:     e,
	}
	return e, nil
}

// sessionGroup is the group of the records of sessions.
const sessionGroup = "session"

// of returns the engine of the stream that has a record.
func (e *Engine) of(key string) *Engine {
	if group, _, _ := strings.Cut(key, "/"); group == sessionGroup && e.sessions != nil {
		return e.sessions
	}
	return e
}

// streamOf returns the name of the stream for a cluster.
func streamOf(name string) string {
	if name == engineurl.DefaultName {
		return name
	}
	return engineurl.DefaultName + "-" + name
}

// Hosts returns the addresses of the servers, as host:port.
func (e *Engine) Hosts() []string { return e.hosts }

// The subjects are STREAM.record.GROUP.NAME, STREAM.changed.GROUP.NAME for republished
// writes, and STREAM.message.TOPIC.

// recordSubject returns the subject of a record. Names may contain what separates tokens.
func (e *Engine) recordSubject(key string) string {
	group, name, _ := strings.Cut(key, "/")
	return e.stream + ".record." + group + "." + escape(name)
}

// keyOf returns the key of the last two tokens of a subject.
func keyOf(subject, prefix string) (key string, ok bool) {
	rest, ok := strings.CutPrefix(subject, prefix)
	if !ok {
		return "", false
	}
	group, name, ok := strings.Cut(rest, ".")
	if !ok {
		return "", false
	}
	name, err := url.PathUnescape(name)
	return group + "/" + name, err == nil
}

// escape replaces the bytes of a name that a token cannot contain.
func escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '@':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Headers of stored messages.
const (
	// deletedHeader marks a deleted record.
	deletedHeader = "Slipway-Deleted"
	// renewedHeader marks an update with the same value.
	renewedHeader = "Slipway-Renewed"
	expectHeader  = "Nats-Expected-Last-Subject-Sequence"
	ttlHeader     = "Nats-TTL"
)

// write stores a message if the last one of its subject has that sequence; 0 means none.
func (e *Engine) write(
	ctx context.Context, key string, value []byte, last uint64, ttl time.Duration, mark string,
) (uint64, error) {
	msg := nats.NewMsg(e.recordSubject(key))
	msg.Data = value
	msg.Header.Set(expectHeader, strconv.FormatUint(last, 10))
	if ttl > 0 {
		seconds := (ttl + time.Second - 1) / time.Second
		msg.Header.Set(ttlHeader, strconv.FormatInt(int64(seconds), 10))
	}
	if mark != "" {
		msg.Header.Set(mark, "true")
	}
	a, err := e.request(ctx, msg)
	if isAPIError(err, errWrongSequence, errWrongSequenceNow) {
		return 0, cluster.ErrConflict
	}
	if err != nil {
		return 0, err
	}
	return a.Seq, nil
}

// message is the last message of a record's subject.
type message struct {
	cluster.Record

	deleted bool          // it is the marker of a deleted record
	ttl     time.Duration // 0 means that it does not expire
}

// read returns the last message of a record's subject, also if it marks a deleted one.
func (e *Engine) read(ctx context.Context, key string) (message, error) {
	body, err := json.Marshal(map[string]string{"last_by_subj": e.recordSubject(key)})
	if err != nil {
		return message{}, err
	}
	a, err := e.ask(ctx, "STREAM.MSG.GET", body)
	if isAPIError(err, errNoMessage) {
		return message{}, cluster.ErrNotFound
	}
	if err != nil {
		return message{}, err
	}
	if a.Message == nil {
		return message{}, errors.New("JetStream: the answer has no message")
	}
	header, err := nats.DecodeHeadersMsg(a.Message.Headers)
	if err != nil {
		return message{}, err
	}
	seconds, _ := strconv.ParseInt(header.Get(ttlHeader), 10, 64)
	return message{
		Record: cluster.Record{
			Key:      key,
			Value:    a.Message.Data,
			Revision: a.Message.Seq,
		},
		deleted: header.Get(deletedHeader) != "",
		ttl:     time.Duration(seconds) * time.Second,
	}, nil
}

// Get implements [cluster.Engine].
func (e *Engine) Get(ctx context.Context, key string) (cluster.Record, error) {
	e = e.of(key)
	m, err := e.read(ctx, key)
	if err == nil && m.deleted {
		err = cluster.ErrNotFound
	}
	if err != nil {
		return cluster.Record{}, err
	}
	return m.Record, nil
}

// Create implements [cluster.Engine].
func (e *Engine) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (uint64, error) {
	e = e.of(key)
	revision, err := e.write(ctx, key, value, 0, ttl, "")
	if !errors.Is(err, cluster.ErrConflict) {
		return revision, err
	}
	m, err := e.read(ctx, key)
	switch {
	case errors.Is(err, cluster.ErrNotFound): // it has just expired
		return e.write(ctx, key, value, 0, ttl, "")
	case err != nil:
		return 0, err
	case !m.deleted:
		return 0, cluster.ErrConflict
	}
	return e.write(ctx, key, value, m.Revision, ttl, "")
}

// Update implements [cluster.Engine]. It reads the record first, because an update with the
// same value is no event.
func (e *Engine) Update(
	ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration,
) (uint64, error) {
	e = e.of(key)
	r, err := e.Get(ctx, key)
	switch {
	case errors.Is(err, cluster.ErrNotFound), err == nil && r.Revision != revision:
		return 0, cluster.ErrConflict
	case err != nil:
		return 0, err
	}
	mark := ""
	if slices.Equal(r.Value, value) {
		mark = renewedHeader
	}
	return e.write(ctx, key, value, revision, ttl, mark)
}

// Delete implements [cluster.Engine].
func (e *Engine) Delete(ctx context.Context, key string, revision uint64) error {
	e = e.of(key)
	m, err := e.read(ctx, key)
	switch {
	case errors.Is(err, cluster.ErrNotFound), err == nil && (m.deleted || m.Revision != revision):
		return cluster.ErrConflict
	case err != nil:
		return err
	}
	e.mu.Lock()
	ttl := e.markers.ttlFor(m.ttl, time.Now())
	e.mu.Unlock()
	_, err = e.write(ctx, key, nil, revision, ttl, deletedHeader)
	return err
}

// List implements [cluster.Engine]: it reads the names of a group, and then the records.
func (e *Engine) List(ctx context.Context, group string) ([]cluster.Record, error) {
	e = e.of(group)
	body, err := json.Marshal(map[string]string{"subjects_filter": e.stream + ".record." + group + ".>"})
	if err != nil {
		return nil, err
	}
	a, err := e.ask(ctx, "STREAM.INFO", body)
	if err != nil {
		return nil, err
	}
	var keys []string
	for subject := range a.State.Subjects {
		if key, ok := keyOf(subject, e.stream+".record."); ok {
			keys = append(keys, key)
		}
	}
	records := make([]cluster.Record, len(keys))
	errs := make([]error, len(keys))
	var next atomic.Int64
	var reading sync.WaitGroup
	for range min(len(keys), maxParallel) {
		reading.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(keys); i = next.Add(1) - 1 {
				records[i], errs[i] = e.Get(ctx, keys[i])
			}
		})
	}
	reading.Wait()
	var all []cluster.Record
	for i, r := range records {
		switch {
		case errs[i] == nil:
			all = append(all, r)
		case !errors.Is(errs[i], cluster.ErrNotFound): // it may have expired meanwhile
			return nil, errs[i]
		}
	}
	return all, nil
}

// Publish implements [cluster.Engine]. Subscribers at the same NATS server receive messages
// and changes of records in the order of each publisher; at others, only messages among
// themselves, and changes among themselves.
func (e *Engine) Publish(ctx context.Context, topic string, message []byte) error {
	if len(message) > cluster.MaxMessage {
		return cluster.ErrTooLarge
	}
	nc, err := e.connection(ctx)
	if err != nil {
		return err
	}
	if err := nc.Publish(e.stream+".message."+escape(topic), message); err != nil {
		return err
	}
	return flush(ctx, nc)
}

// flush waits until the server has processed what was sent to it.
func flush(ctx context.Context, nc *nats.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return nc.FlushWithContext(ctx)
}

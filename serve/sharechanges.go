package serve

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// changeNews is the kind of messages about changes of sources.
const changeNews = "change"

// Limits of a message about changes.
const (
	maxNewsURIs  = 1000     // that wait to be published
	maxNewsBytes = 32 << 10 // of their text, below the limit of a message even when escaped
	retryPublish = time.Second
	publishIn    = 2 * time.Second
)

// sharedChanges are the changes of sources since the last message to the other replicas.
type sharedChanges struct {
	Tools     bool     `json:"tools,omitempty"`
	Resources bool     `json:"resources,omitempty"`
	Prompts   bool     `json:"prompts,omitempty"`
	URIs      []string `json:"uris,omitempty"`
	// Everything means that there were too many to list.
	Everything bool `json:"everything,omitempty"`
}

// changePublisher publishes changes of sources to the other replicas. While the engine
// fails it merges them.
type changePublisher struct {
	replica *cluster.Replica
	log     *slog.Logger
	wake    chan struct{}

	mu   sync.Mutex
	next sharedChanges
	uris map[string]struct{} // the URIs of next
	// bytes is the size of the URIs, which is limited.
	bytes int
}

// shareChanges connects the notifications of servers with those of the other replicas. All
// servers have the same source, whose changes the first one publishes.
func (p *hop) shareChanges(servers []*mcpserver.Server) {
	out := &changePublisher{
		replica: p.replica,
		log:     p.log,
		wake:    make(chan struct{}, 1),
	}
	p.changes = out
	publish := out.add
	receivers := make([]func(mcp.Change), len(servers))
	missed := make([]func(), len(servers))
	for i, s := range servers {
		receivers[i], missed[i] = s.ShareChanges(publish)
		publish = nil
	}
	receive := func(_ string, data json.RawMessage) {
		var news sharedChanges
		if json.Unmarshal(data, &news) != nil {
			return
		}
		for i, receive := range receivers {
			if news.Everything {
				missed[i]()
			}
			receive(mcp.Change{
				Tools:     news.Tools,
				Resources: news.Resources,
				Prompts:   news.Prompts,
			})
			for _, uri := range news.URIs {
				receive(mcp.Change{URI: uri})
			}
		}
	}
	p.replica.Handle(changeNews, receive, func() {
		for _, f := range missed {
			f()
		}
	})
}

// add merges a change into the next message.
func (c *changePublisher) add(change mcp.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next.Tools = c.next.Tools || change.Tools
	c.next.Resources = c.next.Resources || change.Resources
	c.next.Prompts = c.next.Prompts || change.Prompts
	_, known := c.uris[change.URI]
	if change.URI != "" && !known && !c.next.Everything {
		c.bytes += 6 * len(change.URI) // each byte may be escaped
		if len(c.uris) == maxNewsURIs || c.bytes > maxNewsBytes {
			c.next.Everything = true
			c.next.URIs = nil
		} else {
			if c.uris == nil {
				c.uris = make(map[string]struct{})
			}
			c.uris[change.URI] = struct{}{}
			c.next.URIs = append(c.next.URIs, change.URI)
		}
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run publishes until ctx ends.
func (c *changePublisher) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		c.mu.Lock()
		next := c.next
		c.next = sharedChanges{}
		c.uris = nil
		c.bytes = 0
		c.mu.Unlock()
		for !c.publish(ctx, &next) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(retryPublish):
			}
		}
	}
}

// publish publishes one message, and reports whether it succeeded.
func (c *changePublisher) publish(ctx context.Context, next *sharedChanges) bool {
	ctx, cancel := context.WithTimeout(ctx, publishIn)
	defer cancel()
	err := c.replica.Publish(ctx, changeNews, next)
	if err != nil && ctx.Err() == nil {
		c.log.Debug("change not published, retrying", "error", err)
	}
	return err == nil
}

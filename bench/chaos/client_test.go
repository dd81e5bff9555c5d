package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	mcpgoclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// client is a connection of a third-party library. It is safe for concurrent use.
type client struct {
	// call returns the texts of the result, and whether it reports a failure.
	call  func(ctx context.Context, tool string, arguments map[string]any) (texts []string, failed bool, err error)
	close func() error
}

// kind is a way to connect.
type kind struct {
	name, version string
	dial          func(ctx context.Context, url, version string, over *http.Client) (client, error)
}

func kinds() []kind {
	return []kind{
		{"go-sdk", "2026-07-28", dialGoSDK},
		{"mcp-go", "2025-06-18", dialMCPGo},
		{"go-sdk", "2025-11-25", dialGoSDK},
		{"mcp-go", "2026-07-28", dialMCPGo},
		{"go-sdk", "2025-03-26", dialGoSDK},
		{"mcp-go", "2025-11-25", dialMCPGo},
	}
}

func dialGoSDK(ctx context.Context, url, version string, over *http.Client) (client, error) {
	session, err := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1.0.0"}, nil).Connect(ctx,
		&gosdk.StreamableClientTransport{Endpoint: url, HTTPClient: over},
		&gosdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return client{}, err
	}
	call := func(ctx context.Context, tool string, arguments map[string]any) (texts []string, failed bool, err error) {
		result, err := session.CallTool(ctx, &gosdk.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			return nil, false, err
		}
		for _, content := range result.Content {
			if t, ok := content.(*gosdk.TextContent); ok {
				texts = append(texts, t.Text)
			}
		}
		return texts, result.IsError, nil
	}
	return client{call, session.Close}, nil
}

func dialMCPGo(ctx context.Context, url, version string, over *http.Client) (client, error) {
	t, err := transport.NewStreamableHTTP(url, transport.WithHTTPBasicClient(over))
	if err != nil {
		return client{}, err
	}
	c := mcpgoclient.NewClient(t, mcpgoclient.WithProtocolVersion(version))
	err = c.Start(context.WithoutCancel(ctx))
	if err == nil {
		var hello mcpgo.InitializeRequest
		hello.Params.ProtocolVersion = version
		hello.Params.ClientInfo = mcpgo.Implementation{Name: "mcp-go", Version: "1.0.0"}
		_, err = c.Initialize(ctx, hello)
	}
	if err != nil {
		return client{}, errors.Join(err, c.Close())
	}
	call := func(ctx context.Context, tool string, arguments map[string]any) (texts []string, failed bool, err error) {
		var request mcpgo.CallToolRequest
		request.Params.Name, request.Params.Arguments = tool, arguments
		result, err := c.CallTool(ctx, request)
		if err != nil {
			return nil, false, err
		}
		for _, content := range result.Content {
			if t, ok := content.(mcpgo.TextContent); ok {
				texts = append(texts, t.Text)
			}
		}
		return texts, result.IsError, nil
	}
	return client{call, c.Close}, nil
}

// callText makes a call and returns the text of its result. A result that reports a
// failure is an error.
func (c client) callText(ctx context.Context, tool string, arguments map[string]any) (string, error) {
	texts, failed, err := c.call(ctx, tool, arguments)
	switch {
	case err != nil:
		return "", err
	case failed:
		return "", fmt.Errorf("the tool reports: %q", texts)
	case len(texts) != 1:
		return fmt.Sprintf("%q", texts), nil
	}
	return texts[0], nil
}

// work runs all clients, each calling all servers, for d.
func (c *chaos) work(ctx context.Context, d time.Duration, t *tally) {
	ctx, stop := context.WithTimeout(ctx, d)
	defer stop()
	var group sync.WaitGroup
	for i := range c.clients {
		group.Go(func() { c.workAs(ctx, i, t) })
	}
	group.Wait()
}

// callsPerConnection is the number of calls to each server after which a client
// reconnects.
const callsPerConnection = 300

// workAs runs one client: it connects, calls all servers concurrently, disconnects, and
// reconnects.
func (c *chaos) workAs(ctx context.Context, number int, t *tally) {
	for round := 0; ctx.Err() == nil; round++ {
		k := kinds()[number%len(kinds())]
		conn, err := c.dial(ctx, k, t)
		if err != nil {
			wait(ctx, time.Second)
			continue
		}
		var group sync.WaitGroup
		for lane, s := range c.servers {
			random := rand.New(rand.NewPCG(c.seed, uint64(number)<<40|uint64(lane)<<32|uint64(round)+1))
			group.Go(func() {
				for i := 0; i < callsPerConnection && ctx.Err() == nil; i++ {
					token := fmt.Sprintf("%s-%s-%d-%d-%d-%x", t.name, s.name, number, round, i, random.Uint64())
					if !c.callOne(k, conn, s, randomJob(token, random), t) {
						wait(ctx, 250*time.Millisecond) // back off, as a well-behaved client does
					}
				}
			})
		}
		group.Wait()
		if err := conn.close(); err != nil {
			t.note("closing a connection: " + err.Error())
		}
	}
}

// dial connects with connections of its own, which close returns.
func (c *chaos) dial(ctx context.Context, k kind, t *tally) (client, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*callBound)
	defer stop()
	began := time.Now()
	over := &http.Transport{MaxIdleConnsPerHost: 16}
	conn, err := k.dial(ctx, c.front.url(), k.version, &http.Client{Transport: over})
	t.connected(time.Since(began), err)
	if err != nil {
		over.CloseIdleConnections()
		return conn, err
	}
	end := conn.close
	conn.close = func() error {
		defer over.CloseIdleConnections()
		return end()
	}
	return conn, nil
}

// job is one call.
type job struct {
	tool, token string
	millis      int           // of work
	cancelled   bool          // by the client,
	after       time.Duration // after this time
}

func randomJob(token string, random *rand.Rand) job {
	j := job{tool: "echo", token: token}
	if random.IntN(5) == 0 {
		j.tool, j.millis = "work", random.IntN(20)
	}
	if random.IntN(100) == 0 {
		j.cancelled, j.after = true, time.Duration(random.IntN(10))*time.Millisecond
	}
	return j
}

func (j job) arguments() map[string]any {
	arguments := map[string]any{"message": j.token}
	if j.tool == "work" {
		arguments["millis"] = j.millis
	}
	return arguments
}

// callOne makes one call and checks its answer. It reports whether the answer was
// correct.
func (c *chaos) callOne(k kind, conn client, s *server, j job, t *tally) bool {
	limit := 2 * callBound
	if j.cancelled {
		limit = j.after
	}
	ctx, stop := context.WithTimeout(context.Background(), limit)
	defer stop()
	began := time.Now()
	text, err := conn.callText(ctx, s.name+"_"+j.tool, j.arguments())
	took := time.Since(began)
	switch {
	case err == nil && text == j.token:
		t.right(took)
	case err == nil:
		t.wrong(fmt.Sprintf("%s %s, %s: sent %s, received %.200q", k.name, k.version, s.name, j.token, text))
	case j.cancelled:
		t.cancelled(took)
		return true
	default:
		t.failed(took, fmt.Sprintf("%s %s, %s, %s: %v", k.name, k.version, s.name, j.tool, err))
	}
	return err == nil
}

// calm brings all servers into the same state: those at URLs are restarted, so that no
// pooled connection is left, and every kind of client calls each server once. It returns
// the number of incorrect answers, and slipway's resource usage afterwards.
func (c *chaos) calm(ctx context.Context, before *reading) (failed int, r reading, err error) {
	for _, s := range c.servers {
		if s.isChild() {
			continue
		}
		s.stop()
		if err := s.start(ctx); err != nil {
			return 0, r, err
		}
	}
	t := newTally("calm")
	for _, k := range kinds() {
		conn, err := c.dial(ctx, k, t)
		if err != nil {
			return 0, r, fmt.Errorf("connect with %s %s: %w", k.name, k.version, err)
		}
		for _, s := range c.servers {
			c.callOne(k, conn, s, job{tool: "echo", token: "calm-" + s.name + "-" + k.version}, t)
		}
		if err := conn.close(); err != nil {
			fmt.Fprintf(c.progress, "closing %s %s: %v\n", k.name, k.version, err)
		}
	}
	t.writeFailures(c.progress)
	r, err = c.front.settle(ctx, before)
	return t.count.wrong + t.count.failed, r, err
}

package simulation

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// balancerName is the host from which all clients connect: a load balancer that sends each
// connection to any replica that serves.
const balancerName = "balancer"

// endpoint is the URL at which clients reach the cluster.
const endpoint = "http://127.0.0.1:80/mcp"

// balancer connects clients to machines that are in service. It knows nothing about sessions.
type balancer struct {
	world *world
	host  *host
}

func newBalancer(w *world) *balancer {
	return &balancer{
		world: w,
		host:  w.network.start(balancerName, netip.MustParseAddr("127.0.0.1")),
	}
}

// targetKey is the key of the machine to which a request is sent, in its context.
type targetKey struct{}

// errNoReplica is the answer while all machines are out of service. The client may retry.
var errNoReplica = errors.New("no replica serves")

// transport returns the transport of a client. It makes a connection for each request, so that each
// can reach another replica.
func (b *balancer) transport(client string) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return b.dial(ctx, client)
		},
		DisableKeepAlives: true,
	}
}

// dial connects to the replica that ctx names, or to any other. One that refuses is skipped.
func (b *balancer) dial(ctx context.Context, client string) (net.Conn, error) {
	machines := b.world.machines
	last := error(dialError(endpoint, errNoReplica))
	first := int(hash(b.world.seed, "first", client, uint64(time.Now().UnixNano())) % uint64(len(machines)))
	for i := range machines {
		m := machines[(first+i)%len(machines)]
		target, _ := ctx.Value(targetKey{}).(string)
		if target != "" && m.name != target || target == "" && m.isOut() {
			continue
		}
		c, err := b.host.dial(ctx, netip.AddrPortFrom(m.addr, clientPort).String(), time.Second)
		if err == nil {
			return c, nil
		}
		last = err
	}
	return nil, last
}

//go:build unix

package interop_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An engineNode is one server of an engine, as a process.
type engineNode struct {
	name string
	addr string
	args []string
	log  *lockedBuffer
	cmd  *exec.Cmd
}

// run starts the server, again at the same address and with its data.
func (n *engineNode) run(t *testing.T) {
	t.Helper()
	n.cmd = exec.Command(n.args[0], n.args[1:]...)
	n.cmd.Stdout, n.cmd.Stderr = n.log, n.log
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

func (n *engineNode) signal(signal syscall.Signal) { _ = n.cmd.Process.Signal(signal) }

func (n *engineNode) kill() {
	n.signal(syscall.SIGKILL)
	_ = n.cmd.Wait()
}

// engineNodes are an engine of several servers, which replicas reach through links.
type engineNodes struct {
	nodes  []*engineNode
	format string  // of the URL of a server, from its address
	routes []*link // to each node from the others; nil without partitions between nodes
}

// url returns the URLs for the next replica, and links of its own.
func (e *engineNodes) url(t *testing.T) (url string, links []*link) {
	t.Helper()
	var urls []string
	for _, n := range e.nodes {
		l := startLink(t, n.addr)
		links = append(links, l)
		urls = append(urls, fmt.Sprintf(e.format, l.addr))
	}
	return strings.Join(urls, ","), links
}

// part cuts a node off from the others, or heals that.
func (e *engineNodes) part(node int, cut bool) {
	for i, l := range e.routes {
		l.set(func() {
			if i == node {
				l.silent = cut
			} else {
				l.silentFrom[e.nodes[node].name] = cut
			}
		})
	}
}

func (e *engineNodes) start(t *testing.T) {
	for _, n := range e.nodes {
		n.run(t)
	}
	t.Cleanup(func() {
		for _, n := range e.nodes {
			n.signal(syscall.SIGCONT)
			n.kill()
			if t.Failed() {
				log := n.log.String()
				t.Logf("%s:\n%s", n.name, log[max(0, len(log)-4000):])
			}
		}
	})
}

// startNATSCluster starts a JetStream cluster of three servers, whose streams have three copies. It has no leader yet.
func startNATSCluster(t *testing.T) *engineNodes {
	t.Helper()
	program, err := exec.Command("go", "tool", "-n", "nats-server").Output()
	if err != nil {
		t.Fatalf("nats-server was not built: %v", err)
	}
	e := &engineNodes{format: "nats://%s"}
	var listen, routes []string
	for range 3 {
		addr := freeAddress(t)
		l := startLink(t, addr)
		listen = append(listen, addr)
		routes = append(routes, "nats://"+l.addr)
		e.routes = append(e.routes, l)
	}
	for i := range 3 {
		addr := freeAddress(t)
		_, port, _ := net.SplitHostPort(addr)
		name := fmt.Sprint("n", i)
		e.nodes = append(e.nodes, &engineNode{
			name: name,
			addr: addr,
			log:  new(lockedBuffer),
			args: []string{strings.TrimSpace(string(program)), "--jetstream", "--store_dir", t.TempDir(),
				"--addr", "127.0.0.1", "--port", port, "--server_name", name, "--cluster_name", "faults",
				"--cluster", "nats://" + listen[i], "--cluster_advertise", e.routes[i].addr, "--no_advertise",
				"--routes", strings.Join(routes, ",")},
		})
	}
	e.start(t)
	return e
}

// startRedisSentinel starts a Redis primary with a replica, and three sentinels that promote it.
func startRedisSentinel(t *testing.T) *engineNodes {
	t.Helper()
	e := &engineNodes{format: "redis://%s"}
	server := func(name string, args ...string) *engineNode {
		addr := freeAddress(t)
		_, port, _ := net.SplitHostPort(addr)
		return &engineNode{
			name: name,
			addr: addr,
			log:  new(lockedBuffer),
			args: append([]string{"redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "yes",
				"--dir", t.TempDir(), "--repl-diskless-sync-delay", "0"}, args...),
		}
	}
	primary := server("primary")
	host, port, _ := net.SplitHostPort(primary.addr)
	e.nodes = []*engineNode{primary, server("copy", "--replicaof", host+" "+port)}
	e.start(t)
	sentinels := &engineNodes{}
	for i := range 3 {
		_, own, _ := net.SplitHostPort(freeAddress(t))
		file := filepath.Join(t.TempDir(), "sentinel.conf")
		conf := fmt.Sprintf("port %s\nbind 127.0.0.1\nsentinel monitor slipway %s %s 2\n"+
			"sentinel down-after-milliseconds slipway 1000\nsentinel failover-timeout slipway 4000\n", own, host, port)
		if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		sentinels.nodes = append(sentinels.nodes, &engineNode{
			name: fmt.Sprint("sentinel", i),
			log:  new(lockedBuffer),
			args: []string{"redis-server", file, "--sentinel"},
		})
	}
	sentinels.start(t)
	time.Sleep(3 * time.Second) // until sentinels know each other and the copy: there is no event to wait for
	return e
}

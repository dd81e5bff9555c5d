package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/cluster/engine"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/serve"
)

// clusterFlags make the process a replica.
type clusterFlags struct {
	urls         string // of the engine
	listen       string // for other replicas
	advertise    string // where they connect; "" if that is the same
	passwordFile string
}

// Limits of the cluster flags.
const (
	maxPassword = 16 << 10 // a credentials file of NATS
	joinWithin  = 10 * time.Second
	// engineWait is how long a replica waits at its start for an engine that starts at the same time.
	engineWait  = 30 * time.Second
	leaveWithin = 2 * time.Second
)

// join joins the cluster, if there is one, and completes the options with the identity and
// the key of the replica. leave is to be called after serving.
func (f *clusterFlags) join(
	ctx context.Context,
	o *serve.Options,
	log *slog.Logger,
) (leave func(), err error) {
	if f.urls == "" {
		return func() {}, nil
	}
	engine, err := f.open()
	if err != nil {
		return nil, err
	}
	listen, err := f.address(engine.Hosts())
	if err != nil {
		return nil, err
	}
	// The engine may start after this program, as in a new deployment.
	ctx, cancel := context.WithTimeout(ctx, engineWait+joinWithin)
	defer cancel()
	replica, err := cluster.Join(ctx, engine, &cluster.Options{
		Listen:    listen,
		Advertise: f.advertise,
		Logger:    log,
		Wait:      engineWait,
	})
	if err != nil {
		_ = engine.Close()
		return nil, remoteFailed(engineHint(err), "join the cluster: %v", err)
	}
	// ctx may have ended when the server stops.
	leave = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
		defer cancel()
		if err := replica.Leave(ctx); err != nil {
			log.Warn("the cluster was not notified of the end; it will notice", "error", err)
		}
		_ = engine.Close()
	}
	// Keys of the operator take precedence over those of the cluster.
	if o.StateKeys == nil {
		if o.StateKeys, err = serve.OpenStateKeys("", replica.Keys()...); err != nil {
			leave()
			return nil, fmt.Errorf("key of the cluster: %w", err)
		}
		keys := o.StateKeys
		replica.FollowKeys(func(current [][]byte) {
			if err := keys.Replace(current...); err != nil {
				log.Error("cluster keys not used, keeping the previous ones", "error", err)
				return
			}
			log.Info("cluster keys in use", "seals", cluster.KeyID(current[0]), "keys", len(current))
		})
	}
	o.Cluster = replica
	o.Server.Replica = replica.ID()
	b := thisBuild()
	// Replicas compare their versions. Development builds differ in their commits.
	o.Version = b.Version
	if b.Version == "devel" {
		o.Version = strings.TrimRight("devel-"+b.Commit[:min(len(b.Commit), 12)], "-")
	}
	return leave, nil
}

// clusterForm is the hint for a wrong URL.
const clusterForm = "for example --cluster nats://nats.internal:4222 or redis://valkey.internal:6379/0"

// open returns the engine, without connecting to it.
func (f *clusterFlags) open() (engine.Engine, error) {
	var secret func() (string, error)
	if f.passwordFile != "" {
		secret = func() (string, error) {
			text, err := fsutil.ReadText(f.passwordFile, maxPassword)
			return strings.TrimSpace(string(text)), err
		}
		if _, err := secret(); err != nil {
			return nil, badInput("", "cluster password file: %v", err)
		}
	}
	opened, err := engine.Open(f.urls, &engine.Options{Secret: secret})
	switch {
	case err == nil:
		return opened, nil
	case strings.Contains(f.urls, "@"):
		return nil, usage("use --cluster-password-file for the password", "--cluster: %v", err)
	}
	return nil, usage(clusterForm, "--cluster: %v", err)
}

// address returns where to listen for other replicas. They have to reach it, so by default
// it is the local address of the route to the engine, which they reach as well.
func (f *clusterFlags) address(engines []string) (string, error) {
	if f.listen == "" {
		for _, host := range engines {
			c, err := net.Dial("udp", host) // sends nothing
			if err != nil {
				continue
			}
			local, _, err := net.SplitHostPort(c.LocalAddr().String())
			_ = c.Close()
			if err == nil {
				return net.JoinHostPort(local, "0"), nil
			}
		}
		name, _ := os.Hostname()
		return "", remoteFailed("set --replica-addr", "no route from %s to the cluster engine", name)
	}
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return "", usage("for example --replica-addr 10.0.0.5:8081", "--replica-addr: %q is not HOST:PORT", f.listen)
	}
	if f.advertise != "" {
		return f.listen, f.checkAdvertised()
	}
	if unspecified(host) {
		return "", usage("name an address of this machine, such as 10.0.0.5:8081, or set --replica-advertise-addr",
			"--replica-addr: other replicas cannot connect to %q", f.listen)
	}
	return f.listen, nil
}

// checkAdvertised verifies that other replicas can connect to the address in principle.
func (f *clusterFlags) checkAdvertised() error {
	host, port, err := net.SplitHostPort(f.advertise)
	if err != nil || unspecified(host) || port == "" || port == "0" {
		return usage("name the address and the port at which the other replicas connect, such as 10.0.0.5:8081",
			"--replica-advertise-addr: other replicas cannot connect to %q", f.advertise)
	}
	return nil
}

// unspecified reports whether a host names no machine, as in ":8081" or "0.0.0.0:8081".
func unspecified(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// engineHint returns what to do after an error of an engine.
func engineHint(err error) string {
	switch {
	case errors.Is(err, cluster.ErrRefused):
		return "check the user in the URL, and --cluster-password-file"
	case errors.Is(err, cluster.ErrFormat):
		return "stop the replicas of the other format first, or give these a cluster of their own with ?name=NAME"
	}
	return "check that the engine runs, and the URL with its name"
}

package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/neterror"
	"github.com/slipway-mcp/slipway/internal/order"
)

// Process is the state of a serving process.
type Process struct {
	// PID is the process id on this machine.
	PID      int       `json:"pid"`
	Command  string    `json:"command"` // [Announcement.Command]
	Started  time.Time `json:"started"`
	Endpoint string    `json:"endpoint"` // the URL for MCP clients, or "stdio"

	Sessions    ProcessSessions `json:"sessions"`
	Streams     int             `json:"streams"` // open event streams
	Tasks       int             `json:"tasks"`   // running
	Goroutines  int             `json:"goroutines"`
	Descriptors int             `json:"descriptors,omitempty"` // open files; absent if unknown
	Memory      int64           `json:"memory,omitempty"`      // resident bytes; absent if unknown

	// Servers are the upstream servers, with details such as targets and errors.
	Servers []Upstream `json:"servers"`
	// Connections are the logins of callers to these servers.
	Connections []Connection `json:"connections,omitempty"`
	// Config is the state of the configuration file, if there is one.
	Config *ConfigState `json:"config,omitempty"`
	// Replicas are the replicas of its cluster, if it is one of them.
	Replicas []ReplicaState `json:"replicas,omitempty"`
	// Error is set if the process does not answer; the other fields are then unknown.
	Error string `json:"error,omitempty"`
}

// ProcessSessions are the sessions of clients over HTTP.
type ProcessSessions struct {
	// Count is the number of open sessions.
	Count  int       `json:"count"`
	Oldest time.Time `json:"oldest,omitzero"` // when the oldest began
	// TTL is the idle time limit in seconds, Max the maximum number of sessions.
	TTL float64 `json:"ttlSeconds"`
	Max int     `json:"max"`
}

// Announcement makes a process visible to [Processes].
type Announcement struct {
	// Dir is the folder where the process creates a socket. It is created if necessary, and
	// must be accessible only to this user.
	Dir string
	// Command is the command that is running, such as "serve".
	Command string
}

// socketSuffix is the extension of the sockets; their names begin with the process id.
const socketSuffix = ".sock"

// answerTime bounds how long a process may take to report its state, and how long a
// client may take to read it.
const answerTime = 2 * time.Second

// announce lets other processes query the state of this one, until stop. It waits at most
// that long for the socket, because serving has priority. If the socket fails, only ps is
// affected.
func (o *Options) announce(
	endpoint string,
	serving servers,
	replicas *hop,
	wait time.Duration,
) (stop func()) {
	if o.Announce == nil {
		return func() {}
	}
	started := time.Now()
	describe := func() *Process {
		st := serving.stats()
		p := &Process{
			PID:      os.Getpid(),
			Command:  o.Announce.Command,
			Started:  started,
			Endpoint: endpoint,
			Sessions: ProcessSessions{
				Count:  st.Sessions,
				Oldest: serving.oldestSession(),
				TTL:    st.SessionTTL.Seconds(),
				Max:    st.MaxSessions,
			},
			Streams:    st.Streams,
			Tasks:      st.Tasks,
			Goroutines: runtime.NumGoroutine(),
			Servers:    o.upstreams(),
			Config:     o.config(),
		}
		var err error
		if p.Connections, err = o.connections(); err != nil {
			o.Logger.Debug("slipway ps does not show the connections of callers", "error", err)
		}
		p.Descriptors, p.Memory = usage()
		p.Replicas = replicas.states(context.Background())
		return p
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	listens := make(chan struct{})
	go func() {
		defer close(done)
		ln, err := listenPrivate(o.Announce.Dir)
		close(listens)
		if err != nil {
			o.Logger.Debug("slipway ps will not show this process", "error", err)
			return
		}
		defer context.AfterFunc(ctx, func() { _ = ln.Close() })()
		answerQueries(ctx, ln, describe)
	}()
	if wait > 0 {
		select {
		case <-listens:
		case <-time.After(wait):
		}
	}
	return func() {
		cancel()
		<-done
	}
}

// listenPrivate listens on a socket in dir that only this user can reach.
func listenPrivate(dir string) (net.Listener, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := private(dir, false); err != nil {
		return nil, err
	}
	// Processes in different PID namespaces can share the folder and have the same id.
	name := filepath.Join(dir, fmt.Sprintf("%d-%x%s", os.Getpid(), time.Now().UnixNano()&0xffffff, socketSuffix))
	ln, err := net.Listen("unix", name)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(name, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

// answerQueries answers all connections, one after the other.
func answerQueries(ctx context.Context, ln net.Listener, describe func() *Process) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(100 * time.Millisecond): // such as: too many open files
				continue
			}
		}
		text, err := json.Marshal(describe())
		if err == nil {
			_ = conn.SetDeadline(time.Now().Add(answerTime))
			_, _ = conn.Write(text) // the client may have disconnected
		}
		_ = conn.Close()
	}
}

// maxProcessText bounds the answer of a process, in bytes.
const maxProcessText = 4 << 20

// Processes returns the processes announced in dir, oldest first. It takes at most a few
// seconds. Sockets of dead processes are removed. If the folder does not exist, the
// result is empty. The folder must belong to this user; root may query any user's folder.
func Processes(ctx context.Context, dir string) ([]Process, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = private(dir, true)
	}
	if err != nil {
		return nil, err
	}
	found := make([]*Process, len(entries))
	turns := make(chan struct{}, 16)
	var all sync.WaitGroup
	for i, e := range entries {
		pid, ok := socketOf(e)
		if !ok {
			continue
		}
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			found[i] = queryProcess(ctx, filepath.Join(dir, e.Name()), pid)
		})
	}
	all.Wait()
	var processes []Process
	for _, p := range found {
		if p != nil {
			processes = append(processes, *p)
		}
	}
	order.By(processes, func(a, b Process) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.PID, b.PID))
	})
	return processes, nil
}

// socketOf returns the process that a socket in the folder belongs to.
func socketOf(e fs.DirEntry) (pid int, ok bool) {
	name, ok := strings.CutSuffix(e.Name(), socketSuffix)
	if !ok {
		return 0, false
	}
	number, _, _ := strings.Cut(name, "-")
	pid, err := strconv.Atoi(number)
	return pid, err == nil
}

// queryProcess queries the state of a process. It returns nil if the process no longer exists.
func queryProcess(ctx context.Context, socket string, pid int) *Process {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		if isNoListener(err) {
			removeStale(socket)
			return nil
		}
		return &Process{
			PID:   pid,
			Error: "it cannot be asked",
		}
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(answerTime))
	text, err := io.ReadAll(io.LimitReader(conn, maxProcessText))
	p := &Process{}
	if err == nil {
		err = json.Unmarshal(text, p)
	}
	if err != nil {
		return &Process{
			PID:   pid,
			Error: "it does not answer",
		}
	}
	return p
}

// isNoListener reports whether err means that no process is listening.
func isNoListener(err error) bool {
	return neterror.IsRefused(err) || errors.Is(err, fs.ErrNotExist)
}

// removeStale removes a socket, unless its process may be about to listen.
func removeStale(socket string) {
	info, err := os.Lstat(socket)
	if err == nil && time.Since(info.ModTime()) > answerTime {
		_ = os.Remove(socket) // another process may have removed it
	}
}

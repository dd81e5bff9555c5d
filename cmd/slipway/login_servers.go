package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/identity"
)

// serverLogins are the servers of definitions that require a login. The others are used without them, so
// that their errors do not end a command; see [withLogin].
type serverLogins struct {
	mu    sync.Mutex
	needs []*identity.LoginRequiredError
	known map[string]bool // servers that are in needs, or whose login was offered
	news  chan struct{}   // receives after an event; has room for one
}

// newServerLogins returns an empty list. The channel holds one signal, so that note never blocks.
func newServerLogins() *serverLogins {
	return &serverLogins{
		known: make(map[string]bool),
		news:  make(chan struct{}, 1),
	}
}

// errLoggedIn means that the command has to run again, because the user has logged in to a server.
var errLoggedIn = errors.New("logged in to a server: open the sources again")

// observe returns an observer that records the servers.
func (l *serverLogins) observe(next func(client.Event)) func(client.Event) {
	return func(e client.Event) {
		if next(e); e.Err != nil {
			l.note(e.Err)
		}
		select {
		case l.news <- struct{}{}:
		default:
		}
	}
}

// note records that a server requires a login, once per server. It ignores other errors, and
// servers that do not say where to log in.
func (l *serverLogins) note(err error) {
	var need *identity.LoginRequiredError
	if !errors.As(err, &need) || !need.Advertised {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known[need.Server] {
		l.known[need.Server] = true
		l.needs = append(l.needs, need)
	}
}

// take returns the servers for which no login was offered yet.
func (l *serverLogins) take() []*identity.LoginRequiredError {
	l.mu.Lock()
	defer l.mu.Unlock()
	needs := l.needs
	l.needs = nil
	return needs
}

// forget drops the servers of an attempt that has failed. Those for which a login was offered meanwhile stay known.
func (l *serverLogins) forget() {
	for _, need := range l.take() {
		l.mu.Lock()
		delete(l.known, need.Server)
		l.mu.Unlock()
	}
}

// offer offers a login to each of the servers, on a terminal or with --login. It reports whether the user
// has logged in to one. A login that fails is reported, and the others are used without that server.
func (l *serverLogins) offer(cmd *cobra.Command) (done bool) {
	offers := &loginOffers{cmd: cmd}
	for _, need := range l.take() {
		ok, err := offers.make(need)
		if err != nil {
			say(cmd.ErrOrStderr(), "%v", err)
			if f := (*failure)(nil); errors.As(err, &f) && f.hint != "" {
				hint(cmd.ErrOrStderr(), f.hint)
			}
		}
		done = done || ok
	}
	return done
}

// maxLoginWait is how long slipway serve waits on a terminal for remote servers that are still starting,
// because a login is offered before it serves.
const maxLoginWait = 3 * time.Second

// offerBefore is offer for a command that serves. It waits until the remote servers have started, or have
// found out that they require a login.
func (l *serverLogins) offerBefore(
	ctx context.Context,
	cmd *cobra.Command,
	servers *client.Roster,
) (done bool) {
	auto, _ := cmd.Flags().GetBool("login")
	if !auto && questionsOf(cmd) == nil {
		return false
	}
	late := time.NewTimer(maxLoginWait)
	defer late.Stop()
	for remoteStarting(servers) {
		select {
		case <-l.news:
		case <-late.C:
			return l.offer(cmd)
		case <-ctx.Done():
			return false
		}
	}
	return l.offer(cmd)
}

// remoteStarting reports whether a remote server is in its first start.
func remoteStarting(servers *client.Roster) bool {
	for _, s := range servers.States() {
		if s.Kind == "http" && s.Phase == client.Starting && s.Failures == 0 {
			return true
		}
	}
	return false
}

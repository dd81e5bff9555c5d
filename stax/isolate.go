package stax

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// Isolation gives clients separate processes of a server. It is written as "session" or
// "principal", or as an object.
type Isolation struct {
	By           client.IsolateBy `json:"by"`
	PerPrincipal int64            `json:"perPrincipal,omitempty"` // concurrent processes; 0: 8
	Total        int64            `json:"total,omitempty"`        // concurrent processes; 0: 64
	IdleMS       int64            `json:"idleMs,omitempty"`       // 0: 10 minutes
}

// MarshalJSON implements json.Marshaler.
func (i *Isolation) MarshalJSON() ([]byte, error) {
	if *i == (Isolation{By: i.By}) {
		return marshal(i.By)
	}
	type plain Isolation
	return marshal((*plain)(i))
}

// options returns the options of package client, with the defaults of definitions.
func (i *Isolation) options() *client.IsolateOptions {
	return &client.IsolateOptions{
		By:              i.By,
		MaxPerPrincipal: int(i.PerPrincipal),
		MaxTotal:        int(i.Total),
		IdleStop:        cmp.Or(time.Duration(i.IdleMS)*time.Millisecond, 10*time.Minute),
	}
}

// maxProcesses limits the number of processes that a definition may request.
const maxProcesses = 10_000

// isolate decodes the short form, a string, or an object with limits.
func (d *decoder) isolate(s *Server, n *tree.Node, at string) {
	s.Isolate = &Isolation{}
	if n.Kind == tree.String {
		d.isolateBy(s.Isolate, n, at)
		return
	}
	known := fields{
		"by": func(n *tree.Node, at string) {
			d.isolateBy(s.Isolate, n, at)
		},
		"perPrincipal": (*processCount)(&s.Isolate.PerPrincipal),
		"total":        (*processCount)(&s.Isolate.Total),
		"idleMs":       (*milliseconds)(&s.Isolate.IdleMS),
	}
	if !d.object(n, at, known, &s.Extra) {
		return
	}
	if n.Get("by") == nil {
		d.Add(ruleIsolate, at, `write "by": "session", or "principal"`, "isolate has no \"by\"")
	}
}

// isolateBy decodes what gets a process of its own.
func (d *decoder) isolateBy(i *Isolation, n *tree.Node, at string) {
	known := []string{string(client.BySession), string(client.ByPrincipal)}
	if d.read(n, at, (*string)(&i.By)) && !slices.Contains(known, n.Text) {
		d.Add(ruleIsolate, at, "write "+strings.Join(known, " or "), "a server cannot be isolated by %s",
			quote(n.Text))
	}
}

// processes decodes a number of processes.
func (d *decoder) processes(n *tree.Node, at string, into *processCount) {
	count, err := strconv.ParseInt(n.Text, 10, 64)
	if err != nil || count < 1 || count > maxProcesses {
		d.Add(ruleIsolate, at, "",
			"%s is not a number of processes between 1 and %d", n.Text, maxProcesses)
		return
	}
	*into = processCount(count)
}

// failover decodes what happens to sessions when another replica replaces this one.
func (d *decoder) failover(s *Server, n *tree.Node, at string) {
	known := []string{string(client.FailoverEnd), string(client.FailoverRestart), string(client.FailoverStateless)}
	if d.read(n, at, (*string)(&s.Failover)) && !slices.Contains(known, n.Text) {
		d.Add(ruleFailover, at, "write end, restart or stateless", "a failover cannot be %s", quote(n.Text))
	}
}

// contradiction reports a server that keeps something for its clients, since it is isolated, and
// declares that it does not.
func (d *decoder) contradiction(s *Server, at string) {
	if s.Isolate != nil && s.Failover == client.FailoverStateless {
		d.Add(ruleFailover, at+check.Pointer("failover"), `write "failover": "restart", or remove isolate`,
			"server %q has isolate, so it keeps something for its clients and is not stateless", s.Name)
	}
}

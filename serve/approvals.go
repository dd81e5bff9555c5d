package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// Approvals remembers to what users have consented. It is safe for concurrent use.
type Approvals struct {
	path   string           // "" keeps them in memory only
	shared *sharedApprovals // nil unless they are those of a cluster

	mu    sync.Mutex
	known map[approvalKey]time.Time // when they end; zero means never
}

// approvalKey is what a user has consented to. A consent is for one rule and one tool, so it
// does not cover what another rule forbids.
type approvalKey struct {
	Principal string `json:"principal"`
	// Endpoint is the endpoint that has rules of its own, or "".
	Endpoint string `json:"endpoint,omitempty"`
	Rule     string `json:"rule"`
	Item     string `json:"item"`
	// session is the session for which the consent is valid, or "". Only consents without one
	// are written to the file.
	session string
	// stream means that the session is a stream, which no other replica has.
	stream bool
}

// Limits of approvals.
const (
	maxApprovals      = 10_000
	maxOwnApprovals   = 1000 // of one principal
	maxApprovalsFile  = 8 << 20
	sessionConsent    = time.Hour // how long the consent for a session lasts at most
	maxShownArguments = 2000      // bytes of the arguments that users see
)

func newApprovals() *Approvals {
	return &Approvals{known: make(map[approvalKey]time.Time)}
}

// OpenApprovals reads the consents that are valid until they are removed from a file, which
// is created when there is the first. Users remove a consent by deleting its line.
func OpenApprovals(path string) (*Approvals, error) {
	a := newApprovals()
	a.path = path
	text, err := fsutil.ReadText(path, maxApprovalsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return nil, fmt.Errorf("approvals: %s: %s", path, fsutil.Reason(err))
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if strings.TrimSpace(line) == "" {
			continue
		}
		var key approvalKey
		if err := json.Unmarshal([]byte(line), &key); err != nil || key.Rule == "" || key.Item == "" {
			return nil, fmt.Errorf("approvals: %s:%d: want {\"principal\": …, \"rule\": …, \"item\": …}", path, n)
		}
		if len(a.known) >= maxApprovals {
			return nil, fmt.Errorf("approvals: %s: more than %d lines", path, maxApprovals)
		}
		a.known[key] = time.Time{}
	}
	return a, nil
}

// has reports whether a consent is known and valid.
func (a *Approvals) has(ctx context.Context, key approvalKey) bool {
	if a.shared != nil && !key.stream {
		return a.shared.has(ctx, key)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	until, ok := a.known[key]
	if ok && !until.IsZero() && time.Now().After(until) {
		delete(a.known, key)
		return false
	}
	return ok
}

// add remembers a consent until a time; zero means always, which is also written to the
// file. If there is no room, or the file cannot be written, the user is asked again.
func (a *Approvals) add(ctx context.Context, key approvalKey, until time.Time) error {
	if a.shared != nil && !key.stream {
		return a.shared.add(ctx, key, until)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, again := a.known[key]; !again {
		if most := maxApprovalsOf(key.Principal); a.ownLocked(key.Principal) >= most && !a.dropOwnLocked(key.Principal) {
			return fmt.Errorf("more than %d approvals", most)
		}
		if len(a.known) >= maxApprovals {
			a.dropEndedLocked()
		}
		if len(a.known) >= maxApprovals {
			return fmt.Errorf("more than %d approvals", maxApprovals)
		}
	}
	a.known[key] = until
	if !until.IsZero() || a.path == "" {
		return nil
	}
	return fsutil.Replace(a.path, 0o600, a.writeLocked)
}

// maxApprovalsOf returns how many consents of a principal are remembered. All callers without
// authentication are one principal, which only the limit of all applies to.
func maxApprovalsOf(principal string) int {
	if principal == "" {
		return maxApprovals
	}
	return maxOwnApprovals
}

// ownLocked returns the number of consents of a principal.
func (a *Approvals) ownLocked(principal string) (n int) {
	for key := range a.known {
		if key.Principal == principal {
			n++
		}
	}
	return n
}

// dropOwnLocked drops the consent for a session of a principal that ends first, if there is one.
func (a *Approvals) dropOwnLocked(principal string) bool {
	var first approvalKey
	var end time.Time
	for key, until := range a.known {
		if key.Principal == principal && !until.IsZero() && (end.IsZero() || until.Before(end)) {
			first, end = key, until
		}
	}
	if end.IsZero() {
		return false
	}
	delete(a.known, first)
	return true
}

// dropEndedLocked makes room: it drops what has ended, otherwise the consents for sessions.
func (a *Approvals) dropEndedLocked() {
	now := time.Now()
	before := len(a.known)
	for key, until := range a.known {
		if !until.IsZero() && now.After(until) {
			delete(a.known, key)
		}
	}
	if len(a.known) < before {
		return
	}
	for key, until := range a.known {
		if !until.IsZero() {
			delete(a.known, key)
		}
	}
}

// writeLocked writes the consents that have no end.
func (a *Approvals) writeLocked(w io.Writer) error {
	var keys []approvalKey
	for key, until := range a.known {
		if until.IsZero() {
			keys = append(keys, key)
		}
	}
	order.By(keys, func(x, y approvalKey) int {
		return cmp.Or(strings.Compare(x.Principal, y.Principal), strings.Compare(x.Rule, y.Rule),
			strings.Compare(x.Item, y.Item))
	})
	for _, key := range keys {
		line, err := mcp.Marshal(key)
		if err != nil {
			return err
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// approvalForm asks for a single yes.
var approvalForm = json.RawMessage(`{"type":"object","properties":{"allow":{"type":"boolean",` +
	`"title":"Allow this call","default":false}},"required":["allow"]}`)

// ask lets a call pass if the user consents to everything that rules forbid, now or before.
func (q *query) ask(d *policy.Decision) error {
	name := ""
	if q.caller != nil {
		name = q.caller.Name
	}
	key := func(r *policy.Rule) approvalKey {
		return approvalKey{
			Principal: name,
			Endpoint:  q.policy.endpoint,
			Rule:      r.ID,
			Item:      d.ItemID,
		}
	}
	session := mcp.RequestFrom(q.ctx).Session()
	var missing []*policy.Rule
	for _, r := range d.Rules {
		switch {
		case r.Approval == policy.ApproveAlways && q.policy.approvals.has(q.ctx, key(r)):
		case r.Approval == policy.ApproveSession && q.policy.approvals.has(q.ctx, key(r).in(session)):
		default:
			missing = append(missing, r)
		}
	}
	if len(missing) == 0 {
		q.note(d, "remembered")
		return nil
	}
	if err := q.consent(d, missing); err != nil {
		return err
	}
	for _, r := range missing {
		var err error
		switch r.Approval {
		case policy.ApproveAlways:
			err = q.policy.approvals.add(q.ctx, key(r), time.Time{})
		case policy.ApproveSession:
			err = q.policy.approvals.add(q.ctx, key(r).in(session), time.Now().Add(sessionConsent))
		}
		if err != nil {
			q.policy.log.Error("approval is not remembered", "rule", r.ID, "error", err)
		}
	}
	return nil
}

// in returns the key of a consent for a session, or for all requests without one.
func (k approvalKey) in(s mcp.Session) approvalKey {
	k.session = "session "
	switch {
	case s == nil:
	case s.ID() != "":
		k.session += s.ID()
	default:
		k.session += fmt.Sprintf("%p", s)
		k.stream = true
	}
	return k
}

// consent asks the user. The error is a denial, unless the question is the answer.
func (q *query) consent(d *policy.Decision, missing []*policy.Rule) error {
	answer, err := mcp.RequestFrom(q.ctx).Elicit(q.ctx, &mcp.ElicitParams{
		Key:             "slipway-approval",
		Message:         q.question(d, missing),
		RequestedSchema: approvalForm,
	})
	switch {
	case errors.Is(err, mcp.ErrInputRequired):
		q.note(d, "asked")
		return err
	case err != nil:
		return q.unanswered(d, err)
	}
	allow := string(jsonscan.Member(answer.Content, "allow")) == "true"
	if answer.Action != "accept" || !allow {
		q.note(d, "declined")
		return q.refuse(d, ", who declined")
	}
	q.note(d, "given")
	return nil
}

// unanswered returns the denial for a question without a usable answer: err is a [*mcp.Error] with
// [mcp.CodeInvalidParams] for answers that do not match the form, and otherwise why there is no answer, such as a
// client that cannot ask or that fails to.
func (q *query) unanswered(d *policy.Decision, err error) error {
	var e *mcp.Error
	if errors.As(err, &e) && e.Code == mcp.CodeInvalidParams {
		q.note(d, "invalid")
		return q.refuse(d, ", and "+e.Message)
	}
	q.note(d, "failed")
	return q.refuse(d, ", and asking the user failed: "+err.Error())
}

func (q *query) note(d *policy.Decision, approval string) {
	server.AddNote(q.ctx, server.Note{
		Rule:     d.RuleID(),
		Item:     d.ItemID,
		Approval: approval,
	})
}

func (q *query) refuse(d *policy.Decision, why string) error {
	return mcp.Errorf(mcp.CodeToolDenied, "%s", d.Reason()+why)
}

// question returns what the user is asked: tool, arguments, effect and the reasons.
func (q *query) question(d *policy.Decision, missing []*policy.Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Allow the call of %s?\n\nArguments: ", visible.Line(d.ItemID)) // the server chooses the name
	arguments := string(q.now.Arguments)
	switch {
	case arguments == "":
		arguments = "none"
	case len(arguments) > maxShownArguments:
		arguments = strings.ToValidUTF8(arguments[:maxShownArguments], "") +
			fmt.Sprintf("… (%d bytes in total)", len(arguments))
	}
	b.WriteString(visible.Line(arguments))
	fmt.Fprintf(&b, "\nEffect: %s", effectOf(q.op.Catalog.Tool(q.op.Name)))
	for _, r := range missing {
		fmt.Fprintf(&b, "\nRule: %s", r.ID)
		if r.Message != "" {
			fmt.Fprintf(&b, " (%s)", r.Message)
		}
		fmt.Fprintf(&b, ", valid %s", map[policy.Approval]string{
			policy.ApproveOnce:    "for this call",
			policy.ApproveSession: "until the session ends",
			policy.ApproveAlways:  "for all later calls of this tool",
		}[r.Approval])
	}
	return b.String()
}

// effectOf describes the effect of a tool by its hints.
func effectOf(t *mcp.Tool) string {
	var hints mcp.ToolAnnotations
	if t != nil && t.Annotations != nil {
		hints = *t.Annotations
	}
	switch {
	case hints.ReadOnlyHint:
		return "the server says that the tool changes nothing"
	case hints.DestructiveHint == nil || *hints.DestructiveHint:
		return "the tool may change or delete data"
	}
	return "the server says that the tool adds or changes data and deletes nothing"
}

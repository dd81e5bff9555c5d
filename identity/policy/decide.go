package policy

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/bits"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
)

// Effect is the outcome of a [Decision].
type Effect uint8

// The effects.
const (
	Deny Effect = iota
	Ask         // denied until the user consents
	Allow
)

// String returns "deny", "ask" or "allow".
func (e Effect) String() string { return [...]string{"deny", "ask", "allow"}[e] }

// Decision is the answer to a [Request].
type Decision struct {
	Effect Effect
	// Rules are the rules that decided: the forbids that apply, otherwise the permits. It is
	// empty if no rule permits the request.
	Rules []*Rule
	// ItemID is the id of the item in rules.
	ItemID string
	// Approval is the shortest consent that the rules accept, if the effect is Ask.
	Approval Approval
	// Scopes are what a token needs so that the request is not denied, if it is denied only
	// by rules with @scopes.
	Scopes []string
	// Errors are the rules that could not be evaluated, with the reason. A forbid among them
	// denies, and is also in Rules.
	Errors []RuleError
}

// RuleError is a rule that could not be evaluated for a request.
type RuleError struct {
	Rule   *Rule
	Reason string
	// Arguments means that no rule about the arguments of the request could be evaluated, and that its
	// caller may know why.
	Arguments bool
}

// RuleID returns the id of the rule that decided, or "default" if no rule permits the
// request.
func (d *Decision) RuleID() string {
	if len(d.Rules) == 0 {
		return DefaultRule
	}
	return d.Rules[0].ID
}

// DefaultRule is the id of the decision that no rule makes: deny.
const DefaultRule = "default"

// Reason returns why a request was denied, for its caller.
func (d *Decision) Reason() string {
	unclear := ""
	for _, e := range d.Errors {
		if e.Arguments && (len(d.Rules) == 0 || slices.Contains(d.Rules, e.Rule)) {
			unclear = ": " + e.Reason
		}
	}
	if len(d.Rules) == 0 {
		return "denied by policy: no rule permits it" + unclear
	}
	reason := "denied by policy: rule " + d.RuleID() + unclear
	if d.Effect == Ask {
		reason += " requires the user's approval"
	}
	if message := d.Rules[0].Message; message != "" {
		reason += ": " + message
	}
	return reason
}

// Decide decides a request. It is safe for concurrent use.
func (s *Set) Decide(r *Request) Decision {
	who := newSubject(r.Principal)
	what := newObject(s.withToolScopes(r.Item))
	return s.join(who, r.Action, what, r.servers(), s.prepare, func(c *candidates) Decision {
		return c.decide(s, &r.Situation)
	})
}

// servers returns the servers whose rules also decide about the request.
func (r *Request) servers() []*object {
	if r.Action == Connect {
		return nil
	}
	return serverObjects(r.Item.Servers)
}

// join decides about an item and the servers that it comes from together, so that what lifts
// all rules is asked for at once. What nothing lifts denies first, then what a token with
// other scopes avoids; consent is last, because it permits everything. find returns the rules
// for each, and outcome decides by them.
func (s *Set) join(
	who *subject, a Action, what *object, servers []*object,
	find func(who *subject, a Action, what *object) *candidates, outcome func(*candidates) Decision,
) Decision {
	var held *Decision // by rules about servers, which scopes or consent lift
	for _, server := range servers {
		d := outcome(find(who, Connect, server))
		switch {
		case !d.forbids():
		case !d.visible():
			return d
		default:
			held = d.with(held)
		}
	}
	use := outcome(find(who, a, what))
	if held == nil {
		return use
	}
	if !use.visible() && who.principal != nil { // a token with the scopes may be permitted
		use = outcome(s.prepare(who.with(held.Scopes), a, what))
	}
	if !use.visible() {
		return use
	}
	return *use.with(held)
}

// with returns the decision of the rules of both, neither of which denies for good. held may
// be nil, and is otherwise not an allowance.
func (d Decision) with(held *Decision) *Decision {
	if held == nil {
		return &d
	}
	all := *held
	if d.Effect != Allow {
		all.Rules = ranked(slices.Concat(all.Rules, d.Rules))
	}
	all.ItemID = d.ItemID
	all.Errors = slices.Concat(all.Errors, d.Errors)
	all.Scopes = slices.Clip(all.Scopes)
	for _, scope := range d.Scopes {
		if !slices.Contains(all.Scopes, scope) {
			all.Scopes = append(all.Scopes, scope)
		}
	}
	if len(all.Scopes) > 0 {
		all.Effect = Deny
		all.Approval = ""
	} else {
		all.Effect = Ask
		all.Approval = shortest(all.Rules)
	}
	return &all
}

// forbids reports whether rules forbid, rather than no rule permit, the request.
func (d *Decision) forbids() bool {
	return d.Effect != Allow && len(d.Rules) > 0
}

// visible reports whether the caller may know of the item: because of the user's consent or
// another token, a request for it may be allowed.
func (d *Decision) visible() bool { return d.Effect != Deny || len(d.Scopes) > 0 }

// verdict is what some rules say about a request.
type verdict struct {
	permits, forbids []*Rule
	errors           []RuleError
	failed           bool // a forbid could not be evaluated
}

// clip returns a verdict to which rules can be added without changing v.
func (v *verdict) clip() verdict {
	return verdict{
		permits: slices.Clip(v.permits),
		forbids: slices.Clip(v.forbids),
		errors:  slices.Clip(v.errors),
		failed:  v.failed,
	}
}

// denies reports whether no other rule, no consent and no other scope can change a denial.
func (v *verdict) denies() bool {
	return v.failed || slices.ContainsFunc(v.forbids, func(r *Rule) bool { return r.rank() == 0 })
}

// needsScopes reports whether a rule with @scopes denies.
func (v *verdict) needsScopes() bool {
	return slices.ContainsFunc(v.forbids, func(r *Rule) bool { return r.Scopes != nil })
}

// rank orders forbids by what lifts them: nothing, scopes, consent.
func (r *Rule) rank() int {
	switch {
	case r.Approval != "":
		return 2
	case r.Scopes != nil:
		return 1
	}
	return 0
}

// ranked returns forbids by their rank.
func ranked(forbids []*Rule) []*Rule {
	sorted := slices.Clone(forbids)
	slices.SortStableFunc(sorted, func(a, b *Rule) int { return a.rank() - b.rank() })
	return sorted
}

// decision returns the decision of all rules that say v, about an item.
func (v *verdict) decision(what *object) Decision {
	d := Decision{
		ItemID: what.id,
		Errors: v.errors,
	}
	switch {
	case v.denies():
		d.Rules = ranked(v.forbids)
	case v.needsScopes():
		d.Rules = ranked(v.forbids)
	case len(v.permits) == 0 && (what.item.Kind != ServerKind || len(v.forbids) == 0):
	case len(v.forbids) > 0: // of a server also without a permit, which its items do not need
		d.Effect = Ask
		d.Rules = v.forbids
		d.Approval = shortest(v.forbids)
	default:
		d.Effect = Allow
		d.Rules = v.permits
	}
	return d
}

// shortest returns the shortest consent that forbids accept.
func shortest(forbids []*Rule) Approval {
	order := []Approval{ApproveOnce, ApproveSession, ApproveAlways}
	least := len(order) - 1
	for _, r := range forbids {
		least = min(least, slices.Index(order, r.Approval))
	}
	return order[least]
}

// candidates are the rules that matter for a caller, an action and an item, once those that
// do not read the context have been evaluated.
type candidates struct {
	who    *subject
	action Action
	what   *object
	// fixed is what the rules say that do not read the context, and decided the decision if
	// there are no others.
	fixed   verdict
	decided Decision
	// permits and forbids are the rules that read the context, without those that cannot
	// change the decision.
	permits, forbids ruleList
	// scopes are those of all rules with @scopes.
	scopes []string
	// reads is what permits and forbids read of the context.
	reads reading
	// settling is what those of them read that have the same outcome at another time and with
	// other arguments, and settled the last outcome of these.
	settling reading
	settled  atomic.Pointer[settlement]
}

// reading is what rules read of the context, so that nothing else is converted.
type reading struct {
	uses      attributes
	arguments []*argument
}

// attributes is a set of attributes of the context.
type attributes uint16

const (
	readsTime attributes = 1 << iota
	readsHour
	readsWeekday
	readsTransport
	readsOrigin
	readsEndpoint
	readsApplication
	readsAddress
	readsArguments
)

var attributeNames = map[string]attributes{
	"time":        readsTime,
	"hour":        readsHour,
	"weekday":     readsWeekday,
	"transport":   readsTransport,
	"origin":      readsOrigin,
	"endpoint":    readsEndpoint,
	"application": readsApplication,
	"address":     readsAddress,
	"arguments":   readsArguments,
}

// has reports whether one of others is in the set.
func (a attributes) has(others attributes) bool { return a&others != 0 }

// settlement is the outcome of the rules that read neither the time nor arguments.
type settlement struct {
	at   surroundings
	rest *candidates // with the other rules only
}

// surroundings are the attributes of a situation that often stay the same. Those that no rule
// reads are zero.
type surroundings struct {
	transport, origin, endpoint, application string
	address                                  netip.Addr
	hours                                    int64 // since 1970: the hour and the weekday follow from it
}

// open reports whether the decision depends on the context.
func (c *candidates) open() bool { return len(c.permits)+len(c.forbids) > 0 }

// ruleList is the form in which Cedar takes rules, whose scope the request is known to meet.
type ruleList []*Rule

// All implements cedar.PolicyIterator.
func (l ruleList) All() iter.Seq2[cedar.PolicyID, *cedar.Policy] {
	return func(yield func(cedar.PolicyID, *cedar.Policy) bool) {
		for _, r := range l {
			if !yield(cedar.PolicyID(r.ID), r.conditions()) {
				return
			}
		}
	}
}

// find returns the rule with an id.
func (l ruleList) find(id cedar.PolicyID) *Rule {
	for _, r := range l {
		if r.ID == string(id) {
			return r
		}
	}
	return nil
}

// find calls found with the rules that the index has for a caller, an action and an item.
func (s *Set) find(who *subject, a Action, what *object, found func(*Rule)) {
	resources := make([]uint64, len(what.keys))
	for i, key := range what.keys {
		resources[i] = hashOf(key)
	}
	for _, principal := range who.keys {
		hash := hashOf(principal)
		for i, resource := range what.keys {
			key := ruleKey{a, principal, resource}
			for _, t := range s.texts {
				t.find(key, keyHash(a, hash, resources[i]), found)
			}
		}
	}
}

// prepare finds the rules for a caller, an action and an item, and evaluates those that do
// not read the context.
func (s *Set) prepare(who *subject, a Action, what *object) *candidates {
	c := &candidates{
		who:    who,
		action: a,
		what:   what,
	}
	var permits, forbids ruleList
	s.find(who, a, what, func(r *Rule) {
		switch {
		case !r.covers(who.entity.UID, what.entity.UID):
		case r.readsContext() && r.Forbid:
			c.forbids = append(c.forbids, r)
		case r.readsContext():
			c.permits = append(c.permits, r)
		case r.Forbid:
			forbids = append(forbids, r)
		default:
			permits = append(permits, r)
		}
	})
	for _, l := range []ruleList{permits, forbids, c.permits, c.forbids} {
		slices.SortFunc(l, func(x, y *Rule) int { return x.index - y.index })
	}
	c.evaluate(&c.fixed, permits, forbids, types.Record{})
	c.noteScopes(forbids, c.forbids)
	c.conclude(s)
	if !c.open() {
		c.offerScopes(s, &c.decided, &c.fixed, nil)
	}
	return c
}

// conclude drops the open rules that cannot change the decision, and decides by the fixed ones.
func (c *candidates) conclude(s *Set) {
	if c.fixed.denies() {
		c.forbids = nil
	}
	if c.fixed.denies() || len(c.fixed.permits) > 0 {
		c.permits = nil
	}
	c.decided = c.fixed.decision(c.what)
	c.reads = s.readingOf(c.permits, c.forbids)
	c.settling = s.readingOf(c.permits.where((*Rule).settles), c.forbids.where((*Rule).settles))
}

// settles reports whether the outcome of a rule is the same at another time and with other
// arguments.
func (r *Rule) settles() bool { return !r.uses.context["time"] && !r.uses.context["arguments"] }

// where returns the rules for which keep is true.
func (l ruleList) where(keep func(*Rule) bool) (some ruleList) {
	for _, r := range l {
		if keep(r) {
			some = append(some, r)
		}
	}
	return some
}

// settle returns the candidates for a situation without the rules that read neither the time
// nor arguments, whose outcome is remembered until their surroundings change.
func (c *candidates) settle(s *Set, now *Situation) *candidates {
	if c.settling.uses == 0 {
		return c
	}
	if last := c.settled.Load(); last != nil && last.at.meets(c.settling.uses, now) {
		return last.rest
	}
	timed := now.timed()
	return c.settleAt(s, &timed)
}

// settleAt evaluates the rules that settle for a situation, and remembers their outcome.
func (c *candidates) settleAt(s *Set, now *Situation) *candidates {
	context, err := c.settling.context(now)
	if err != nil {
		return c // the rules are evaluated with the others, and fail
	}
	open := func(r *Rule) bool { return !r.settles() }
	rest := &candidates{
		who:     c.who,
		action:  c.action,
		what:    c.what,
		fixed:   c.fixed.clip(),
		permits: c.permits.where(open),
		forbids: c.forbids.where(open),
		scopes:  c.scopes,
	}
	rest.evaluate(&rest.fixed, c.permits.where((*Rule).settles), c.forbids.where((*Rule).settles), context)
	rest.conclude(s)
	if !rest.open() && rest.fixed.needsScopes() {
		return c // what a token with the scopes may do can depend on more
	}
	c.settled.Store(&settlement{c.settling.surroundings(now), rest})
	return rest
}

// surroundings returns the attributes that rules read.
func (r *reading) surroundings(now *Situation) (all surroundings) {
	if r.uses.has(readsHour | readsWeekday) {
		all.hours = now.hours()
	}
	if r.uses.has(readsTransport) {
		all.transport = now.Transport
	}
	if r.uses.has(readsOrigin) {
		all.origin = now.Origin
	}
	if r.uses.has(readsEndpoint) {
		all.endpoint = now.Endpoint
	}
	if r.uses.has(readsApplication) {
		all.application = now.Application
	}
	if r.uses.has(readsAddress) {
		all.address = now.Address
	}
	return all
}

// meets reports whether a situation has the same attributes as one before, as far as rules read them.
func (before *surroundings) meets(uses attributes, now *Situation) bool {
	return !(uses.has(readsHour|readsWeekday) && before.hours != now.hours() ||
		uses.has(readsTransport) && before.transport != now.Transport ||
		uses.has(readsOrigin) && before.origin != now.Origin ||
		uses.has(readsEndpoint) && before.endpoint != now.Endpoint ||
		uses.has(readsApplication) && before.application != now.Application ||
		uses.has(readsAddress) && before.address != now.Address)
}

// hours returns the number of a whole hour of UTC.
func (now *Situation) hours() int64 {
	const hour = 60 * 60
	at := now.Time
	if at.IsZero() {
		at = time.Now()
	}
	seconds := at.Unix()
	if seconds < 0 { // round down
		seconds -= hour - 1
	}
	return seconds / hour
}

// at returns the time of the situation, in UTC.
func (now *Situation) at() time.Time {
	if now.Time.IsZero() {
		return time.Now().UTC()
	}
	return now.Time.UTC()
}

// timed returns the situation with its time, so that it is the same for all that is decided by it.
func (now *Situation) timed() Situation {
	timed := *now
	timed.Time = now.at()
	return timed
}

// readingOf returns what rules read of the context.
func (s *Set) readingOf(lists ...ruleList) (all reading) {
	arguments := make(map[string]bool)
	for _, r := range slices.Concat(lists...) {
		for name := range r.uses.context {
			all.uses |= attributeNames[name]
		}
		if r.uses.arguments == nil {
			continue
		}
		for name := range r.uses.arguments.members {
			arguments[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		all.arguments = append(all.arguments, s.arguments.members[name])
	}
	return all
}

// noteScopes adds the scopes of rules.
func (c *candidates) noteScopes(lists ...ruleList) {
	for _, l := range lists {
		for _, r := range l {
			for _, scope := range r.Scopes {
				if !slices.Contains(c.scopes, scope) {
					c.scopes = append(c.scopes, scope)
				}
			}
		}
	}
}

// offerScopes completes the decision of rules that say v, if only scopes are missing: a token
// with them must be able to do more, otherwise the request is denied because no rule permits
// it. That goes for items: a server needs no permit for what is used of it, and a forbid stays.
func (c *candidates) offerScopes(s *Set, d *Decision, v *verdict, now *Situation) {
	if v.denies() || !v.needsScopes() {
		return
	}
	if c.action != Connect && len(v.permits) == 0 && !c.permitsWithScopes(s, now) {
		d.Rules = nil
		return
	}
	d.Scopes = c.scopes
}

// permitsWithScopes reports whether the caller could do it with a token that has the scopes.
func (c *candidates) permitsWithScopes(s *Set, now *Situation) bool {
	if c.who.principal == nil || c.who.widened {
		return false
	}
	d := s.prepare(c.who.with(c.scopes), c.action, c.what).might(s, now)
	return d.Effect != Deny
}

// decide completes the decision for a situation.
func (c *candidates) decide(s *Set, now *Situation) Decision {
	return c.settle(s, now).decideOpen(s, now)
}

// decideOpen completes the decision by the open rules.
func (c *candidates) decideOpen(s *Set, now *Situation) Decision {
	if !c.open() {
		return c.decided
	}
	var g given
	switch met, sure := c.quick(&g, now); {
	case sure && !met && !c.fixed.needsScopes():
		return c.decided
	case sure:
		return c.decideQuick(s, &g, now)
	}
	return c.decideSlow(s, now)
}

// decideSlow evaluates all open rules for a situation.
func (c *candidates) decideSlow(s *Set, now *Situation) Decision {
	v := c.fixed.clip()
	context, err := c.reads.context(now)
	if err != nil { // no rule about the arguments can be evaluated
		unclear := errors.As(err, new(*argumentError))
		for _, r := range slices.Concat(c.permits, c.forbids) {
			v.fail(RuleError{r, err.Error(), unclear})
		}
		return v.decision(c.what)
	}
	c.evaluate(&v, nil, c.forbids, context)
	if !v.denies() {
		c.evaluate(&v, c.permits, nil, context)
	}
	d := v.decision(c.what)
	c.offerScopes(s, &d, &v, now)
	return d
}

// evaluate adds what rules say. Permits and forbids are evaluated apart, because Cedar
// reports no permits next to forbids, and consent can lift a forbid.
func (c *candidates) evaluate(v *verdict, permits, forbids ruleList, context types.Record) {
	for _, rules := range []ruleList{permits, forbids} {
		if len(rules) == 0 {
			continue
		}
		_, diagnostic := cedar.Authorize(rules, c, cedar.Request{
			Principal: c.who.entity.UID,
			Action:    c.action.uid(),
			Resource:  c.what.entity.UID,
			Context:   context,
		})
		for _, reason := range diagnostic.Reasons {
			r := rules.find(reason.PolicyID)
			if r.Forbid {
				v.forbids = append(v.forbids, r)
			} else {
				v.permits = append(v.permits, r)
			}
		}
		for _, e := range diagnostic.Errors {
			v.fail(RuleError{
				Rule:   rules.find(e.PolicyID),
				Reason: e.Message,
			})
		}
	}
}

// fail records a rule that could not be evaluated. A forbid denies, and no consent lifts it.
func (v *verdict) fail(e RuleError) {
	v.errors = append(v.errors, e)
	if e.Rule.Forbid {
		v.failed = true
		v.forbids = append(v.forbids, e.Rule)
	}
}

// might returns the decision for the best arguments: rules that read the arguments may
// permit, and their forbids may not apply. If now is nil, that goes for all rules that read
// the context.
func (c *candidates) might(s *Set, now *Situation) Decision {
	if !c.open() {
		return c.decided
	}
	if now != nil {
		if c = c.settle(s, now); !c.open() {
			return c.decided
		}
	}
	v := c.fixed.clip()
	var permits, forbids ruleList
	for _, r := range c.permits {
		if now == nil || r.uses.context["arguments"] {
			v.permits = append(v.permits, r)
		} else {
			permits = append(permits, r)
		}
	}
	for _, r := range c.forbids {
		if now != nil && !r.uses.context["arguments"] {
			forbids = append(forbids, r)
		}
	}
	if len(permits)+len(forbids) > 0 {
		context, err := c.reads.context(now)
		if err != nil {
			return Decision{}
		}
		c.evaluate(&v, permits, forbids, context)
	}
	d := v.decision(c.what)
	c.offerScopes(s, &d, &v, now)
	return d
}

// Get implements types.EntityGetter: the entities of the request.
func (c *candidates) Get(uid types.EntityUID) (types.Entity, bool) {
	switch uid {
	case c.who.entity.UID:
		return c.who.entity, true
	case c.what.entity.UID:
		return c.what.entity, true
	case c.action.uid():
		action := types.Entity{UID: uid}
		if c.action.uses() {
			action.Parents = cedar.NewEntityUIDSet(useUID())
		}
		return action, true
	}
	return types.Entity{}, false
}

// context returns the attributes that rules read.
func (r *reading) context(now *Situation) (types.Record, error) {
	at := now.at()
	members := make(cedar.RecordMap, bits.OnesCount16(uint16(r.uses)))
	for one := readsTime; one <= readsArguments; one <<= 1 {
		switch r.uses & one {
		case readsTime:
			members["time"] = types.NewDatetime(at)
		case readsHour:
			members["hour"] = types.Long(at.Hour())
		case readsWeekday:
			members["weekday"] = types.Long((int(at.Weekday())+6)%7 + 1)
		case readsTransport:
			members["transport"] = types.String(now.Transport)
		case readsOrigin:
			members["origin"] = types.String(now.Origin)
		case readsEndpoint:
			members["endpoint"] = types.String(now.Endpoint)
		case readsApplication:
			members["application"] = types.String(now.Application)
		case readsAddress:
			if now.Address.IsValid() {
				addr, err := types.ParseIPAddr(now.Address.Unmap().WithZone("").String())
				if err != nil {
					return types.Record{}, fmt.Errorf("address: %w", err)
				}
				members["address"] = addr
			}
		case readsArguments:
			if err := addArguments(members, r.arguments, now); err != nil {
				return types.Record{}, err
			}
		}
	}
	return cedar.NewRecord(members), nil
}

// String returns the decision for people: the effect and the rules that decided.
func (d *Decision) String() string {
	ids := make([]string, len(d.Rules))
	for i, r := range d.Rules {
		ids[i] = r.ID
	}
	if len(ids) == 0 {
		ids = []string{DefaultRule}
	}
	return d.Effect.String() + " by " + strings.Join(ids, ", ")
}

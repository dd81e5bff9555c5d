package serve

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// storingAgain is an engine whose records a replica stores again before each of the first updates.
type storingAgain struct {
	cluster.Engine
	times int
}

func (e *storingAgain) Update(
	ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration,
) (uint64, error) {
	if e.times--; e.times >= 0 {
		r, err := e.Get(ctx, key)
		if err != nil {
			return 0, err
		}
		if _, err := e.Engine.Update(ctx, key, r.Value, r.Revision, 0); err != nil {
			return 0, err
		}
	}
	return e.Engine.Update(ctx, key, value, revision, ttl)
}

func shareApprovals(t *testing.T, e cluster.Engine) *Approvals {
	t.Helper()
	r, err := cluster.Join(t.Context(), e, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Leave(context.Background()) })
	a, err := ShareApprovals(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func consentOf(principal, item string) approvalKey {
	return approvalKey{Principal: principal, Rule: "r", Item: item}
}

// TestRevocationPrevails: a revoked consent stays revoked, although a replica stores it again at the same time,
// its clock is ahead, or it has not reached the engine before.
func TestRevocationPrevails(t *testing.T) {
	e := cluster.NewMemory()
	a := shareApprovals(t, e)
	s, ctx := a.shared, t.Context()
	key := consentOf("ann", "a/run")
	ahead := approvalRecord{At: time.Now().Add(time.Hour), Rule: "r", Item: "a/run"}
	if err := s.put(ctx, key.name(), &ahead); err != nil || !a.has(ctx, key) {
		t.Fatalf("the consent is not stored: %v", err)
	}
	if n, err := RevokeApprovals(ctx, &storingAgain{Engine: e, times: 2}, "ann"); n != 1 || err != nil {
		t.Errorf("RevokeApprovals = %d, %v, want 1", n, err)
	}
	if err := s.group.Sync(ctx); err != nil { // it is notified within milliseconds
		t.Fatal(err)
	}
	if a.has(ctx, key) {
		t.Error("a consent that was stored again during the revocation is valid")
	}
	if err := s.put(ctx, key.name(), &ahead); err != nil || a.has(ctx, key) {
		t.Errorf("a consent that was stored again after the revocation is valid, %v", err)
	}
	s.mu.Lock()
	s.unstored[key.name()] = ahead
	s.mu.Unlock()
	if a.has(ctx, key) {
		t.Error("a consent that the replica could not store is valid after its revocation")
	}
}

// TestLaterConsentPrevails: what a replica stores again after a loss of data replaces nothing newer.
func TestLaterConsentPrevails(t *testing.T) {
	a := shareApprovals(t, cluster.NewMemory())
	s, ctx, now := a.shared, t.Context(), time.Now()
	key := consentOf("ann", "a/run")
	for _, r := range []approvalRecord{
		{At: now, Rule: "r", Item: "a/run"},
		{At: now.Add(-time.Minute), Until: now.Add(time.Minute), Revoked: true},
		{At: now.Add(-time.Hour), Until: now.Add(time.Second)},
	} {
		if err := s.put(ctx, key.name(), &r); err != nil {
			t.Fatal(err)
		}
	}
	r, err := s.group.Read(ctx, key.name())
	kept, ok := readApproval(r)
	if err != nil || !ok || kept.Revoked || !kept.Until.IsZero() {
		t.Errorf("the record is %+v, %v, want the consent without an end", kept, err)
	}
}

// TestApprovalsOfOne: a user with many consents displaces only their own, those for sessions first.
func TestApprovalsOfOne(t *testing.T) {
	ctx, soon := t.Context(), time.Now().Add(time.Minute)
	check := func(t *testing.T, a *Approvals, fill func(key approvalKey, until time.Time)) {
		ann, first := consentOf("ann", "a/run").in(nil), consentOf("eve", "first").in(nil)
		fill(ann, soon)
		fill(first, soon.Add(time.Minute))
		for i := range maxOwnApprovals - 1 {
			fill(consentOf("eve", fmt.Sprint(i)), time.Time{})
		}
		if err := a.add(ctx, consentOf("eve", "last"), time.Time{}); err != nil {
			t.Fatal(err)
		}
		if a.has(ctx, first) || !a.has(ctx, consentOf("eve", "last")) || !a.has(ctx, consentOf("eve", "0")) {
			t.Error("the consent for a session makes no room for a permanent one")
		}
		if err := a.add(ctx, consentOf("eve", "more"), time.Time{}); err == nil || a.has(ctx, consentOf("eve", "more")) {
			t.Errorf("one user has more than %d consents, %v", maxOwnApprovals, err)
		}
		if err := a.add(ctx, consentOf("bob", "a/run"), time.Time{}); err != nil || !a.has(ctx, ann) {
			t.Errorf("another user has no room: %v", err)
		}
	}
	t.Run("memory", func(t *testing.T) {
		a := newApprovals()
		check(t, a, func(key approvalKey, until time.Time) { a.known[key] = until })
		for i := range 2 * maxOwnApprovals { // without authentication, all callers are one
			if err := a.add(ctx, consentOf("", fmt.Sprint(i)), time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("cluster", func(t *testing.T) {
		a := shareApprovals(t, cluster.NewMemory())
		check(t, a, func(key approvalKey, until time.Time) {
			r := approvalRecord{At: time.Now(), Until: until}
			if err := a.shared.put(ctx, key.name(), &r); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// TestFirstToEnd: a revocation is displaced only if nothing else can be.
func TestFirstToEnd(t *testing.T) {
	records := map[string]cluster.Record{
		cluster.Marker: {Value: []byte("X")},
		"aa1":          {Key: "revoked", Value: []byte(`{"until":"2026-01-01T00:00:00Z","revoked":true}`)},
		"aa2":          {Key: "late", Value: []byte(`{"until":"2026-01-03T00:00:00Z"}`)},
		"aa3":          {Key: "permanent", Value: []byte(`{}`)},
		"bb1":          {Key: "early", Value: []byte(`{"until":"2026-01-02T00:00:00Z"}`)},
	}
	for _, tt := range []struct {
		holder  string
		revoked bool
		want    string
	}{{"", false, "early"}, {"aa", false, "late"}, {"", true, "revoked"}, {"bb", true, ""}} {
		if r, ok := firstToEnd(records, tt.holder, tt.revoked); r.Key != tt.want || ok != (tt.want != "") {
			t.Errorf("firstToEnd of %q, revoked %v = %q, want %q", tt.holder, tt.revoked, r.Key, tt.want)
		}
	}
}

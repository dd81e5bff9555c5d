package serve

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// answering is an issuer that gives one answer to all questions; "" means none.
type answering struct {
	text  string
	asked int
}

func (a *answering) RoundTrip(*http.Request) (*http.Response, error) {
	a.asked++
	if a.text == "" {
		return nil, errors.New("no answer")
	}
	return &http.Response{
		Status:     "200 OK",
		StatusCode: http.StatusOK,
		Body:       io.NopCloser(strings.NewReader(a.text)),
	}, nil
}

const activeToken = `{"active":true,"sub":"ann","aud":["https://x.example/mcp","https://x.example/mcp/part"]}`

func (a *answering) introspection(t *testing.T, audience string, remember time.Duration) *Introspection {
	t.Helper()
	v, err := NewIntrospection(&IntrospectionOptions{
		Issuer:   "https://id.example",
		URL:      "https://id.example/introspect",
		Audience: []string{audience},
		Remember: remember,
		Client:   &http.Client{Transport: a},
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestRevokedAfterOutage: a token that was accepted before its issuer could not be asked is known to be revoked
// when it can be asked again.
func TestRevokedAfterOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &answering{text: activeToken}
		v := i.introspection(t, "https://x.example/mcp", time.Second)
		var published []tokenNews
		v.share(func(n tokenNews) { published = append(published, n) })
		for _, answer := range []string{activeToken, "", "", `{"active":false}`, `{"active":false}`} {
			i.text = answer
			_, err := v.Verify(t.Context(), "opaque")
			if accepted := err == nil; accepted != (answer == activeToken) {
				t.Errorf("with the answer %q: %v", answer, err)
			}
			time.Sleep(2 * time.Second)
		}
		sum := sumOf("opaque")
		if len(published) != 1 || published[0].Token != hex.EncodeToString(sum[:]) {
			t.Errorf("published %+v, want the token once", published)
		}
	})
}

// TestRevokedAtAnotherEndpoint: a token that one endpoint finds revoked is refused by the others of its replica.
func TestRevokedAtAnotherEndpoint(t *testing.T) {
	r, err := cluster.Join(t.Context(), cluster.NewMemory(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Leave(context.Background()) })
	i := &answering{text: activeToken}
	whole := i.introspection(t, "https://x.example/mcp", time.Nanosecond)
	part := i.introspection(t, "https://x.example/mcp/part", time.Hour)
	s := &tokenSharing{
		replica: r,
		out:     make(chan tokenNews, maxTokenNews),
		wake:    make(chan struct{}, 1),
		fetch:   make(map[*keySet]*keyNews),
	}
	for _, v := range []Verifier{whole, part} {
		d := &admission{}
		d.policy.Store(&accessRules{auth: &Auth{Verifiers: []Verifier{v}}})
		s.admissions = append(s.admissions, d)
		if _, err := v.Verify(t.Context(), "opaque"); err != nil {
			t.Fatal(err)
		}
	}
	s.connect()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.run(ctx)
	}()
	defer func() {
		stop()
		<-done
	}()
	i.text = `{"active":false}`
	if _, err := whole.Verify(t.Context(), "opaque"); !errors.Is(err, ErrToken) {
		t.Fatalf("the token is not revoked: %v", err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := part.Verify(t.Context(), "opaque"); errors.Is(err, ErrToken) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the other endpoint accepts the token")
		}
	}
}

// TestRefetchPauses: messages do not make a replica fetch the keys of an issuer that fails more often than others.
func TestRefetchPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &answering{}
		s := newKeySet(&JWTOptions{
			JWKSURL: "https://id.example/keys",
			Pause:   time.Second,
			Timeout: time.Second,
			Client:  &http.Client{Transport: i},
		})
		s.state.Store(&fetched{&keys{text: []byte("old")}, time.Now()})
		begin := time.Now()
		for range 3 {
			if _, err := s.refetch(t.Context(), "another"); err == nil {
				t.Error("keys that cannot be fetched are fetched")
			}
		}
		if took := time.Since(begin); took != 2*time.Second || i.asked != 3 {
			t.Errorf("%d fetches in %s, want 3 in 2s", i.asked, took)
		}
	})
}

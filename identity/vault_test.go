package identity_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/test/authtest"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
)

const gatewayURL = "https://gateway.example"

// newVault returns a vault whose callers are of two issuers.
func newVault(t *testing.T) *identity.Vault {
	t.Helper()
	v := identity.NewVault(&identity.VaultOptions{Client: newClient(newStore(t))})
	v.Serve(&identity.VaultHost{
		Base:     gatewayURL,
		Verify:   func(context.Context, string) (*mcp.Principal, error) { return nil, errors.New("not used") },
		Resource: func(issuer string) (string, bool) { return gatewayURL + "/mcp", strings.HasPrefix(issuer, "https://") },
	})
	return v
}

func as(issuer, subject string) context.Context {
	return mcp.WithPrincipal(context.Background(), &mcp.Principal{
		Name:    issuer + "#" + subject,
		Issuer:  issuer,
		Subject: subject,
	})
}

// addressOf asks a caller that cannot be asked, and returns the address.
func addressOf(v *identity.Vault, ctx context.Context, server string, scopes ...string) (string, error) {
	err := v.Ask(ctx, server, &identity.LoginRequiredError{
		Server: server,
		Scopes: scopes,
		Reason: "it requires a login",
	})
	var connect *identity.ConnectError
	if errors.As(err, &connect) {
		return connect.URL, nil
	}
	return "", err
}

func TestCallerOf(t *testing.T) {
	for _, p := range []*mcp.Principal{
		nil,
		{Name: "reader"},
		{Name: "a", Issuer: "https://id.example"},
		{Name: "a", Subject: "alice"},
		{Name: "a", Issuer: "https://id.example#alice", Subject: "b"},
		{Name: "a", Issuer: "https://id.example\n", Subject: "b"},
	} {
		if c, ok := identity.CallerOf(p); ok {
			t.Errorf("CallerOf(%+v) = %v, want none", p, c)
		}
	}
}

func TestAsk(t *testing.T) {
	v := newVault(t)
	alice := as("https://id.example", "alice")
	const server = "https://crm.example/mcp"
	first, err := addressOf(v, alice, server, "read")
	if err != nil || !strings.HasPrefix(first, gatewayURL+"/connect/") || len(first) != len(gatewayURL+"/connect/")+26 {
		t.Fatalf("address = %q, %v, want one with an ID of 26 characters", first, err)
	}
	if again, err := addressOf(v, alice, server, "read"); again != first || err != nil {
		t.Errorf("second address = %q, %v, want the same while it is open", again, err)
	}
	seen := map[string]bool{first: true}
	for _, other := range []func() (string, error){
		func() (string, error) { return addressOf(v, alice, server, "read", "write") },
		func() (string, error) { return addressOf(v, alice, "https://wiki.example/mcp", "read") },
		func() (string, error) { return addressOf(v, as("https://id.example", "bob"), server, "read") },
		func() (string, error) { return addressOf(v, as("https://other.example", "alice"), server, "read") },
	} {
		address, err := other()
		if err != nil || seen[address] {
			t.Errorf("address = %q, %v, want another one", address, err)
		}
		seen[address] = true
	}
	for _, unknown := range []context.Context{context.Background(), as("", ""), as("http://unknown", "alice")} {
		if address, err := addressOf(v, unknown, server, "read"); err == nil {
			t.Errorf("address = %q for a caller who cannot prove anything", address)
		}
	}
	closed := identity.NewVault(&identity.VaultOptions{Client: newClient(newStore(t))})
	if address, err := addressOf(closed, alice, server); err == nil {
		t.Errorf("address = %q without a public URL", address)
	}
}

func TestTicketsAreBounded(t *testing.T) {
	v := newVault(t)
	now := time.Now()
	identity.SetVaultClock(v, func() time.Time { return now })
	alice := as("https://id.example", "alice")
	var last string
	for i := range 8 {
		address, err := addressOf(v, alice, fmt.Sprintf("https://s%d.example/mcp", i))
		if err != nil {
			t.Fatal(err)
		}
		last = strings.TrimPrefix(address, gatewayURL+"/connect/")
	}
	if address, err := addressOf(v, alice, "https://more.example/mcp"); err == nil {
		t.Errorf("the ninth address of a caller = %q, want an error", address)
	}
	opened := 8
	var err error
	for ; err == nil && opened < 2000; opened++ {
		_, err = addressOf(v, as("https://id.example", fmt.Sprint(opened)), "https://s.example/mcp")
	}
	if opened != 1001 {
		t.Errorf("address %d is refused with %v, want the 1001st", opened, err)
	}
	if _, err := v.Ticket(last, ""); err != nil {
		t.Errorf("Ticket = %v, want one that is open", err)
	}
	now = now.Add(10*time.Minute + time.Second)
	for _, id := range []string{last, "", "callback", "AAAAAAAAAAAAAAAAAAAAAAAAAA"} {
		_, err := v.Ticket(id, "")
		if gone := new(identity.TicketError); !errors.As(err, &gone) || !gone.Gone {
			t.Errorf("Ticket(%q) = %v, want that it is gone", id, err)
		}
	}
	if _, err := addressOf(v, alice, "https://more.example/mcp"); err != nil {
		t.Errorf("after 10 minutes: %v, want a new address", err)
	}
}

// TestVaultFollowsTheStore ends a login in another process, whose tokens cannot be revoked: the
// gateway does not use it any more.
func TestVaultFollowsTheStore(t *testing.T) {
	s := startServer(t)
	store := newStore(t)
	other := identity.OpenStore(filepath.Dir(store.Path()), &identity.StoreOptions{NoKeychain: true})
	v := identity.NewVault(&identity.VaultOptions{Client: newClient(store)})
	c := identity.Caller{
		Issuer:  "https://id.example",
		Subject: "alice",
	}
	k := v.Credentials(c, s.URL, nil)
	if _, err := request(t, k, s); err == nil {
		t.Fatal("a request without a login succeeds")
	}
	// The login, too, is of another process.
	b, err := identity.ForCaller(newClient(other), c).Begin(t.Context(), s.URL, &identity.BeginOptions{Redirect: redirect})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Finish(t.Context(), answerOf(t, b.Authorization().URL)); err != nil {
		t.Fatal(err)
	}
	if status, err := request(t, k, s); status != http.StatusOK || err != nil || !v.Connected(c, s.URL) {
		t.Errorf("request = %d, %v, want 200 with the login of another process", status, err)
	}
	s.Break(authtest.RevokeDown)
	if ended, err := newClient(other).Disconnect(t.Context(), c.String(), s.URL); ended != 1 || err == nil {
		t.Errorf("Disconnect = %d, %v, want one, and that its tokens remain valid", ended, err)
	}
	if status, err := request(t, k, s); err == nil || v.Connected(c, s.URL) {
		t.Errorf("request after the logout = %d, %v, want an error", status, err)
	}
}

// TestVaultReportsRefreshes reports a refresh that fails, once for each reason.
func TestVaultReportsRefreshes(t *testing.T) {
	s := startServer(t)
	logins := newClient(newStore(t))
	v := identity.NewVault(&identity.VaultOptions{Client: logins})
	var events []identity.Event
	v.Serve(&identity.VaultHost{Observe: func(e *identity.Event) { events = append(events, *e) }})
	v.Name(s.URL, "crm")
	c := identity.Caller{
		Issuer:  "https://id.example",
		Subject: "alice",
	}
	b, err := identity.ForCaller(logins, c).Begin(t.Context(), s.URL, &identity.BeginOptions{Redirect: redirect})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Finish(t.Context(), answerOf(t, b.Authorization().URL)); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	identity.SetClock(logins, func() time.Time { return now })
	k := v.Credentials(c, s.URL, nil)
	for i, step := range []struct {
		fault  authtest.Fault
		status int // 0: the request is not sent
		want   string
	}{
		{authtest.Down, 0, "refresh_failed"},
		{authtest.Down, 0, ""}, // as before
		{authtest.NotJSON, 0, "refresh_failed"},
		{"", http.StatusOK, ""},
		{authtest.Down, 0, "refresh_failed"},
	} {
		if step.fault == authtest.Down && i > 1 || i == 0 {
			now = now.Add(2 * time.Hour)
		}
		s.Break(step.fault)
		events = nil
		status, err := request(t, k, s)
		if status != step.status || (err == nil) != (step.status != 0) {
			t.Errorf("step %d: request = %d, %v", i, status, err)
		}
		got := ""
		for _, e := range events {
			got += string(e.Kind)
			if e.Caller != c || e.Name != "crm" || e.Server != s.URL || e.Issuer != s.Issuer || e.Reason == "" {
				t.Errorf("step %d: event %+v, want caller, server, issuer and reason", i, e)
			}
		}
		if got != step.want {
			t.Errorf("step %d: events %q, want %q", i, got, step.want)
		}
	}
}

// TestVaultNeverAnothers makes random logins, logouts and requests of callers with similar
// names, in one store. A request is made with the token of its caller, or with none.
func TestVaultNeverAnothers(t *testing.T) {
	race.SkipSlow(t)
	p := authtest.StartProvider()
	t.Cleanup(p.Close)
	p.SetLife(100 * time.Millisecond)
	p.SetLeeway(time.Hour)
	var base string
	server := httptest.NewUnstartedServer(nil)
	base = "http://" + server.Listener.Addr().String()
	server.Config.Handler = p.Protect(func() string { return base },
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Seen", r.Header.Get("X-User")) }))
	server.Start()
	t.Cleanup(server.Close)

	var callers []identity.Caller
	for _, issuer := range []string{"https://id.example", "https://id.example/", "https://id.example/a", "https://a"} {
		for _, subject := range []string{"alice", "a#alice", "\nalice", "alice ", "Alice", "https://a\nalice"} {
			c, ok := identity.CallerOf(&mcp.Principal{
				Issuer:  issuer,
				Subject: subject,
			})
			if !ok {
				t.Fatalf("%q %q is no caller", issuer, subject)
			}
			callers = append(callers, c)
		}
	}
	logins := newClient(newStore(t))
	v := identity.NewVault(&identity.VaultOptions{Client: logins})
	v.Serve(&identity.VaultHost{Base: "http://127.0.0.1:9"})
	userOf := func(i int) string { return fmt.Sprintf("user-%d", i) }
	credentials := make([]*identity.Credentials, len(callers))
	connected := make([]bool, len(callers))
	for i, c := range callers {
		credentials[i] = v.Credentials(c, base+"/mcp", nil)
	}
	connect := func(i int) {
		t.Helper()
		login := identity.ForCaller(logins, callers[i])
		b, err := login.Begin(t.Context(), base+"/mcp", &identity.BeginOptions{Redirect: redirect})
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.Authorization().URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.AddCookie(&http.Cookie{
			Name:  authtest.UserCookie,
			Value: userOf(i),
		})
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		to, err := url.Parse(resp.Header.Get("Location"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Finish(t.Context(), to.Query()); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for step := range 200 {
		i := random.IntN(len(callers))
		switch random.IntN(6) {
		case 0:
			connect(i)
			connected[i] = true
		case 1:
			ended, err := v.Disconnect(t.Context(), callers[i].String(), base+"/mcp")
			if (ended == 1) != connected[i] || ended > 1 {
				t.Fatalf("seed %d, step %d: Disconnect(%q) = %d, %v, connected %v", seed, step, callers[i], ended, err,
					connected[i])
			}
			connected[i] = false
		default:
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					seen, err := seenBy(t.Context(), credentials[i], base+"/mcp")
					if connected[i] && (seen != userOf(i) || err != nil) || !connected[i] && seen != "" {
						t.Errorf("seed %d, step %d: %q is seen as %q, %v, want %q (connected: %v)", seed, step, callers[i], seen,
							err, userOf(i), connected[i])
					}
				})
			}
			all.Wait()
		}
		if t.Failed() {
			return
		}
	}
	if n := p.Count("reuse"); n != 0 {
		t.Errorf("%d refresh tokens were used twice", n)
	}
}

// seenBy makes a request as client.Endpoint does, and returns the user that the server saw.
func seenBy(ctx context.Context, k *identity.Credentials, server string) (user string, err error) {
	for range 3 {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server, nil)
		if err != nil {
			return "", err
		}
		if err := k.Authorize(r); err != nil {
			return "", err
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return "", err
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return resp.Header.Get("Seen"), nil
		}
		if retry, err := k.Refused(resp); err != nil || !retry {
			return "", err
		}
	}
	return "", errors.New("refused three times")
}

// TestDisconnectDoesNotWait ends the logins of a caller to two servers whose issuers do not answer:
// both end at once, and that their tokens remain valid is reported later.
func TestDisconnectDoesNotWait(t *testing.T) {
	logins := newClient(newStore(t))
	v := identity.NewVault(&identity.VaultOptions{Client: logins})
	var mu sync.Mutex
	var events []identity.EventKind
	v.Serve(&identity.VaultHost{
		Base:     "https://gateway.example.com",
		Resource: func(string) (string, bool) { return "", true },
		Observe: func(e *identity.Event) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, e.Kind)
		},
	})
	c := identity.Caller{Issuer: "https://id.example.com", Subject: "alice"}
	release := make(chan struct{})
	for range 2 {
		s := startServer(t)
		b, err := identity.ForCaller(logins, c).Begin(t.Context(), s.URL, &identity.BeginOptions{Redirect: redirect})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Finish(t.Context(), answerOf(t, b.Authorization().URL)); err != nil {
			t.Fatal(err)
		}
		s.Break(authtest.RevokeDown)
		s.HoldRevocations(release)
	}
	ended, err := v.Disconnect(t.Context(), c.String(), "")
	if left, listErr := v.Connections(); ended != 2 || err != nil || len(left) != 0 || listErr != nil {
		t.Errorf("Disconnect = %d, %v, with %v left, want two ended and none left", ended, err, left)
	}
	mu.Lock()
	if !slices.Equal(events, []identity.EventKind{identity.EventEnded, identity.EventEnded}) {
		t.Errorf("events before the issuers answer: %v", events)
	}
	mu.Unlock()
	close(release)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(events); n != 4 || events[2] != identity.EventNotRevoked || events[3] != identity.EventNotRevoked {
		t.Errorf("events %v, want that both were not revoked", events)
	}
}

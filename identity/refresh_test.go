package identity_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/test/authtest"
)

// TestMain lets the test binary act as one of several processes that share a login.
func TestMain(m *testing.M) {
	if server := os.Getenv("SLIPWAY_TEST_SERVER"); server != "" {
		os.Exit(shareLogin(os.Getenv("SLIPWAY_TEST_STORE"), server))
	}
	os.Exit(m.Run())
}

// shareLogin makes requests with the login in a store, and fails at the first that is not
// authorized.
func shareLogin(dir, server string) int {
	store := identity.OpenStore(dir, &identity.StoreOptions{NoKeychain: true})
	k := newClient(store).Credentials(server, nil)
	for range 20 {
		if status, err := send(context.Background(), k, server); status != http.StatusOK || err != nil {
			fmt.Println(status, err)
			return 1
		}
		time.Sleep(25 * time.Millisecond)
	}
	return 0
}

// process starts another process that shares a login.
func process(t *testing.T, store *identity.Store, server string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "SLIPWAY_TEST_SERVER="+server,
		"SLIPWAY_TEST_STORE="+filepath.Dir(store.Path()))
	var out bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &out
}

// TestSharedLogin makes four processes use one login whose token expires again and again.
// A refresh token that is sent twice would end the login of all.
func TestSharedLogin(t *testing.T) {
	s := startServer(t)
	s.SetLife(300 * time.Millisecond)
	s.SetLeeway(time.Hour)
	store := newStore(t)
	mustLogin(t, newClient(store), s)
	began := time.Now()
	var all []*exec.Cmd
	var outputs []*bytes.Buffer
	for range 4 {
		cmd, out := process(t, store, s.URL)
		all = append(all, cmd)
		outputs = append(outputs, out)
	}
	for i, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v\n%s", i, err, outputs[i])
		}
	}
	if n := s.Count("reuse"); n > 0 {
		t.Errorf("%d refresh tokens were sent twice", n)
	}
	most := int(time.Since(began)/(220*time.Millisecond)) + 1
	if n := s.Count("refresh_token"); n < 2 || n > most {
		t.Errorf("%d refreshes, want one for each token that was about to expire: 2 to %d", n, most)
	}
}

// TestSharedRefresh makes many requests of one process find the token expired at once.
func TestSharedRefresh(t *testing.T) {
	s := startServer(t)
	store := newStore(t)
	s.SetLife(time.Millisecond)
	c := newClient(store)
	mustLogin(t, c, s)
	s.SetLife(time.Hour)
	k := c.Credentials(s.URL, nil)
	var wait sync.WaitGroup
	for range 30 {
		wait.Go(func() {
			if status, err := request(t, k, s); status != http.StatusOK || err != nil {
				t.Errorf("request = %d, %v, want 200", status, err)
			}
		})
	}
	wait.Wait()
	if n := s.Count("refresh_token"); n != 1 {
		t.Errorf("%d refreshes, want 1", n)
	}
}

// TestKilled kills processes while they refresh. The store stays readable, and the login
// either works or says how to repeat it.
func TestKilled(t *testing.T) {
	for delay := range 8 {
		s := startServer(t)
		s.SetLife(50 * time.Millisecond)
		s.SetLeeway(time.Hour)
		store := newStore(t)
		mustLogin(t, newClient(store), s)
		cmd, _ := process(t, store, s.URL)
		time.Sleep(time.Duration(delay) * 15 * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		c := newClient(store)
		all, err := c.Logins()
		if err != nil || len(all) != 1 {
			t.Fatalf("after %d: Logins = %v, %v, want one", delay, all, err)
		}
		status, err := request(t, c.Credentials(s.URL, nil), s)
		var need *identity.LoginRequiredError
		if status != http.StatusOK && !errors.As(err, &need) {
			t.Errorf("after %d: request = %d, %v, want 200 or a LoginRequiredError", delay, status, err)
		}
	}
}

// TestLostAnswer loses the answer to a refresh, as a kill between answer and save does: the
// next refresh is refused, and the login asks to be repeated, by name.
func TestLostAnswer(t *testing.T) {
	s := startServer(t)
	s.SetLife(time.Millisecond)
	store := newStore(t)
	c := newClient(store)
	mustLogin(t, c, s)
	before, err := os.ReadFile(store.Path())
	if err != nil {
		t.Fatal(err)
	}
	if status, err := request(t, c.Credentials(s.URL, nil), s); status == http.StatusOK || err == nil {
		t.Logf("request = %d, %v", status, err) // the new token may have expired as well
	}
	if err := os.WriteFile(store.Path(), before, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = request(t, newClient(store).Credentials(s.URL, nil), s)
	var need *identity.LoginRequiredError
	if !errors.As(err, &need) || !strings.Contains(err.Error(), "no longer accepts it") ||
		identity.CommandFor(need.Server) != "slipway login "+s.URL {
		t.Fatalf("request = %v, want a LoginRequiredError for %s", err, s.URL)
	}
	all, err := c.Logins()
	if err != nil || len(all) != 1 || all[0].Ended == "" || all[0].Refreshable {
		t.Errorf("Logins = %+v, %v, want one that has ended", all, err)
	}
	s.SetLife(time.Hour)
	mustLogin(t, c, s)
	if n := s.Count("register"); n != 1 {
		t.Errorf("%d registrations, want the first to be kept", n)
	}
}

// TestIssuerDown keeps the login while the issuer does not answer, and uses the token as
// long as it is valid.
func TestIssuerDown(t *testing.T) {
	s := startServer(t)
	s.SetLeeway(time.Hour)
	store := newStore(t)
	c := newClient(store)
	mustLogin(t, c, s)
	s.Break(authtest.Down)
	clock := time.Now()
	identity.SetClock(c, func() time.Time { return clock })
	k := c.Credentials(s.URL, nil)
	clock = clock.Add(59 * time.Minute) // due, but valid
	if status, err := request(t, k, s); status != http.StatusOK || err != nil {
		t.Errorf("request = %d, %v, want 200 with the current token", status, err)
	}
	clock = clock.Add(2 * time.Minute)
	var answered *identity.ServerError
	if _, err := request(t, k, s); !errors.As(err, &answered) || answered.Status != http.StatusServiceUnavailable {
		t.Errorf("request = %v, want the 503 of the issuer", err)
	}
	s.Break("")
	if status, err := request(t, k, s); status != http.StatusOK || err != nil {
		t.Errorf("request = %d, %v, want 200 after the issuer has recovered", status, err)
	}
}

// TestRefused covers a token that is refused early, and one that all sides have revoked.
func TestRefused(t *testing.T) {
	s := startServer(t)
	store := newStore(t)
	c := newClient(store)
	mustLogin(t, c, s)
	clock := time.Now().Add(time.Minute)
	identity.SetClock(c, func() time.Time { return clock })
	k := c.Credentials(s.URL, nil)
	s.ExpireAccess()
	if status, err := request(t, k, s); status != http.StatusOK || err != nil {
		t.Errorf("request = %d, %v, want 200 after a refresh", status, err)
	}
	clock = clock.Add(time.Minute)
	s.RevokeAll()
	var need *identity.LoginRequiredError
	if _, err := request(t, k, s); !errors.As(err, &need) {
		t.Errorf("request = %v, want a LoginRequiredError", err)
	}
	// Another process logs in: the same credentials find it.
	mustLogin(t, newClient(store), s)
	if status, err := request(t, k, s); status != http.StatusOK || err != nil {
		t.Errorf("request = %d, %v, want 200 after another login", status, err)
	}
	// The clock is set back by a day: the age of the token is unknown, and it is used.
	clock = clock.Add(-24 * time.Hour)
	if status, err := request(t, k, s); status != http.StatusOK || err != nil {
		t.Errorf("request = %d, %v, want 200 although the clock was set back", status, err)
	}
	// It is set forward by a year: the token counts as expired, and is refreshed.
	clock = clock.Add(365 * 24 * time.Hour)
	if status, err := request(t, k, s); status != http.StatusOK || err != nil {
		t.Errorf("request = %d, %v, want 200 although the clock was set forward", status, err)
	}
}

// TestRefreshOtherType answers a refresh with a token of another type. The refresh token
// that came with it must be kept: the one before is spent.
func TestRefreshOtherType(t *testing.T) {
	s := startServer(t)
	s.SetLife(time.Millisecond)
	store := newStore(t)
	c := newClient(store)
	mustLogin(t, c, s)
	k := c.Credentials(s.URL, nil)
	s.Break(authtest.BoundToken)
	if _, err := request(t, k, s); err == nil || !strings.Contains(err.Error(), "another type of token") {
		t.Fatalf("request = %v, want an error about the type of the token", err)
	}
	s.Break("")
	s.SetLife(time.Hour)
	for name, k := range map[string]*identity.Credentials{"same process": k, "other process": c.Credentials(s.URL, nil)} {
		if status, err := request(t, k, s); status != http.StatusOK || err != nil {
			t.Errorf("%s: request = %d, %v, want 200", name, status, err)
		}
	}
	if n := s.Count("reuse"); n > 0 {
		t.Errorf("%d refresh tokens were sent twice", n)
	}
}

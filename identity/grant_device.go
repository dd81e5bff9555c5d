package identity

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/slipway-mcp/slipway/internal/secrets"
)

// deviceGrant is Device.
type deviceGrant struct{}

// grantDevice is the grant type of the device flow (RFC 8628, section 3.4).
const grantDevice = "urn:ietf:params:oauth:grant-type:device_code"

// Limits of what a device authorization may ask for.
const (
	minInterval = time.Second
	maxInterval = time.Minute
	maxWait     = 30 * time.Minute
)

// check accepts all settings: the client can be registered during the login.
func (deviceGrant) check(*Settings) error { return nil }

// obtain shows the user an address and a code, and polls until the login is approved or the code
// expires ([ErrTimeout]). The browser may run on another machine.
func (deviceGrant) obtain(ctx context.Context, f *flow) (*token, error) {
	m := &f.found.server
	if m.DeviceEndpoint == "" {
		return nil, &SetupError{
			Text: secrets.URL(m.Issuer) + " does not support the device flow",
			Hint: "omit --device; with --no-browser you can open the address on any machine",
		}
	}
	if err := f.useClient(ctx, "", grantDevice); err != nil {
		return nil, err
	}
	d, err := f.authorizeDevice(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, d.lifetime, ErrTimeout)
	defer cancel()
	if err := f.present(ctx, &Authorization{
		URL:      d.address,
		UserCode: d.userCode,
	}); err != nil {
		return nil, err
	}
	return f.poll(ctx, d)
}

// deviceCode is a device authorization that waits for the user.
type deviceCode struct {
	code, userCode, address string
	interval, lifetime      time.Duration
}

// authorizeDevice begins a device authorization (RFC 8628, section 3.1).
func (f *flow) authorizeDevice(ctx context.Context) (*deviceCode, error) {
	m := &f.found.server
	r := &tokenRequest{
		form:   f.scoped(f.form("")),
		issuer: m.Issuer,
		client: f.registration,
		now:    f.client.now,
	}
	r.methods = m.AuthMethods
	form, header, err := r.authenticated()
	if err != nil {
		return nil, err
	}
	form.Set("client_id", f.registration.ID)
	resp, text, err := f.web.post(ctx, m.DeviceEndpoint, "application/x-www-form-urlencoded",
		[]byte(form.Encode()), header)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, serverError(resp, text)
	}
	var answer struct {
		DeviceCode string          `json:"device_code"`
		UserCode   string          `json:"user_code"`
		URI        string          `json:"verification_uri"`
		Complete   string          `json:"verification_uri_complete"`
		ExpiresIn  json.RawMessage `json:"expires_in"`
		Interval   json.RawMessage `json:"interval"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || !isToken(answer.DeviceCode) || answer.URI == "" {
		return nil, fmt.Errorf("%s: invalid device authorization", secrets.URL(m.Issuer))
	}
	d := &deviceCode{
		code:     answer.DeviceCode,
		userCode: printable(answer.UserCode),
		address:  cmp.Or(answer.Complete, answer.URI),
		interval: cmp.Or(lifetime(answer.Interval), 5*time.Second),
		lifetime: cmp.Or(lifetime(answer.ExpiresIn), maxWait),
	}
	// The server must not choose how long this process waits, or how often it asks.
	d.interval = min(max(d.interval, minInterval), maxInterval)
	d.lifetime = min(d.lifetime, maxWait)
	return d, nil
}

// poll asks for the token until the user has decided (RFC 8628, section 3.4). A failed
// connection is tried again.
func (f *flow) poll(ctx context.Context, d *deviceCode) (*token, error) {
	interval := d.interval
	for {
		timer := time.NewTimer(interval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, waitError(ctx)
		case <-timer.C:
		}
		form := f.form(grantDevice)
		form.Set("device_code", d.code)
		t, err := f.request(ctx, form)
		var refused *ServerError
		switch {
		case err == nil:
			return t, nil
		case hasCode(err, "authorization_pending"):
		case hasCode(err, "slow_down"):
			interval = min(interval+5*time.Second, maxInterval)
		case hasCode(err, "expired_token"):
			return nil, ErrTimeout
		case errors.As(err, &refused) && refused.Status < 500:
			return nil, err
		default:
			interval = min(2*interval, maxInterval)
		}
	}
}

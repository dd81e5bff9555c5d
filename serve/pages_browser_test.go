package serve_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/axe"
	"github.com/slipway-mcp/slipway/internal/broker"
	"github.com/slipway-mcp/slipway/internal/chromium"
	"github.com/slipway-mcp/slipway/internal/test/authtest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

// pageTab is a page in a browser that is used with the keyboard alone.
type pageTab struct {
	t       *testing.T
	browser *chromium.Browser
	session string
}

// openTab starts a browser, whose user is known at all providers. Without one, the test is skipped.
func openTab(t *testing.T) *pageTab {
	t.Helper()
	path := os.Getenv("SLIPWAY_CHROMIUM")
	if path == "" {
		t.Skip("set SLIPWAY_CHROMIUM to a Chromium")
	}
	b, err := chromium.Start(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	session, err := b.OpenPage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := &pageTab{t, b, session}
	p.call("Network.setCookie", map[string]any{
		"name":  authtest.UserCookie,
		"value": "alice",
		"url":   "http://127.0.0.1",
	}, nil)
	return p
}

func (p *pageTab) call(method string, params map[string]any, result any) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	if err := p.browser.Call(ctx, p.session, method, params, result); err != nil {
		p.t.Fatal(err)
	}
}

// eval returns the text of an expression, which may be a promise. It is empty while a page loads.
func (p *pageTab) eval(expression string) string {
	var got struct {
		Result struct{ Value json.RawMessage }
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	params := map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}
	if p.browser.Call(ctx, p.session, "Runtime.evaluate", params, &got) != nil {
		return ""
	}
	var text string
	_ = json.Unmarshal(got.Result.Value, &text) // other values count as empty
	return text
}

// await waits until the page has a text.
func (p *pageTab) await(want string) {
	p.t.Helper()
	text := ""
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		text = p.eval("document.readyState === 'complete' ? document.body.innerText : ''")
		if strings.Contains(text, want) {
			return
		}
	}
	p.t.Fatalf("the page has %q, want %q", text, want)
}

// barriers is a script that returns the violations that axe finds on a page in a colour scheme.
// Where a page has no background, axe takes it to be white, but browsers show the colour of the
// scheme: the page gets that as its background. Contrast that axe cannot tell is a violation.
const barriers = `((scheme) => {
	const root = document.documentElement
	if (!matchMedia('(prefers-color-scheme: ' + scheme + ')').matches) return 'the scheme is not ' + scheme
	if (getComputedStyle(root).backgroundColor === 'rgba(0, 0, 0, 0)') root.style.backgroundColor = 'Canvas'
	return axe.run(document).then((r) => {
		const contrast = (v) => v.id === 'color-contrast'
		if (!r.passes.some(contrast)) return 'no contrast was checked'
		return 'violations: ' + r.violations.concat(r.incomplete.filter(contrast)).map((v) =>
			v.id + ' ' + v.nodes.map((n) => n.html).join(' ')).join('\n')
	})
})`

// hasNoBarriers fails the test for each barrier that axe finds, in light and dark.
func (p *pageTab) hasNoBarriers(name string) {
	p.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		p.call("Emulation.setEmulatedMedia", map[string]any{
			"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
		}, nil)
		p.eval(axe.Script() + ";''")
		found := p.eval(barriers + "('" + scheme + "')")
		if found != "violations: " {
			p.t.Errorf("%s, %s: %q", name, scheme, found)
		}
	}
}

// press presses a key.
func (p *pageTab) press(key, text string, code int) {
	p.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		params := map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
		if kind == "keyDown" && text != "" {
			params["text"] = text
		}
		p.call("Input.dispatchKeyEvent", params, nil)
	}
}

// choose moves the focus with Tab to the button whose label begins so, ensures that its outline
// is visible, and presses Enter.
func (p *pageTab) choose(label string) {
	p.t.Helper()
	for range 10 {
		p.press("Tab", "", 9)
		if !strings.HasPrefix(p.eval("document.activeElement.innerText"), label) {
			continue
		}
		if p.eval("getComputedStyle(document.activeElement).outlineStyle") == "none" {
			p.t.Errorf("the focus on %q is not visible", label)
		}
		p.press("Enter", "\r", 13)
		return
	}
	p.t.Fatalf("Tab does not reach %q in %s", label, p.eval("document.body.innerHTML"))
}

// TestConsentInABrowser consents with the keyboard alone.
func TestConsentInABrowser(t *testing.T) {
	tab := openTab(t)
	w := startBroker(t, &serve.BrokerOptions{}, &serve.ClaimOptions{})
	sum := sha256.Sum256([]byte(brokerVerifier))
	tab.call("Page.navigate", map[string]any{"url": w.base + broker.AuthorizePath + "?" + url.Values{
		"response_type":         {"code"},
		"client_id":             {w.client},
		"redirect_uri":          {brokerRedirect},
		"state":                 {"s"},
		"code_challenge":        {base64.RawURLEncoding.EncodeToString(sum[:])},
		"code_challenge_method": {"S256"},
		"resource":              {w.base + "/mcp"},
		"scope":                 {"read"},
	}.Encode()}, nil)
	tab.await("read")
	tab.hasNoBarriers("the consent")
	tab.choose("Continue to ")
	for deadline := time.Now().Add(time.Minute); !w.tried("authorize") && time.Now().Before(deadline); {
		tab.eval("''")
	}
	if !w.tried("authorize") {
		t.Errorf("the provider was not asked, the page is %s", tab.eval("document.body.innerText"))
	}
}

// tried reports whether something happened at the provider.
func (w *brokerWorld) tried(what string) bool { return w.provider.Count(what) > 0 }

// TestConnectInABrowser connects a caller with the keyboard alone.
func TestConnectInABrowser(t *testing.T) {
	tab := openTab(t)
	w := startVault(t, nil)
	text, _ := callText(t, w.caller("alice", mcp.Version20260728, nil), "connect_notes")
	tab.call("Page.navigate", map[string]any{"url": addressIn.FindString(text)}, nil)
	tab.await("Sign in")
	tab.hasNoBarriers("before the proof")
	tab.choose("Sign in")
	tab.await("notes")
	tab.hasNoBarriers("after the proof")
	tab.choose("Log in to ")
	tab.await("You are logged in")
	tab.hasNoBarriers("the end")
}

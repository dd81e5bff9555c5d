package chromium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Page is one page of a browser of its own. It follows the frames of the page and collects what
// they log. It is safe for concurrent use.
type Page struct {
	browser *Browser
	session string
	timeout time.Duration

	mu      sync.Mutex        // guards the fields below
	parents map[string]string // of sessions
	frames  []Frame
	console []string
}

// Frame is a document of a [Page] in which scripts run. The zero Frame is the page itself.
type Frame struct {
	// Origin is that of the document. An opaque origin has the name "://".
	Origin string
	// Process means that the frame has a process of its own, or is in such a frame.
	Process bool

	session string
	id      int // of the context of its scripts
}

// Open starts the browser at path, which may be empty (see [Find]), and opens a blank page.
// timeout limits every step. The caller must call [Page.Close].
func Open(path string, timeout time.Duration) (*Page, error) {
	p := &Page{
		timeout: timeout,
		parents: map[string]string{},
	}
	var err error
	if p.browser, err = Start(path, p.onEvent); err != nil {
		return nil, err
	}
	ctx, cancel := p.context()
	defer cancel()
	if p.session, err = p.browser.OpenPage(ctx); err != nil {
		p.browser.Close()
		return nil, fmt.Errorf("open a page: %w", err)
	}
	return p, nil
}

// Close stops the browser.
func (p *Page) Close() error { return p.browser.Close() }

func (p *Page) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), p.timeout)
}

func (p *Page) call(method string, params, result any) error {
	ctx, cancel := p.context()
	defer cancel()
	return p.browser.Call(ctx, p.session, method, params, result)
}

// Navigate opens an address.
func (p *Page) Navigate(address string) error {
	return p.call("Page.navigate", map[string]any{"url": address}, nil)
}

// onEvent follows the documents of the page, and collects what they log.
func (p *Page) onEvent(e Event) {
	switch e.Method {
	case "Target.attachedToTarget":
		var attached struct {
			Session string `json:"sessionId"`
		}
		if json.Unmarshal(e.Params, &attached) == nil && e.Session != "" {
			p.mu.Lock()
			p.parents[attached.Session] = e.Session
			p.mu.Unlock()
			p.browser.Prepare(attached.Session)
		}
	case "Runtime.executionContextCreated":
		var created struct {
			Context struct {
				ID     int    `json:"id"`
				Origin string `json:"origin"`
			} `json:"context"`
		}
		if json.Unmarshal(e.Params, &created) != nil {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.frames = append(p.frames, Frame{
			Origin:  created.Context.Origin,
			Process: p.parents[e.Session] != "",
			session: e.Session,
			id:      created.Context.ID,
		})
	case "Runtime.executionContextDestroyed":
		var destroyed struct {
			ID int `json:"executionContextId"`
		}
		json.Unmarshal(e.Params, &destroyed)
		p.forget(func(f Frame) bool { return f.session == e.Session && f.id == destroyed.ID })
	case "Runtime.executionContextsCleared":
		p.forget(func(f Frame) bool { return f.session == e.Session })
	case "Target.detachedFromTarget":
		var detached struct {
			Session string `json:"sessionId"`
		}
		json.Unmarshal(e.Params, &detached)
		p.forget(func(f Frame) bool { return p.isBelow(f.session, detached.Session) })
	default:
		if line := consoleLine(e); line != "" {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.console = append(p.console, line)
		}
	}
}

// ForgetFrames drops the frames of a document that is about to be replaced.
func (p *Page) ForgetFrames() { p.forget(func(Frame) bool { return true }) }

// forget drops the documents that are gone.
func (p *Page) forget(isGone func(Frame) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frames = slices.DeleteFunc(p.frames, isGone)
}

// isBelow reports whether session is ancestor or a frame in it: only the outermost frame
// that is gone is reported. The caller holds mu.
func (p *Page) isBelow(session, ancestor string) bool {
	for session != "" {
		if session == ancestor {
			return true
		}
		session = p.parents[session]
	}
	return false
}

// Frames returns the documents of the page, in the order in which they were created.
func (p *Page) Frames() []Frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.frames)
}

// Console returns the lines that the page and its frames have logged, each with its level:
// "error: ...".
func (p *Page) Console() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.console)
}

// Poll repeats step until it returns nil, and returns its last error after the timeout of p.
func (p *Page) Poll(step func() error) error {
	deadline := time.Now().Add(p.timeout)
	for {
		err := step()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Eval evaluates a JavaScript expression in a frame, awaits it if it is a promise, and decodes
// its value, which must encode as JSON, into result. result may be nil.
func (p *Page) Eval(in Frame, expression string, result any) error {
	ctx, cancel := p.context()
	defer cancel()
	params := map[string]any{
		"expression":    expression,
		"awaitPromise":  true,
		"returnByValue": true,
	}
	session := p.session
	if in.id != 0 {
		session = in.session
		params["contextId"] = in.id
	}
	var outcome struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	if err := p.browser.Call(ctx, session, "Runtime.evaluate", params, &outcome); err != nil {
		return err
	}
	if e := outcome.Exception; e != nil {
		return fmt.Errorf("%s %s", e.Text, e.Exception.Description)
	}
	if result == nil || outcome.Result.Value == nil {
		return nil
	}
	return json.Unmarshal(outcome.Result.Value, result)
}

// Text returns the text that is drawn in a frame. For a body that is not drawn, innerText would
// include scripts.
func (p *Page) Text(in Frame) (string, error) {
	var text string
	err := p.Eval(in, `document.body?.getClientRects().length ? document.body.innerText : ""`, &text)
	return text, err
}

// clickScript returns the middle of an element once it can be clicked, or null, and notes
// when a click reaches the document.
const clickScript = `((selector) => {
	const element = document.querySelector(selector);
	if (!element || element.disabled) return null;
	element.scrollIntoView({ block: "center", behavior: "instant" });
	const { x, y, width, height } = element.getBoundingClientRect();
	globalThis.slipwayClicked = false;
	addEventListener("mousedown", () => (globalThis.slipwayClicked = true), { capture: true, once: true });
	return width && height ? { x: x + width / 2, y: y + height / 2 } : null;
})`

// Click clicks the middle of the first element that matches a CSS selector, or returns an error
// if that is not visible and enabled. The frame must begin at the corner of the page. For a
// moment after a frame is drawn, the browser does not yet know that it is there, and the click
// misses it: that is an error, too. Try again with [Page.Poll].
func (p *Page) Click(in Frame, selector string) error {
	quoted, err := json.Marshal(selector)
	if err != nil {
		return err
	}
	var at *struct{ X, Y float64 }
	if err := p.Eval(in, clickScript+"("+string(quoted)+")", &at); err != nil {
		return err
	}
	if at == nil {
		return errors.New("no visible, enabled element")
	}
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		err := p.call("Input.dispatchMouseEvent", map[string]any{
			"type":       kind,
			"x":          at.X,
			"y":          at.Y,
			"button":     "left",
			"clickCount": 1,
		}, nil)
		if err != nil {
			return err
		}
	}
	var clicked bool
	if err := p.Eval(in, "globalThis.slipwayClicked", &clicked); err != nil || !clicked {
		return errors.Join(errors.New("the click did not reach the document"), err)
	}
	return nil
}

// Insert types text into the element with the focus.
func (p *Page) Insert(text string) error {
	return p.call("Input.insertText", map[string]any{"text": text}, nil)
}

// Screenshot returns a picture of the page in PNG.
func (p *Page) Screenshot() ([]byte, error) {
	var shot struct {
		Data []byte `json:"data"`
	}
	err := p.call("Page.captureScreenshot", nil, &shot)
	return shot.Data, err
}

// consoleLine returns the line that an event adds to the console, or "".
func consoleLine(e Event) string {
	switch e.Method {
	case "Runtime.consoleAPICalled":
		var called struct {
			Type string `json:"type"`
			Args []struct {
				Value       json.RawMessage `json:"value"`
				Description string          `json:"description"`
			} `json:"args"`
		}
		json.Unmarshal(e.Params, &called)
		words := []string{called.Type + ":"}
		for _, arg := range called.Args {
			var text string
			switch {
			case json.Unmarshal(arg.Value, &text) == nil:
			case arg.Value != nil:
				text = string(arg.Value)
			default:
				text = arg.Description
			}
			words = append(words, text)
		}
		return strings.Join(words, " ")
	case "Runtime.exceptionThrown":
		var thrown struct {
			Details struct {
				Text      string `json:"text"`
				Exception struct {
					Description string `json:"description"`
				} `json:"exception"`
			} `json:"exceptionDetails"`
		}
		json.Unmarshal(e.Params, &thrown)
		return "error: " + thrown.Details.Text + " " + thrown.Details.Exception.Description
	case "Log.entryAdded":
		var added struct {
			Entry struct {
				Level string `json:"level"`
				Text  string `json:"text"`
			} `json:"entry"`
		}
		json.Unmarshal(e.Params, &added)
		return added.Entry.Level + ": " + added.Entry.Text
	}
	return ""
}

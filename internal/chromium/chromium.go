// Package chromium starts a headless Chromium and drives it over a pipe, with the Chrome
// DevTools Protocol (https://chromedevtools.github.io/devtools-protocol). It needs no
// debugging port, which other programs on the machine could use.
//
//	page, err := chromium.Open("", 30*time.Second)
//	defer page.Close()
//	err = page.Navigate(address)
//
// [Browser] is the protocol itself.
package chromium

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// ErrNotFound is returned by [Find] and [Start] if no browser is installed, or if this
// system cannot pass pipes to one.
var ErrNotFound = errors.New("no Chromium: install the package chromium, or set SLIPWAY_CHROMIUM to a browser")

// maxMessage limits one message from the browser.
const maxMessage = 64 << 20

// Event is an event of a session. Session is empty for events of the browser itself.
type Event struct {
	Session string          `json:"sessionId"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// Browser is a running Chromium. It is safe for concurrent use.
type Browser struct {
	command *exec.Cmd
	profile string
	toward  *os.File
	reader  sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	lastID  int
	waiting map[int]chan reply
	onEvent func(Event)
	failure error
}

type reply struct {
	result json.RawMessage
	err    error
}

// Find returns the path of an installed browser, or [ErrNotFound]. The environment
// variable SLIPWAY_CHROMIUM takes precedence over the usual names.
func Find() (string, error) {
	if runtime.GOOS == "windows" {
		return "", fmt.Errorf("%w (Windows is not supported)", ErrNotFound)
	}
	names := []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}
	if named := os.Getenv("SLIPWAY_CHROMIUM"); named != "" {
		names = []string{named}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNotFound
}

// Start starts a browser with an empty profile. path is the program; if it is empty, Start
// uses [Find]. onEvent, which may be nil, is called for each event in order, and must
// return soon: it cannot call [Browser.Call] itself. The caller must call
// [Browser.Close]. extra flags are added to the command line.
func Start(path string, onEvent func(Event), extra ...string) (*Browser, error) {
	if path == "" {
		found, err := Find()
		if err != nil {
			return nil, err
		}
		path = found
	}
	profile, err := os.MkdirTemp("", "slipway-chromium-")
	if err != nil {
		return nil, err
	}
	b := &Browser{
		profile: profile,
		waiting: map[int]chan reply{},
		onEvent: onEvent,
	}
	if err := b.start(path, extra); err != nil {
		os.RemoveAll(profile)
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return b, nil
}

func (b *Browser) start(path string, extra []string) error {
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return err
	}
	defer inRead.Close()
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		inWrite.Close()
		return err
	}
	defer outWrite.Close()

	args := []string{
		"--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--user-data-dir=" + b.profile,
	}
	b.command = exec.Command(path, append(args, extra...)...)
	// More than the profile goes there.
	b.command.Env = append(os.Environ(), "HOME="+b.profile)
	b.command.ExtraFiles = []*os.File{inRead, outWrite} // descriptors 3 and 4
	b.toward = inWrite
	if err := b.command.Start(); err != nil {
		inWrite.Close()
		outRead.Close()
		return err
	}
	b.reader.Go(func() { b.read(outRead) })
	return nil
}

// Close stops the browser and deletes its profile.
func (b *Browser) Close() error {
	b.mu.Lock()
	fail := b.failure
	b.mu.Unlock()
	if fail == nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		// The outcome does not matter: it is killed next.
		b.Call(ctx, "", "Browser.close", nil, nil)
		cancel()
	}
	b.toward.Close()
	b.command.Process.Kill()
	b.command.Wait()
	b.reader.Wait()
	// Helper processes may still write into the profile for a moment.
	var err error
	for range 20 {
		if err = os.RemoveAll(b.profile); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// read handles messages, each of which ends in a zero byte, until the browser exits.
func (b *Browser) read(from *os.File) {
	defer from.Close()
	scanner := bufio.NewScanner(from)
	scanner.Buffer(make([]byte, 1<<16), maxMessage)
	scanner.Split(splitMessages)
	for scanner.Scan() {
		b.receive(scanner.Bytes())
	}
	err := scanner.Err()
	if err == nil {
		err = errors.New("the browser exited")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failure = err
	for id, waiting := range b.waiting {
		waiting <- reply{err: err}
		delete(b.waiting, id)
	}
}

func splitMessages(data []byte, atEOF bool) (int, []byte, error) {
	if end := bytes.IndexByte(data, 0); end >= 0 {
		return end + 1, data[:end], nil
	}
	if atEOF {
		return 0, nil, io.EOF
	}
	return 0, nil, nil
}

func (b *Browser) receive(text []byte) {
	var message struct {
		ID     int             `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Message string `json:"message"`
		} `json:"error"`
		Event
	}
	if json.Unmarshal(text, &message) != nil {
		return
	}
	if message.ID == 0 {
		if b.onEvent != nil {
			b.onEvent(message.Event)
		}
		return
	}
	b.mu.Lock()
	waiting := b.waiting[message.ID]
	delete(b.waiting, message.ID)
	b.mu.Unlock()
	if waiting == nil {
		return
	}
	if message.Error != nil {
		waiting <- reply{err: errors.New(message.Error.Message)}
		return
	}
	waiting <- reply{result: message.Result}
}

// Call sends a command and decodes its result into result, which may be nil. session is
// empty for commands to the browser itself.
func (b *Browser) Call(ctx context.Context, session, method string, params, result any) error {
	id, answer, err := b.send(session, method, params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case got := <-answer:
		if got.err == nil && result != nil {
			got.err = json.Unmarshal(got.result, result)
		}
		if got.err != nil {
			return fmt.Errorf("%s: %w", method, got.err)
		}
		return nil
	case <-ctx.Done():
		b.mu.Lock()
		delete(b.waiting, id)
		b.mu.Unlock()
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

// Send sends a command and ignores its outcome. It may be called while handling an event.
func (b *Browser) Send(session, method string, params any) {
	b.send(session, method, params) // a browser that exited fails the next Call
}

func (b *Browser) send(session, method string, params any) (int, <-chan reply, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failure != nil {
		return 0, nil, b.failure
	}
	b.lastID++
	message := map[string]any{
		"id":     b.lastID,
		"method": method,
	}
	if session != "" {
		message["sessionId"] = session
	}
	if params != nil {
		message["params"] = params
	}
	text, err := json.Marshal(message)
	if err != nil {
		return 0, nil, err
	}
	answer := make(chan reply, 1)
	b.waiting[b.lastID] = answer
	// The lock also keeps messages whole. The browser reads its pipe at all times.
	if _, err := b.toward.Write(append(text, 0)); err != nil {
		delete(b.waiting, b.lastID)
		return 0, nil, err
	}
	return b.lastID, answer, nil
}

// OpenPage opens a blank page and returns its session. It attaches to every frame of the
// page that runs in a process of its own, before its first script, and enables console
// and runtime events in each.
func (b *Browser) OpenPage(ctx context.Context) (session string, err error) {
	var target struct {
		ID string `json:"targetId"`
	}
	if err := b.Call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return "", err
	}
	var attached struct {
		Session string `json:"sessionId"`
	}
	err = b.Call(ctx, "", "Target.attachToTarget",
		map[string]any{"targetId": target.ID, "flatten": true}, &attached)
	if err == nil {
		b.Prepare(attached.Session)
	}
	return attached.Session, err
}

// Prepare enables events in a session and in the frames below it, and lets it run. Call it
// for every Target.attachedToTarget event.
func (b *Browser) Prepare(session string) {
	b.Send(session, "Target.setAutoAttach", map[string]any{
		"autoAttach":             true,
		"waitForDebuggerOnStart": true,
		"flatten":                true,
	})
	b.Send(session, "Runtime.enable", nil)
	b.Send(session, "Log.enable", nil)
	b.Send(session, "Page.enable", nil)
	b.Send(session, "Runtime.runIfWaitingForDebugger", nil)
}

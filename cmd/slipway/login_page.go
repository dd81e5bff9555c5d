package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/internal/visible"
)

// browserVariable is the command that opens pages, as other programs use it.
const browserVariable = "BROWSER"

// interaction presents logins on stderr. open opens a page, and paste returns lines in which
// the user may paste the address to which the browser returned; either may be nil.
func interaction(
	cmd *cobra.Command, open func(context.Context, string) error, paste func(context.Context) (string, error),
) *identity.Interaction {
	stderr := loud(cmd.ErrOrStderr())
	return &identity.Interaction{
		Open:  open,
		Paste: paste,
		Show: func(a *identity.Authorization) {
			say(stderr, "%s asks you to log in at %s", secrets.URL(a.Server), visible.Line(a.Host))
			// The host of the login page may differ from the issuer, which the user has to know.
			if a.Issuer != "" && secrets.URL(a.Issuer) != "https://"+a.Host {
				say(stderr, "issuer: %s", visible.Line(a.Issuer))
			}
			if len(a.Scopes) > 0 {
				say(stderr, "scope: %s", visible.Line(strings.Join(a.Scopes, " ")))
			}
			verb := "open"
			if open != nil {
				verb = "if no browser opens, open"
			}
			say(stderr, "%s %s", verb, visible.Line(a.URL))
			switch {
			case a.UserCode != "":
				say(stderr, "enter the code %s", a.UserCode)
			case paste != nil:
				say(stderr, "if the browser is on another machine, paste the address to which it returns:")
			}
		},
		Failed: func(err error) {
			say(stderr, "no browser could be started: %v", err)
		},
		Rejected: func(err error) {
			say(stderr, "not used: %v", err)
		},
		Registering: func(issuer string) {
			say(stderr, "%s no longer knows Slipway's registration: registering again", secrets.URL(issuer))
		},
	}
}

// readLines returns the lines of a reader one by one. A read that has begun cannot be
// cancelled; its goroutine ends with the process.
func readLines(in io.Reader) func(context.Context) (string, error) {
	lines := make(chan string)
	var reading sync.Once
	return func(ctx context.Context) (string, error) {
		reading.Do(func() {
			go func() {
				defer close(lines)
				scanner := bufio.NewScanner(in)
				scanner.Buffer(nil, 64<<10)
				for scanner.Scan() {
					lines <- scanner.Text()
				}
			}()
		})
		select {
		case text, ok := <-lines:
			if !ok {
				return "", io.EOF
			}
			return text, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// openLoginPage opens a page in $BROWSER, or else in the default browser. The address has
// no secrets: its state is worthless in another browser, and the verifier stays here.
func openLoginPage(ctx context.Context, address string) error {
	if command := os.Getenv(browserVariable); command != "" {
		return openWith(command)(ctx, address)
	}
	return start(defaultBrowser(), address)
}

// openWith returns a function that opens pages with a command: a program and its
// arguments, in which %s is the address. It is started without a shell.
func openWith(command string) func(context.Context, string) error {
	return func(_ context.Context, address string) error {
		words := strings.Fields(command)
		if len(words) == 0 {
			return errors.New("the command is empty")
		}
		replaced := false
		for i, word := range words {
			if strings.Contains(word, "%s") {
				words[i] = strings.ReplaceAll(word, "%s", address)
				replaced = true
			}
		}
		if replaced {
			return start(words)
		}
		return start(words, address)
	}
}

// start starts a program without waiting for its end.
func start(words []string, more ...string) error {
	words = append(words[:len(words):len(words)], more...)
	cmd := exec.Command(words[0], words[1:]...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // whether it found a browser is not known
	return nil
}

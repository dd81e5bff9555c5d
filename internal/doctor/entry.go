package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// local is a server that a command starts.
type local struct {
	name   string          // of the server, or "" for a typed command
	client *clients.Client // that starts it, or nil
	scope  clients.Scope   // of the client's file
	// argv is the program with its arguments, and env what the entry adds to the environment.
	argv []string
	env  map[string]string
}

// is begins a message about the server.
func (l *local) is() string {
	if l.name == "" {
		return ""
	}
	return "server " + strconv.Quote(l.name) + ": "
}

// checkProgram checks that the program of a server can be started, and returns its file, or
// "".
func (d *Doctor) checkProgram(r check.Reporter, l *local) string {
	command := l.argv[0]
	file, err := d.lookPath(command, l.env)
	own := d.opts.Program
	if err != nil && own != "" && l.client == nil && command == baseName(own) {
		return own // Slipway finds itself
	}
	if err != nil {
		d.missing(r, l, err)
		return ""
	}
	d.checkDesktop(r, l, file)
	if slices.Contains([]string{"node", "npx", "npm"}, baseName(command)) {
		d.checkNode(r, l)
	}
	return file
}

// missing reports why a program cannot be started.
func (d *Doctor) missing(r check.Reporter, l *local, err error) {
	command := l.argv[0]
	if info, err := os.Stat(command); err == nil && info.Mode().IsRegular() && filepath.Base(command) != command {
		r.Add(ruleMode, "", "chmod +x "+d.quote(command), "%s%s is not executable", l.is(), command)
		return
	}
	words := strings.Fields(command)
	if len(words) < 2 {
		r.Add(ruleProgram, "", d.provide(r, command), "%s%v", l.is(), err)
		return
	}
	shown := strings.Join(secrets.Command(words), " ")
	if _, err := d.lookPath(words[0], l.env); err != nil {
		r.Add(ruleProgram, "", d.provide(r, words[0]),
			"%sprogram %q not found", l.is(), shown)
		return
	}
	r.Add(ruleCommand, "", d.split(r, l, words),
		"%sprogram %q not found; the command contains its arguments", l.is(), shown)
}

// split returns how to replace an entry whose command contains its arguments. Secrets of the
// entry are in its variables and arguments, which only the editor can keep.
func (d *Doctor) split(r check.Reporter, l *local, words []string) string {
	public := len(l.env) == 0 && slices.Equal(secrets.Command(words), words)
	if l.client == nil || !public || len(l.argv) > 1 {
		return d.editAt(r)
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = d.quote(word)
	}
	return fmt.Sprintf("slipway add --name %s --client %s --scope %s --replace -- %s", d.quote(l.name), l.client.ID,
		l.scope, strings.Join(quoted, " "))
}

// checkDesktop checks that a desktop app finds the program of a server.
func (d *Doctor) checkDesktop(r check.Reporter, l *local, file string) {
	_, own := l.env["PATH"]
	if own || l.client == nil || !l.client.Desktop {
		return
	}
	if filepath.Base(l.argv[0]) != l.argv[0] { // a path
		if base := baseName(file); base != "npx" && base != "npm" {
			return
		}
		node, err := d.lookPath("node", nil) // the first line of npx looks for it
		if err != nil {
			return
		}
		file = node
	}
	if !d.onDesktop(file) {
		r.Add(ruleDesktop, "", d.desktopHint(file),
			"%s%s may not find %s: the desktop starts it without %s on the PATH%s", l.is(), l.client.Name, baseName(file),
			filepath.Dir(file), d.desktopNote())
	}
}

// leastNode is the oldest major version of Node.js that servers of the TypeScript SDK
// support.
const leastNode = 18

// checkNode checks the version of the node on the PATH.
func (d *Doctor) checkNode(r check.Reporter, l *local) {
	node, err := d.lookPath("node", l.env)
	if err != nil {
		if baseName(l.argv[0]) != "node" {
			r.Add(ruleProgram, "", d.provide(r, "node"),
				"%s%s needs node: %v", l.is(), baseName(l.argv[0]), err)
		}
		return
	}
	if own, err := d.lookPath("node", nil); err != nil || own != node {
		return // a program that only a file names is not started
	}
	if d.nodeVersion == nil {
		version := readVersion(node)
		d.nodeVersion = &version
	}
	major, _, _ := strings.Cut(*d.nodeVersion, ".")
	if n, err := strconv.Atoi(major); err == nil && n < leastNode {
		r.Add(ruleNode, "", d.install("node", true), "%s%s is version %s, and servers from npm need %d or later",
			l.is(), node, *d.nodeVersion, leastNode)
	}
}

// versionPattern matches a version in the output of a program.
var versionPattern = lazyregexp.New(`[0-9]+(\.[0-9]+){1,2}`)

// readVersion asks a program for its version, which is "" if it prints none.
func readVersion(path string) string {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second // a wrapper may leave processes that keep the pipe open
	out, err := cmd.Output()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return ""
	}
	return versionPattern().FindString(string(out))
}

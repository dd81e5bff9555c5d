package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// eachClient binds a repeatable flag of clients, also separated by commas.
func eachClient(list *[]clients.Client) pflag.Value {
	value := eachUse(func(text string) error {
		for id := range strings.SplitSeq(text, ",") {
			c, err := clientNamed(strings.TrimSpace(id))
			if err != nil {
				return err
			}
			*list = append(*list, c)
		}
		return nil
	})
	value.list = true
	return value
}

// choose determines the clients: those of the flags, or of the installed ones all with
// --yes or --dry-run, and otherwise those that the user chooses.
func (a *installing) choose(cmd *cobra.Command, ask *questions) error {
	if a.Clients != nil {
		return nil
	}
	found := a.candidates()
	ids := names(found, func(c clients.Client) string { return c.ID })
	switch {
	case len(found) == 0:
		return no("name one with --client; slipway config clients lists them",
			"add: no client found on this machine")
	case a.yes || a.dryRun || len(found) == 1:
	case ask == nil:
		return usage(retyped("--client", strings.Join(ids, ","), "--yes"),
			"add: nothing was written: no terminal to ask which clients should get the server")
	default:
		var err error
		if found, err = a.askClients(ask, found); err != nil {
			return err
		}
	}
	a.Clients = found
	return nil
}

// candidates returns the clients that are installed and have a file of the scope.
func (a *installing) candidates() []clients.Client {
	found := clients.Installed(&a.Place)
	if a.Scope == clients.User {
		return found
	}
	for _, c := range clients.Present(&a.Place, clients.Project) {
		if !slices.ContainsFunc(found, func(other clients.Client) bool { return other.ID == c.ID }) {
			found = append(found, c)
		}
	}
	return slices.DeleteFunc(found, func(c clients.Client) bool {
		return len(c.Files.Project) == 0
	})
}

// errNoChoice is returned for an answer that names no client of a list.
var errNoChoice = errors.New("no client of the list")

// askClients asks which clients should get the servers. Nothing means all of them.
func (a *installing) askClients(ask *questions, found []clients.Client) ([]clients.Client, error) {
	defer prompting(ask.out)()
	fmt.Fprintln(ask.out, "Clients on this machine:")
	for i, c := range found {
		fmt.Fprintf(ask.out, "  %d  %s\n", i+1, c.Name)
	}
	const attempts = 3
	for range attempts {
		fmt.Fprintf(ask.out, "Add %s to which of them? Numbers or names, or Enter for all: ",
			strings.Join(a.servers(), ", "))
		answer, err := ask.in.ReadString('\n')
		if err != nil {
			break // end of input agrees to nothing
		}
		chosen, err := chosenClients(answer, found)
		if err == nil {
			return chosen, nil
		}
		fmt.Fprintf(ask.out, "%v\n", err)
	}
	return nil, denied("", "nothing was written")
}

// chosenClients returns the clients that an answer names by number, id or name.
func chosenClients(answer string, found []clients.Client) ([]clients.Client, error) {
	answer = strings.TrimSpace(answer)
	if answer == "" || strings.EqualFold(answer, "all") {
		return found, nil
	}
	var chosen []clients.Client
	for _, word := range strings.FieldsFunc(answer, func(r rune) bool { return r == ',' || r == ' ' }) {
		number, _ := strconv.Atoi(word)
		i := slices.IndexFunc(found, func(c clients.Client) bool {
			return c.ID == word ||
				slices.Contains(c.Aliases, word) ||
				strings.EqualFold(c.Name, word)
		})
		if number >= 1 && number <= len(found) {
			i = number - 1
		}
		if i < 0 {
			return nil, fmt.Errorf("%q: %w", word, errNoChoice)
		}
		chosen = append(chosen, found[i])
	}
	return chosen, nil
}

// retyped returns the command line of this process with additional flags, which come
// before the arguments after --.
func retyped(flags ...string) string {
	words := slices.Clone(os.Args)
	words[0] = strings.TrimSuffix(filepath.Base(words[0]), ".exe")
	at := slices.Index(words, "--")
	if at < 0 {
		at = len(words)
	}
	words = slices.Insert(words, at, flags...)
	return commandLine(&stax.Server{
		Command: words[0],
		Args:    words[1:],
	})
}

package registry

import (
	"os"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/stax"
)

// Review returns what is left to do after the entry was added to the definitions file, and
// the findings about it: its own, and secrets that the server would share with another
// server or get from the environment.
func (e *Entry) Review(file string, added *stax.Added) (todo []string, report *check.Report) {
	todo = append([]string{}, e.Todo...)
	for _, d := range added.Undeclared {
		text := "declare the secret " + d.Key + " where the others of this file are declared"
		if d.Optional() {
			text += ", and name it in the server: it is not required"
		}
		todo = append(todo, text)
	}
	report = &check.Report{}
	for _, f := range e.Findings {
		f.File = file
		report.Add(f)
	}
	r := check.Reporter{
		Report: report,
		File:   file,
	}
	server := e.Server()
	for _, key := range added.Shared {
		r.Add(ruleSecretShared, "", "if they are not the same, rename one of them",
			"server %q gets the secret %s, which another server names, too", server.Name, key)
	}
	for _, key := range server.Secrets {
		if os.Getenv(key) != "" {
			r.Add(ruleSecretShared, "", "--secrets-from specifies other places for secrets",
				"the variable %s is set here, and server %q would get its value", key, server.Name)
		}
	}
	return todo, report
}

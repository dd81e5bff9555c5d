package main

import (
	"os"
	"strings"

	"github.com/slipway-mcp/slipway/internal/sitelint"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/client"
)

// allowSecretFlag adds the flag that accepts findings about secrets.
func allowSecretFlag(flags *pflag.FlagSet, list *[]string) {
	check := func(word string) error {
		if err := sitelint.CheckAllowedSecret(word); err != nil {
			return usage("the hint of each finding has its fingerprint", "%v", err)
		}
		return nil
	}
	flags.Var(each(list, check), "allow-secret",
		"accept the finding with this `FINGERPRINT`, or all of one kind: "+strings.Join(sitelint.SecretKinds(), ", "))
}

// environ returns the environment of the command to freeze: the variables that programs
// need to run, and those in --env.
func (f *freezing) environ(cmd *cobra.Command, arg string) ([]string, error) {
	if len(f.env) > 0 && cmd.ArgsLenAtDash() < 0 {
		return nil, usage("bundles and definitions have their variables in their files",
			"freeze: --env needs a command after --, and the source is %s", arg)
	}
	environ := client.Environ(nil)
	for _, entry := range f.env {
		name, _, given := strings.Cut(entry, "=")
		if !given {
			value, set := os.LookupEnv(name)
			if !set {
				return nil, usage("set it, or use --env "+name+"=VALUE", "freeze: --env %s: the variable is not set", name)
			}
			entry = name + "=" + value
		}
		if name == "" {
			return nil, usage("for example --env API_URL or --env MODE=test", "freeze: --env has no name")
		}
		environ = append(environ, entry)
	}
	return environ, nil
}

package main

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/lock"
)

func TestBindings(t *testing.T) {
	var policy lock.Policy
	var numbers []int
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Var(oneOf(&policy, "block", "warn"), "policy", "")
	flags.Var(eachOf(&numbers, strconv.Atoi), "number", "")
	if got := flags.Lookup("policy").DefValue; got != "block" {
		t.Errorf("the default of oneOf is %q, want block", got)
	}
	if err := flags.Parse([]string{"--policy", "warn", "--number", "1", "--number", "2"}); err != nil {
		t.Fatal(err)
	}
	if policy != lock.Warn {
		t.Errorf("policy = %q, want warn", policy)
	}
	if diff := cmp.Diff([]int{1, 2}, numbers); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	if err := flags.Set("policy", "block"); err != nil || policy != lock.Block {
		t.Errorf("block is stored as %q, %v, want the zero value", policy, err)
	}
	for flag, text := range map[string]string{"policy": "maybe", "number": "x"} {
		if flags.Set(flag, text) == nil {
			t.Errorf("--%s %s is accepted", flag, text)
		}
	}
}

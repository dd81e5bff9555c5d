package main

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// Each name in the table is that of the command that its function makes; otherwise the
// command would be unknown when it is called, and known in the help.
func TestSections(t *testing.T) {
	for _, s := range sections {
		for _, c := range s.commands {
			if made := c.make().Name(); made != c.name {
				t.Errorf("%s makes the command %s", c.name, made)
			}
		}
	}
}

// A command line that begins with a command makes only that one. All other command lines
// make all commands: for help, completion, and suggestions after a wrong word.
func TestOnlyTheCommandThatIsCalled(t *testing.T) {
	all := names(newRoot().Commands(), (*cobra.Command).Name)
	tests := map[string]struct{ args, want []string }{
		"a command":             {[]string{"serve", "docs"}, []string{"serve"}},
		"a command with parts":  {[]string{"site", "build"}, []string{"site"}},
		"nothing":               {nil, all},
		"a flag first":          {[]string{"-q", "ls"}, all},
		"help":                  {[]string{"help", "serve"}, all},
		"completion of a shell": {[]string{"__complete", "serve", ""}, all},
		"an unknown word":       {[]string{"serv"}, all},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := names(newRootFor(tt.args).Commands(), (*cobra.Command).Name); !slices.Equal(got, tt.want) {
				t.Errorf("%v makes %v, want %v", tt.args, got, tt.want)
			}
		})
	}
}

// What a start allocates is touched for the first time, which costs more than to use it.
func TestStartAllocates(t *testing.T) {
	for args, most := range map[string]float64{"ls": 160, "serve": 800} {
		if n := testing.AllocsPerRun(10, func() { newRootFor([]string{args}) }); n > most {
			t.Errorf("slipway %s makes %.0f allocations before it runs, want at most %.0f", args, n, most)
		} else {
			t.Logf("slipway %s: %.0f allocations", args, n)
		}
	}
}

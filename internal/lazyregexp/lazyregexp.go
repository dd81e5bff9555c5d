// Package lazyregexp has regular expressions that are compiled on first use. A program that
// links many packages and uses few of them then starts without compiling the rest.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// New returns a function that compiles expr when it is first called, and returns the same
// regular expression ever after. It may be called by several goroutines at once. An invalid
// expr panics: in a test when New is called, so that no test has to match every expression.
func New(expr string) func() *regexp.Regexp {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
	if inTest {
		compiled()
	}
	return compiled
}

// inTest reports whether the program is a test.
var inTest = len(os.Args) > 0 && strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test")

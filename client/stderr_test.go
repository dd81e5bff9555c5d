package client

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExplainer reads the output of dying programs in pieces of every size.
func TestExplainer(t *testing.T) {
	frames := strings.Repeat("    at Module._load (node:internal/modules/cjs/loader:1104:12)\n", 30)
	for _, c := range []struct{ name, text, want string }{
		{"node",
			"node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\nError: Cannot find module 'x'\nRequire " +
				"stack:\n- /s.js\n" +
				frames +
				"  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/s.js' ]\n}\n\nNode.js v20.1.0\n",
			"Error: Cannot find module 'x'"},
		{"node syntax",
			"/s.js:3\nlet a b\n      ^\n\nSyntaxError: Unexpected identifier 'b'\n" + frames + "\nNode.js v20.1.0\n",
			"SyntaxError: Unexpected identifier 'b'"},
		{"node with a code", "TypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file extension \".ts\" for /s.ts\n" + frames,
			"TypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file extension \".ts\" for /s.ts"},
		{"python",
			"Traceback (most recent call last):\n  File \"s.py\", line 1, in <module>\n    import " +
				"x\nModuleNotFoundError: No module named 'x'\n",
			"ModuleNotFoundError: No module named 'x'"},
		{"python chain",
			"KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most " +
				"recent call last):\n" +
				"  File \"s.py\", line 1\npkg.errors.ConfigError: no config" +
				strings.Repeat("\nINFO bye", 20), "pkg.errors.ConfigError: no config"},
		{
			"go",
			"panic: out of cheese\n\ngoroutine 1 [running]:\nmain.main()\n" + strings.Repeat("\t/x.go:1 +0x1\n", 50),
			"panic: out of cheese",
		},
		{
			"go runtime",
			"fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [select]:\n",
			"fatal error: all goroutines are asleep - deadlock!",
		},
		{"rust", "thread 'main' panicked at src/main.rs:2:5:\nout of cheese\nnote: run with `RUST_BACKTRACE=1`\n",
			"thread 'main' panicked at src/main.rs:2:5: out of cheese"},
		{
			"rust before 1.73",
			"thread 'main' panicked at 'out of cheese', src/main.rs:2:5\nnote: run\n",
			"thread 'main' panicked at 'out of cheese', src/main.rs:2:5",
		},
		{"java",
			"Exception in thread \"main\" java.lang.RuntimeException: x\n\tat A.main(A.java:1)\nCaused by: " +
				"java.io.IOException: no file\n\t... 1 more\n",
			"Caused by: java.io.IOException: no file"},
		{"npm",
			"npm error code E404\nnpm error 404 Not Found - GET https://r/x\nnpm error 404  'x@*' is not in this " +
				"registry.\nnpm error A complete log\n",
			"npm error 404 Not Found - GET https://r/x"},
		{"sh", "sh: 1: uvx: not found\n", "sh: 1: uvx: not found"},
		{"weak after strong", "Error: first\nerror: second\n", "Error: first"},
		{"nothing", "starting\nINFO ready\nan Error: within a line\n", ""},
		{"long", "Error: " + strings.Repeat("x", 1000), "Error: " + strings.Repeat("x", maxExplanation-7)},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int{1, 7, 100, 1 << 20} {
				var tail stderrTail
				for rest := c.text; rest != ""; {
					n := min(size, len(rest))
					_, _ = tail.Write([]byte(rest[:n]))
					rest = rest[n:]
				}
				if got := tail.cause(nil); got != c.want {
					t.Errorf("in pieces of %d: cause = %q, want %q", size, got, c.want)
				}
			}
		})
	}
}

// TestRealInterpretersAreExplained runs programs that die at startup.
func TestRealInterpretersAreExplained(t *testing.T) {
	for _, c := range []struct{ program, file, text, cause, hint string }{
		{
			"node", "module.js", "require('no-such-module')",
			"Error: Cannot find module 'no-such-module'", "npm install no-such-module",
		},
		{"node", "syntax.js", "let a b", "SyntaxError: ", "version of the interpreter"},
		{
			"python3", "module.py", "import no_such_module",
			"ModuleNotFoundError: No module named 'no_such_module'", "no_such_module",
		},
	} {
		t.Run(c.file, func(t *testing.T) {
			path, err := exec.LookPath(c.program)
			if err != nil {
				t.Skip(err)
			}
			file := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			src, err := Open(t.Context(), &Command{Path: path, Args: []string{file}}, nil)
			if err == nil {
				_ = src.Close()
				t.Fatal("it runs")
			}
			if !strings.Contains(err.Error(), c.cause) {
				t.Errorf("the error lacks %q: %v", c.cause, err)
			}
			exit := exitOf(err)
			if exit == nil || !strings.HasPrefix(exit.Cause, c.cause) || !strings.Contains(exit.Hint(), c.hint) {
				t.Errorf("exit = %+v, hint %q; want %q and %q", exit, exit.Hint(), c.cause, c.hint)
			}
		})
	}
}

func exitOf(err error) *ExitError {
	var exit *ExitError
	if errors.As(err, &exit) {
		return exit
	}
	return &ExitError{}
}

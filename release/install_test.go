package main

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These variables name the output folder of a build, and the folder of Node.js and the npm
// packages that the tests need. scripts/packages sets them.
const (
	outVariable   = "SLIPWAY_RELEASE"
	toolsVariable = "SLIPWAY_PACKAGES_TOOLS"
)

// waitLimit is far above the time that anything here takes.
const waitLimit = time.Minute

// installation is a folder in which the npm packages are installed.
type installation struct {
	out   *Output
	tools string
	dir   string // "my project", with node_modules
	site  string // examples/http-reference under a path with a space
}

// tarballs returns the paths of the packages for this machine.
func (in *installation) tarballs(t testing.TB) []string {
	t.Helper()
	var list []string
	for _, p := range []Platform{{}, hostPlatform()} {
		a, ok := in.out.find(kindNPM, p)
		if !ok {
			t.Fatalf("no npm package for %q", p)
		}
		path, err := filepath.Abs(in.out.path(a.Path))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, path)
	}
	return list
}

// prepare returns an installation without node_modules, or skips the test.
func prepare(t testing.TB) *installation {
	t.Helper()
	folder := os.Getenv(outVariable)
	if folder == "" {
		t.Skip("needs built packages, Node.js and npm: run scripts/packages")
	}
	out, err := openOutput(folder)
	if err != nil {
		t.Fatal(err)
	}
	in := &installation{
		out:   out,
		tools: os.Getenv(toolsVariable),
		dir:   filepath.Join(t.TempDir(), "my project"),
	}
	in.site = filepath.Join(in.dir, "http reference")
	if err := os.CopyFS(in.site, os.DirFS("../examples/http-reference")); err != nil {
		t.Fatal(err)
	}
	return in
}

// install returns an installation of the tarballs, offline.
func install(t testing.TB) *installation {
	t.Helper()
	in := prepare(t)
	in.must(t, in.command(nil, "npm", append([]string{"install", "--offline", "--no-audit", "--no-fund"},
		in.tarballs(t)...)...))
	return in
}

// launcher is the path of the command that npm links.
func (in *installation) launcher() string {
	return filepath.Join(in.dir, "node_modules", ".bin", projectName)
}

// ways are the ways in which the launcher starts the program, each with the environment
// that selects it.
func (in *installation) ways(t testing.TB) map[string][]string {
	t.Helper()
	preload := filepath.Join(in.dir, "without-execve.cjs")
	if err := os.WriteFile(preload, []byte("process.execve = undefined\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return map[string][]string{
		"replace": nil,
		"spawn":   {fmt.Sprintf("NODE_OPTIONS=--require %q", preload)},
	}
}

// command returns a command that runs in the folder with the Node.js of the tools.
func (in *installation) command(env []string, name string, args ...string) *exec.Cmd {
	path := filepath.Join(in.tools, "bin") + string(os.PathListSeparator) + os.Getenv("PATH")
	if !filepath.IsAbs(name) {
		// LookPath of this process would ignore the PATH of the command.
		args = append([]string{name}, args...)
		name = "/usr/bin/env"
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = in.dir
	cmd.Env = append(os.Environ(), "PATH="+path, "npm_config_update_notifier=false")
	cmd.Env = append(cmd.Env, env...)
	cmd.WaitDelay = waitLimit
	return cmd
}

// must runs a command that must succeed and returns its stdout.
func (in *installation) must(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s%s", cmd.Args, err, out, stderr)
	}
	return strings.TrimSpace(string(out))
}

// verifyVersion verifies that a command runs the program that was packed.
func (in *installation) verifyVersion(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := in.command(nil, name, append(args, "version")...)
	if got := in.must(t, cmd); !strings.Contains(got, in.out.Version) {
		t.Errorf("%q: %s, want %s", cmd.Args, got, in.out.Version)
	}
}

func TestNPX(t *testing.T) {
	in := install(t)
	in.verifyVersion(t, "npx", "--offline", "slipway")
	program := in.must(t, in.command(nil, "npx", "--offline", "slipway", "where"))
	if !strings.HasPrefix(program, in.dir) || !strings.HasSuffix(program, npmPlatform(hostPlatform())+"/bin/slipway") {
		t.Errorf("npx slipway where: %s", program)
	}
	for way, env := range in.ways(t) {
		client := []string{"client.mjs", "npx", "--offline", "slipway", "serve", "--stdio", in.site}
		client[0], _ = filepath.Abs("testdata/client.mjs")
		if got := in.must(t, in.command(env, "node", client...)); !strings.HasSuffix(got, " tools") {
			t.Errorf("%s: %s", way, got)
		}
	}
}

// TestNPXFromTarballs runs the packages in an empty folder, where npx installs them.
func TestNPXFromTarballs(t *testing.T) {
	in := prepare(t)
	args := []string{"--offline", "--yes"}
	for _, name := range in.tarballs(t) {
		args = append(args, "--package="+name)
	}
	in.verifyVersion(t, "npx", append(args, "slipway")...)
}

func TestGlobal(t *testing.T) {
	in := prepare(t)
	prefix := filepath.Join(in.dir, "prefix")
	args := append([]string{"install", "--global", "--prefix", prefix, "--offline"}, in.tarballs(t)...)
	in.must(t, in.command(nil, "npm", args...))
	in.verifyVersion(t, filepath.Join(prefix, "bin", "slipway"))
}

// registry serves the packages as the npm registry does, and returns its address.
func (in *installation) registry(t *testing.T) string {
	t.Helper()
	answers := make(map[string][]byte)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path] // a scoped name has an escaped slash
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	for _, a := range in.out.Artefacts {
		if a.Kind != kindNPM {
			continue
		}
		contents, err := readArchive(in.out.path(a.Path))
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(contents["package/package.json"], &m); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(in.out.path(a.Path))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha512.Sum512(data)
		m["dist"] = map[string]string{
			"tarball":   server.URL + "/" + a.Path,
			"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
		}
		document, err := json.Marshal(map[string]any{
			"name":      m["name"],
			"dist-tags": map[string]any{"latest": m["version"]},
			"versions":  map[string]any{fmt.Sprint(m["version"]): m},
		})
		if err != nil {
			t.Fatal(err)
		}
		answers["/"+a.Path] = data
		answers["/"+fmt.Sprint(m["name"])] = document
	}
	return server.URL + "/"
}

// TestRegistry installs by name, from a registry, with the package managers that the tools
// contain.
func TestRegistry(t *testing.T) {
	for name, args := range map[string][]string{
		"npm":  {"install", "--no-audit", "--no-fund"},
		"pnpm": {"add", "--ignore-workspace"},
		"yarn": {"add", "--no-lockfile"},
		"bun":  {"add", "--no-save"},
	} {
		t.Run(name, func(t *testing.T) {
			in := prepare(t)
			program := name
			if name != "npm" {
				program = filepath.Join(in.tools, "node_modules", ".bin", name)
				if _, err := os.Stat(program); err != nil {
					t.Skip("not in the tools: run scripts/packages --all")
				}
			}
			if err := os.WriteFile(filepath.Join(in.dir, "package.json"), []byte(`{"private": true}`), 0o644); err != nil {
				t.Fatal(err)
			}
			cache := filepath.Join(in.dir, "cache")
			env := []string{"npm_config_registry=" + in.registry(t), "npm_config_cache=" + cache, "YARN_CACHE_FOLDER=" + cache,
				"BUN_INSTALL_CACHE_DIR=" + cache, "npm_config_store_dir=" + cache}
			in.must(t, in.command(env, program, append(args, "slipway@"+in.out.Version)...))
			in.verifyVersion(t, in.launcher())
		})
	}
}

// exit returns how a process ended: its exit code or its signal.
func exit(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	err := cmd.Wait()
	if failed := new(exec.ExitError); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return cmd.ProcessState.String()
}

func TestExitCodes(t *testing.T) {
	in := install(t)
	faulty, err := filepath.Abs("../examples/site-with-faults")
	if err != nil {
		t.Fatal(err)
	}
	for way, env := range in.ways(t) {
		for want, args := range map[string][]string{
			"exit status 0": {"check", in.site},
			"exit status 1": {"check", faulty},
			"exit status 2": {"no-such-command"},
			"exit status 3": {"check", "no-such-folder"},
		} {
			cmd := in.command(env, in.launcher(), args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if got := exit(t, cmd); got != want {
				t.Errorf("%s: %q: %s, want %s", way, args, got, want)
			}
		}
	}
}

// serving starts a server on stdio and waits until it has answered.
func (in *installation) serving(t *testing.T, env []string, program string) (cmd *exec.Cmd, closeStdin func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	t.Cleanup(cancel)
	cmd = in.command(env, program, "serve", "--stdio", in.site)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { stop() })
	if _, err := fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 1)
	if _, err := stdout.Read(answer); err != nil {
		t.Fatalf("no answer: %v", err)
	}
	return cmd, stdin.Close
}

// TestSignals verifies that the launcher ends as the program does, and never before it.
func TestSignals(t *testing.T) {
	in := install(t)
	program := in.must(t, in.command(nil, in.launcher(), "where"))
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL} {
		direct, _ := in.serving(t, nil, program)
		if err := direct.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		want := exit(t, direct)
		for way, env := range in.ways(t) {
			cmd, _ := in.serving(t, env, in.launcher())
			to := cmd.Process
			children := childrenOf(t, cmd.Process.Pid)
			if (way == "spawn") != (len(children) == 1) {
				t.Errorf("%s: processes below the launcher: %q", way, children)
			}
			if len(children) == 1 && signal == syscall.SIGKILL { // the launcher cannot forward it
				var pid int
				if _, err := fmt.Sscan(children[0], &pid); err != nil {
					t.Fatal(err)
				}
				to, _ = os.FindProcess(pid)
			}
			if err := to.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if got := exit(t, cmd); got != want {
				t.Errorf("%s: after %v: %s, the program alone: %s", way, signal, got, want)
			}
			for _, child := range children {
				if _, err := os.Stat("/proc/" + child + "/exe"); err == nil {
					t.Errorf("%s: after %v the program still runs", way, signal)
				}
			}
		}
	}
}

// childrenOf returns the processes that a process started.
func childrenOf(t *testing.T, pid int) []string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(data))
}

func TestStdinCloses(t *testing.T) {
	in := install(t)
	for way, env := range in.ways(t) {
		cmd, closeStdin := in.serving(t, env, in.launcher())
		if err := closeStdin(); err != nil {
			t.Fatal(err)
		}
		if got := exit(t, cmd); got != "exit status 0" {
			t.Errorf("%s: %s", way, got)
		}
	}
}

// TestLauncherErrors verifies what the launcher prints if it cannot start the program.
func TestLauncherErrors(t *testing.T) {
	in := install(t)
	scope := filepath.Join(in.dir, "node_modules", npmScope)
	own := filepath.Join(scope, npmPlatform(hostPlatform()))
	program := filepath.Join(own, "bin", projectName)
	moved := filepath.Join(in.dir, "moved")
	for _, test := range []struct {
		name, want, hint string
		prepare          func() error
	}{
		{"not executable", "cannot run " + program + ": EACCES", "chmod +x",
			func() error { return os.Chmod(program, 0o644) }},
		{"omitted", "the package " + npmPlatformPackage(hostPlatform()) + " is not installed; were optional",
			"npm install slipway@" + in.out.Version + " " + npmPlatformPackage(hostPlatform()) + "@" + in.out.Version,
			func() error { return os.Rename(own, moved) }},
		{"for another platform", npmScope + "/win32-arm64 is for another platform than this Node.js", "npm install slipway@",
			func() error {
				other := filepath.Join(scope, "win32-arm64", "bin")
				return errors.Join(os.MkdirAll(other, 0o755), os.WriteFile(filepath.Join(other, "slipway.exe"), nil, 0o755))
			}},
	} {
		if err := test.prepare(); err != nil {
			t.Fatal(err)
		}
		for way, env := range in.ways(t) {
			cmd := in.command(append(env, "npm_config_user_agent="), in.launcher(), "version")
			text, err := cmd.CombinedOutput()
			if err == nil || cmd.ProcessState.ExitCode() != 126 {
				t.Errorf("%s, %s: %v, want exit code 126", test.name, way, err)
			}
			message, hint, _ := strings.Cut(string(text), "\nhint: ")
			if !strings.Contains(message, test.want) || !strings.HasPrefix(hint, test.hint) {
				t.Errorf("%s, %s: printed\n%s", test.name, way, text)
			}
		}
	}
}

// TestWheel installs the wheel with pip, offline, and runs the program.
func TestWheel(t *testing.T) {
	in := prepare(t)
	wheel, ok := in.out.find(kindWheel, hostPlatform())
	if !ok {
		t.Fatal("no wheel for this machine")
	}
	venv := filepath.Join(in.dir, "venv")
	in.must(t, in.command(nil, "python3", "-m", "venv", venv))
	file, err := filepath.Abs(in.out.path(wheel.Path))
	if err != nil {
		t.Fatal(err)
	}
	pip := filepath.Join(venv, "bin", "python")
	in.must(t, in.command(nil, pip, "-m", "pip", "--disable-pip-version-check", "install", "--no-index", file))
	in.verifyVersion(t, filepath.Join(venv, "bin", "slipway"))
	in.must(t, in.command(nil, pip, "-m", "pip", "--disable-pip-version-check", "check"))
}

// BenchmarkStart measures the start of the program, alone and through each launcher. The
// median says more than the mean on a busy machine.
func BenchmarkStart(b *testing.B) {
	in := install(b)
	program := in.must(b, in.command(nil, in.launcher(), "where"))
	run := func(env []string, args ...string) func(*testing.B) {
		return func(b *testing.B) {
			var times []time.Duration
			for b.Loop() {
				start := time.Now()
				in.must(b, in.command(env, args[0], args[1:]...))
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "median-ms")
		}
	}
	b.Run("program", run(nil, program, "version"))
	b.Run("node", run(nil, filepath.Join(in.tools, "bin", "node"), "-e", ""))
	for way, env := range in.ways(b) {
		b.Run("launcher/"+way, run(env, in.launcher(), "version"))
	}
	b.Run("npx", run(nil, "npx", "--offline", "slipway", "version"))
}

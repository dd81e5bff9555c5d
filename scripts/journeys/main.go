//go:build unix

// Command journeys executes the pages in docs/journeys, each in an empty folder with an empty
// home folder and a minimal environment, and compares everything that their commands print.
//
//	go run ./scripts/journeys [-clients FOLDER] [-cold] [-update] [NAME...]
//
// A page may take five minutes at most. With -update the output is written into the pages. The
// module of the repository is available as a release, and downloads come from the caches of Go and
// npm unless -cold is set. What differs between machines is printed as it would be for a user
// named you: see places.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/slipway-mcp/slipway/internal/test/doc"
)

// limit is the time that a page may take.
const limit = 5 * time.Minute

// shownPorts are the ports on the pages; free ones are used instead.
var shownPorts = []string{"8080", "9000"}

func main() {
	update := flag.Bool("update", false, "write the output into the pages")
	cold := flag.Bool("cold", false, "download everything instead of using the caches of Go and npm")
	clients := flag.String("clients", "", "`folder` of the programs of clients, such as claude")
	flag.Parse()
	if err := run(*update, *cold, *clients, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "journeys:", err)
		os.Exit(1)
	}
}

func run(update, cold bool, clients string, names []string) error {
	repository, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	bin, err := os.MkdirTemp("", "journeys-bin-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(bin, "slipway"), "./cmd/slipway")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build slipway: %w", err)
	}
	downloads, err := findDownloads(repository, bin, cold)
	if err != nil {
		return err
	}

	pages, err := doc.Load(os.DirFS(repository))
	if err != nil {
		return err
	}
	passed := 0
	failed := 0
	for _, p := range pages {
		name := strings.TrimSuffix(filepath.Base(p.Path), ".md")
		steps, problems := doc.Journey(p)
		if !p.IsJourney() || len(steps) == 0 || len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		for _, problem := range problems {
			return errors.New(problem.String())
		}
		j := journey{
			page:       p,
			repository: repository,
			bin:        bin,
			clients:    clients,
			downloads:  downloads,
			update:     update,
		}
		start := time.Now()
		err := j.run(steps)
		took := time.Since(start).Round(100 * time.Millisecond)
		if err != nil {
			failed++
			fmt.Printf("FAIL %s after %s: %v\n", p.Path, took, err)
			continue
		}
		passed++
		fmt.Printf("ok   %s: %d commands and files in %s\n", p.Path, len(steps), took)
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 || passed == 0 {
		return errors.New("not every page is right")
	}
	return nil
}

// journey is one page in its own empty folder.
type journey struct {
	page       doc.Page
	repository string
	bin        string
	clients    string
	downloads  []string // environment of Go and npm
	update     bool

	folder string
	places *strings.Replacer // what is printed here, to what the page shows
	ports  *strings.Replacer // the ports that the page shows, to those that are used
}

func (j *journey) run(steps []doc.Step) error {
	if err := j.prepare(); err != nil {
		return err
	}
	defer os.RemoveAll(j.folder)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	sh, err := j.shell(ctx)
	if err != nil {
		return err
	}
	defer sh.stop()

	printed := map[int][]string{}
	wrong := 0
	for _, step := range steps {
		if step.File != "" {
			if err := j.save(step); err != nil {
				return err
			}
			continue
		}
		got, err := sh.do(j.ports.Replace(step.Args[0]))
		if err != nil {
			return fmt.Errorf("line %d: %s: %w, after:\n%s", step.Line, step.Args[0], err, strings.Join(got, "\n"))
		}
		for i, line := range got {
			got[i] = j.places.Replace(line)
		}
		printed[step.Line] = got
		if step.Matches(got) {
			printed[step.Line] = step.Output
		} else if !j.update {
			wrong++
			fmt.Printf("%s:%d: %s\n  the page shows:\n%s\n  it prints:\n%s\n", j.page.Path, step.Line, step.Args[0],
				indent(step.Output), indent(got))
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d commands print something else", wrong)
	}
	if !j.update {
		return nil
	}
	lines := doc.Rewrite(j.page, func(s doc.Step) []string { return printed[s.Line] })
	name := filepath.Join(j.repository, filepath.FromSlash(j.page.Path))
	return os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o644)
}

// prepare makes the folders, and finds free ports.
func (j *journey) prepare() error {
	folder, err := os.MkdirTemp("", "journey-")
	if err != nil {
		return err
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return err
	}
	j.folder = folder
	home := filepath.Join(folder, "you")
	if err := os.MkdirAll(filepath.Join(home, "project"), 0o755); err != nil {
		return err
	}
	places := []string{j.bin, "/usr/local/bin", folder, "/home"}
	var ports []string
	for _, shown := range shownPorts {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close() // after all are known, so that they differ
		_, free, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return err
		}
		places = append(places, ":"+free, ":"+shown)
		ports = append(ports, shown, free)
	}
	j.places = strings.NewReplacer(places...)
	j.ports = strings.NewReplacer(ports...)
	return nil
}

// save writes a file of the page.
func (j *journey) save(step doc.Step) error {
	name := filepath.Join(j.folder, "you", "project", filepath.FromSlash(step.File))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	content := j.ports.Replace(strings.Join(step.Output, "\n") + "\n")
	return os.WriteFile(name, []byte(content), 0o644)
}

// environment has what a login on a new machine would have, and where downloads come from.
func (j *journey) environment() []string {
	path := j.bin + ":/usr/local/bin:/usr/bin:/bin"
	if goroot, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		path += ":" + strings.TrimSpace(string(goroot)) + "/bin"
	}
	if j.clients != "" {
		path = j.clients + ":" + path
	}
	env := []string{
		"HOME=" + filepath.Join(j.folder, "you"),
		"PATH=" + path,
		"LANG=C.UTF-8",
		"DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
	return append(env, j.downloads...)
}

// shell is the terminal of a page. All commands run in one shell, so that folders, variables
// and background jobs last.
type shell struct {
	command *exec.Cmd
	in      io.WriteCloser
	lines   *bufio.Reader
}

// mark ends the output of a command.
const mark = "--journey-mark--"

func (j *journey) shell(ctx context.Context) (*shell, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "bash", "--noprofile", "--norc")
	cmd.Env = j.environment()
	cmd.Dir = filepath.Join(j.folder, "you", "project")
	cmd.Stdout = w
	cmd.Stderr = w
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	w.Close()
	return &shell{
		command: cmd,
		in:      in,
		lines:   bufio.NewReader(r),
	}, nil
}

// do runs a command, and returns the lines it prints.
func (s *shell) do(command string) ([]string, error) {
	// The exit code stays available to the next command, as in a terminal.
	_, err := fmt.Fprintf(s.in, "(exit ${status:-0}); { %s\n} </dev/null; status=$?; printf '\\n%s\\n'\n", command, mark)
	if err != nil {
		return nil, err
	}
	var lines []string
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return lines, fmt.Errorf("the shell has stopped: %w", err)
		}
		line = strings.TrimSuffix(line, "\n")
		if line != mark {
			lines = append(lines, line)
			continue
		}
		if n := len(lines); n > 0 && lines[n-1] == "" { // the mark begins a line of its own
			lines = lines[:n-1]
		}
		return lines, nil
	}
}

// stop ends the shell and everything that it has started.
func (s *shell) stop() {
	s.in.Close()
	_ = syscall.Kill(-s.command.Process.Pid, syscall.SIGKILL)
	_ = s.command.Wait()
}

func indent(lines []string) string {
	return "    " + strings.Join(lines, "\n    ")
}

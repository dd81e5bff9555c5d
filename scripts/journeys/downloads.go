//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// module is what `go get` finds on the pages, at the version below.
const (
	module  = "github.com/slipway-mcp/slipway"
	version = "v0.1.0"
)

// findDownloads returns the environment in which Go and npm find packages: the repository as a
// release of its module, then the caches of this machine unless cold, then its registries. The
// caches are keyed by content, so they change the time of a page and nothing that it prints.
func findDownloads(repository, folder string, cold bool) ([]string, error) {
	proxy := filepath.Join(folder, "proxy")
	if err := writeModule(repository, proxy); err != nil {
		return nil, fmt.Errorf("module of the repository: %w", err)
	}
	goEnv, err := goEnvironment("GOPROXY", "GOSUMDB", "GOMODCACHE", "GOCACHE")
	if err != nil {
		return nil, err
	}

	// -trimpath, so that what is built does not depend on the folder of a page.
	env := []string{
		"GOFLAGS=-modcacherw -trimpath",
		"GONOSUMDB=" + module,
		"GOSUMDB=" + goEnv["GOSUMDB"],
	}
	goProxy := "file://" + proxy
	if !cold {
		goProxy += ",file://" + filepath.Join(goEnv["GOMODCACHE"], "cache", "download")
		env = append(env, "GOCACHE="+goEnv["GOCACHE"])
		if home, err := os.UserHomeDir(); err == nil {
			env = append(env, "npm_config_cache="+filepath.Join(home, ".npm"))
		}
	}
	env = append(env, "GOPROXY="+goProxy+","+goEnv["GOPROXY"])
	for _, name := range []string{"npm_config_registry", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env, nil
}

func goEnvironment(names ...string) (map[string]string, error) {
	out, err := exec.Command("go", append([]string{"env", "-json"}, names...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	var env map[string]string
	return env, json.Unmarshal(out, &env)
}

// writeModule writes the repository, with uncommitted changes of its files, into a folder that Go
// accepts as a module proxy.
func writeModule(repository, proxy string) error {
	git := func(args ...string) (string, error) {
		cmd := exec.Command("git", args...)
		cmd.Dir = repository
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("stash", "create") // prints nothing if there are no changes
	if err != nil {
		return err
	}
	if commit == "" {
		commit = "HEAD"
	}
	nested, err := git("ls-files", "*/go.mod")
	if err != nil {
		return err
	}
	goMod, err := git("show", commit+":go.mod")
	if err != nil {
		return err
	}

	folder := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, content := range map[string]string{
		"list":            version,
		version + ".info": fmt.Sprintf(`{"Version": %q}`, version),
		version + ".mod":  goMod + "\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	archive := []string{
		"archive", "--format=zip", "--prefix=" + module + "@" + version + "/",
		"--output=" + filepath.Join(folder, version+".zip"), commit, "--", ".",
	}
	for _, name := range strings.Fields(nested) {
		archive = append(archive, ":(exclude)"+strings.TrimSuffix(name, "/go.mod"))
	}
	_, err = git(archive...)
	return err
}

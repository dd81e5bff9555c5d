package mcpb

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
)

const (
	// maxWalk is the maximum number of files that are checked individually.
	maxWalk = 100_000
	// maxScan is how many bytes of a file are searched for secrets.
	maxScan = 1 << 20
)

// walk visits every file of the bundle once.
func (c *checker) walk() error {
	files := 0
	buffer := make([]byte, maxScan)
	names := c.newNameRules()
	for _, name := range c.opts.moved {
		names.inspect(name)
		c.inspect(name, buffer)
	}
	defer names.report()
	return fs.WalkDir(c.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case d.IsDir() && (name == ".git" || c.opts.Skip(name, true)):
			return fs.SkipDir
		case !d.IsDir() && c.opts.Skip(name, false):
			return nil
		}
		c.content = append(c.content, contentEntry{name, d.IsDir(), d.Type().IsRegular()})
		names.inspect(name)
		if !d.Type().IsRegular() {
			return nil
		}
		if files++; files > maxWalk {
			return nil
		}
		c.inspect(name, buffer)
		return nil
	})
}

// inspect classifies a file by name and content. It ignores files that cannot be read:
// packing reports them.
func (c *checker) inspect(name string, buffer []byte) {
	if why := secretName(name); why != "" {
		c.in(name).Add(ruleSecretFile, "", "put it into .mcpbignore",
			"the bundle contains %s", why)
		return
	}
	f, err := c.fsys.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	n, err := readHead(f, buffer[:headBytes])
	if err != nil {
		return
	}
	if found, ok := readNative(name, buffer[:n]); ok {
		c.natives = append(c.natives, found)
		return
	}
	if fromPackages(name) || isBinary(buffer[:n]) {
		return
	}
	// The head classifies the file; secrets are searched for in more of it.
	if n == headBytes {
		more, err := readHead(f, buffer[n:])
		if err != nil {
			return
		}
		n += more
	}
	text := &check.Document{Text: buffer[:n]}
	for _, s := range findSecrets(buffer[:n]) {
		c.inText(name, text).At(s.at).Add(ruleSecret, "", "remove it, and revoke it if it was ever published",
			"this looks like %s", s.what)
	}
}

// fromPackages reports whether a file belongs to a package: secrets in it are already
// public, and usually examples.
func fromPackages(name string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(dir string) bool {
		return dir == "node_modules" || dir == "site-packages" || dir == "venv" ||
			dir == ".venv"
	})
}

// isBinary reports whether a file is not text: it has a NUL byte near its start, as git
// assumes.
func isBinary(head []byte) bool { return slices.Contains(head, 0) }

// checkPlatforms checks the machine code of the bundle against the platforms in the
// manifest.
func (c *checker) checkPlatforms() {
	if len(c.natives) == 0 {
		return
	}
	declared, explicit := c.declared()
	entry := map[string]bool{}
	for _, platform := range declared {
		pointer, name := c.started(platform)
		n := c.native(name)
		if n == nil {
			continue
		}
		entry[n.name] = true
		if n.platform == platform {
			c.checkCPU(pointer, n)
			continue
		}
		severity := check.Error
		hint := fmt.Sprintf("add an override for %s, or remove it from compatibility.platforms",
			platform)
		message := fmt.Sprintf("%s is for %s, but according to the manifest the bundle runs on %s", n.name, n, platform)
		if !explicit {
			severity, hint = check.Warning, fmt.Sprintf(`"compatibility": {"platforms": [%q]}`, n.platform)
			message = fmt.Sprintf("%s is for %s, and the manifest does not exclude %s", n.name, n, platform)
		}
		c.Add(ruleBinaryPlatform.As(severity), pointer, hint, "%s", message)
	}
	c.checkLibraries(declared, entry)
}

// started returns the file of the bundle that is started on a platform, and the pointer
// to it in the manifest.
func (c *checker) started(platform string) (pointer, name string) {
	s := &c.m.Server
	if s.Config != nil {
		pointer := "/server/mcp_config"
		o := s.Config.Overrides[platform]
		if o.Command != "" {
			pointer += "/platform_overrides/" + platform
		}
		command, _ := o.over(s.Config)
		name, isPath := commandPath(command)
		if clean, why := cleanPath(name); isPath && why == "" {
			_, missing := c.stat(clean + ".exe")
			if platform == "win32" && !missing {
				clean += ".exe"
			}
			return pointer + "/command", clean
		}
	}
	if clean, why := cleanPath(s.EntryPoint); s.Type == TypeBinary && why == "" {
		return "/server/entry_point", clean
	}
	return "", ""
}

// native returns the machine code in a file, or nil.
func (c *checker) native(name string) *native {
	i := slices.IndexFunc(c.natives, func(n native) bool {
		return n.name == name
	})
	if i < 0 || name == "" {
		return nil
	}
	return &c.natives[i]
}

// checkCPU notes that a program is for one CPU only, which a manifest cannot express.
func (c *checker) checkCPU(pointer string, n *native) {
	for _, cpu := range []string{"amd64", "arm64"} {
		if !slices.Contains(n.cpus, cpu) {
			c.Add(ruleBinaryCPU, pointer,
				"a manifest cannot say for which CPU it is; say it in the name of the file",
				"%s is for %s and does not run on %s", n.name, n, cpu)
			return
		}
	}
}

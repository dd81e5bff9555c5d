package mcpb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// checkIdentity checks name and version, which hosts use in paths and for updates.
func (c *checker) checkIdentity() {
	if n := c.root.Get("name"); n.Is(tree.String) && !isMachineName(n.Text) {
		c.Add(ruleIdentity, "/name",
			"use letters, digits, \".\", \"_\" and \"-\", and put the name for people into display_name",
			"%q is not a name for machines", n.Text)
	}
	if n := c.root.Get("version"); n.Is(tree.String) && !isSemver(n.Text) {
		c.Add(ruleSemver, "/version", "three numbers, such as 1.0.0",
			"%q is not a semantic version", n.Text)
	}
}

// isMachineName reports whether a name needs no quoting in a command, a path or a URL.
func isMachineName(s string) bool {
	if s == "" || len(s) > 128 || !alphanumeric(s[:1]) {
		return false
	}
	return alphanumeric(strings.NewReplacer(".", "", "_", "", "-", "").Replace(s))
}

// checkNames reports duplicate names of tools and prompts.
func (c *checker) checkNames() {
	for _, list := range []string{"tools", "prompts"} {
		seen := map[string]bool{}
		for i, n := range c.root.Get(list).Elements() {
			name := textOf(n.Get("name"))
			if seen[name] && name != "" {
				c.Add(ruleTwice, fmt.Sprintf("/%s/%d/name", list, i), "",
					"%q is in %s twice", name, list)
			}
			if n.Get("name").Is(tree.String) && name == "" {
				c.Add(ruleTwice, fmt.Sprintf("/%s/%d/name", list, i), "",
					"the name is empty")
			}
			seen[name] = true
		}
	}
}

// checkCompatibility checks the ranges of clients and runtimes, and the platforms.
func (c *checker) checkCompatibility() {
	compatibility := c.m.Compatibility
	if compatibility == nil {
		return
	}
	for _, client := range sortedKeys(compatibility.Clients) {
		c.ranged(pointerTo("/compatibility", client),
			compatibility.Clients[client], dialectSemver)
	}
	for _, runtime := range sortedKeys(compatibility.Runtimes) {
		dialect := dialectSemver
		if runtime == "python" {
			dialect = dialectPython
		}
		c.ranged(pointerTo("/compatibility/runtimes", runtime),
			compatibility.Runtimes[runtime], dialect)
	}
	c.checkRuntimes(compatibility.Runtimes)
	if compatibility.Platforms != nil && len(compatibility.Platforms) == 0 {
		c.Add(rulePlatforms, "/compatibility/platforms", "omit platforms to support all of them",
			"an empty list means that it runs nowhere")
	}
	seen := map[string]bool{}
	for i, p := range compatibility.Platforms {
		if seen[p] {
			c.Add(rulePlatforms, "/compatibility/platforms/"+strconv.Itoa(i), "",
				"%q is listed twice", p)
		}
		seen[p] = true
	}
}

// ranged reports an invalid range of versions.
func (c *checker) ranged(pointer, text string, d dialect) {
	if _, err := parseRange(text, d); err != nil {
		c.Add(ruleRange, pointer, "for example "+d.example(),
			"%q is not a range of versions: %v", text, err)
	}
}

// checkRuntimes reports a runtime that the server's type does not use.
func (c *checker) checkRuntimes(runtimes map[string]string) {
	uses := map[string]string{TypeNode: "node", TypePython: "python", TypeUV: "python"}[c.m.Server.Type]
	for _, runtime := range sortedKeys(runtimes) {
		if uses != runtime && c.m.Server.Type != "" {
			c.Add(ruleRuntimes, pointerTo("/compatibility/runtimes", runtime),
				"name only what the server uses", "a server of type %s does not run on %s", c.m.Server.Type, runtime)
		}
	}
}

// checkMeta requires the keys of _meta to be reversed domain names, as the specification
// does to avoid collisions.
func (c *checker) checkMeta() {
	for _, m := range membersOf(c.root.Get("_meta")) {
		labels := strings.Split(m.Key, ".")
		bad := slices.ContainsFunc(labels,
			func(l string) bool {
				return l == "" || !alphanumeric(strings.ReplaceAll(l, "-", ""))
			})
		if len(labels) < 2 || bad {
			c.At(m.KeyStart).Add(ruleMetaKey, pointerTo("/_meta", m.Key), "such as com.example",
				"%q is not a reversed domain name", m.Key)
		}
	}
}

// checkPrivacy checks the privacy policies, and notes a missing one if the manifest shows
// that data leaves the machine.
func (c *checker) checkPrivacy() {
	seen := map[string]bool{}
	for i, policy := range c.m.PrivacyPolicies {
		pointer := "/privacy_policies/" + strconv.Itoa(i)
		if strings.HasPrefix(strings.ToLower(policy), "http:") {
			c.Add(rulePrivacy, pointer, "use https", "a policy served over http can be changed in transit")
		}
		if seen[policy] {
			c.Add(rulePrivacy, pointer, "", "%q is listed twice", policy)
		}
		seen[policy] = true
	}
	if len(c.m.PrivacyPolicies) > 0 || c.m.SpecVersion < "0.2" {
		return
	}
	if why := c.external(); why != "" {
		c.Add(rulePrivacy.As(check.Note), "/privacy_policies",
			"privacy_policies is required when a service handles data of the user",
			"%s, and there is no privacy policy", why)
	}
}

// external returns the evidence in a manifest that its server uses a remote service.
func (c *checker) external() string {
	for _, o := range c.m.UserConfig {
		if o.Sensitive {
			return fmt.Sprintf("option %q is a credential", o.Key)
		}
	}
	if c.m.Server.Config == nil {
		return ""
	}
	env := c.m.Server.Config.Env
	for _, name := range sortedKeys(env) {
		if strings.HasPrefix(env[name], "https://") ||
			strings.HasPrefix(env[name], "http://") {
			return fmt.Sprintf("%s is the URL of a service", name)
		}
	}
	return ""
}

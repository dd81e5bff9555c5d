package mcpb

import (
	"bytes"
	"path"
	"regexp"
	"strings"
)

// secretName returns what a file that should not be published probably is, based on its
// name, or "".
func secretName(name string) string {
	base := strings.ToLower(path.Base(name))
	ext := path.Ext(base)
	switch {
	case fromPackages(name):
		return ""
	case base == ".env" || strings.HasPrefix(base, ".env.") && !example(ext):
		return "an environment file, where passwords usually are"
	case base == "id_rsa", base == "id_dsa", base == "id_ecdsa", base == "id_ed25519":
		return "a private SSH key"
	case ext == ".p12", ext == ".pfx", ext == ".jks", ext == ".keystore":
		return "a store of private keys"
	case base == ".netrc", base == ".pypirc", base == ".htpasswd",
		base == ".git-credentials", strings.HasSuffix(name, ".aws/credentials"):
		return "a file of passwords"
	}
	return ""
}

func example(ext string) bool {
	return ext == ".example" || ext == ".sample" || ext == ".template" || ext == ".dist"
}

// secret is a place in a file that looks like a credential. Its text is not kept, so that
// it cannot be printed.
type secret struct {
	what string
	at   int
}

// secretKind is a kind of credential with a recognizable format.
type secretKind struct {
	what    string
	begins  string // literal prefix; a file without it is not searched
	pattern string // includes the prefix
}

func secretKinds() []secretKind {
	return []secretKind{
		{"a private key", "-----BEGIN", `-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----\s+[A-Za-z0-9+/=:,\s-]{64}`},
		{"an access key of AWS", "AKIA", `AKIA[0-9A-Z]{16}\b`},
		{"a token of GitHub", "ghp_", `ghp_[A-Za-z0-9]{36}\b`},
		{"a token of GitHub", "gho_", `gho_[A-Za-z0-9]{36}\b`},
		{"a token of GitHub", "ghs_", `ghs_[A-Za-z0-9]{36}\b`},
		{"a token of GitHub", "github_pat_", `github_pat_[A-Za-z0-9_]{60,}`},
		{"a token of GitLab", "glpat-", `glpat-[A-Za-z0-9_-]{20,}`},
		{"a token of Slack", "xox", `xox[abprs]-[A-Za-z0-9-]{20,}`},
		{"a key of Anthropic", "sk-ant-", `sk-ant-[A-Za-z0-9_-]{32,}`},
		{"a key of OpenAI", "sk-proj-", `sk-proj-[A-Za-z0-9_-]{32,}`},
		{"a key of Google", "AIza", `AIza[0-9A-Za-z_-]{35}\b`},
		{"a token of npm", "npm_", `npm_[A-Za-z0-9]{36}\b`},
		{"a password of npm", ":_authToken=", `:_authToken=[^\s$]{8,}`},
		{"a token of PyPI", "pypi-AgEI", `pypi-AgEI[A-Za-z0-9_-]{40,}`},
		{"a live key of Stripe", "_live_", `_live_[A-Za-z0-9]{20,}\b`},
		{"a key of SendGrid", "SG.", `SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}`},
		{"a token of Hugging Face", "hf_", `hf_[A-Za-z]{34}\b`},
	}
}

// findSecrets returns recognizable credentials in a text, up to five of each kind.
func findSecrets(text []byte) []secret {
	const most = 5
	var found []secret
	for _, kind := range secretKinds() {
		if !bytes.Contains(text, []byte(kind.begins)) {
			continue
		}
		for _, at := range regexp.MustCompile(kind.pattern).FindAllIndex(text, most) {
			if !placeholder(text[at[0]:at[1]]) {
				found = append(found, secret{kind.what, at[0]})
			}
		}
	}
	return found
}

// placeholder reports whether an apparent credential is only an example: it says so, or
// it contains a filler such as xxxx.
func placeholder(text []byte) bool {
	lower := bytes.ToLower(text)
	for _, word := range []string{"example", "xxxx", "your", "0000", "1234567890abcdef"} {
		if bytes.Contains(lower, []byte(word)) {
			return true
		}
	}
	return false
}

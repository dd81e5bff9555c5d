package mcpb

import (
	"bytes"
	_ "embed" // secrets.json
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
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

// example reports whether the extension of an environment file marks it as a template.
func example(ext string) bool {
	return ext == ".example" ||
		ext == ".sample" ||
		ext == ".template" ||
		ext == ".dist"
}

// secret is a place in a file that looks like a credential. Its text is not kept, so that
// it cannot be printed.
type secret struct {
	what string
	at   int
}

// secretKind is a kind of credential with a recognizable format.
type secretKind struct {
	What    string
	Begins  string // a file without it is not searched
	Pattern string // includes it
}

// secretsText is the table of credentials; secrets.schema.json explains its members.
//
//go:embed secrets.json
var secretsText []byte

// secretKinds returns the kinds of the embedded secrets.json, which is parsed at first use.
var secretKinds = sync.OnceValue(func() []secretKind {
	var table struct{ Secrets []secretKind }
	if err := json.Unmarshal(secretsText, &table); err != nil {
		panic(fmt.Errorf("secrets.json: %w", err))
	}
	return table.Secrets
})

// findSecrets returns recognizable credentials in a text, up to five of each kind.
func findSecrets(text []byte) []secret {
	const most = 5
	var found []secret
	for _, kind := range secretKinds() {
		if !bytes.Contains(text, []byte(kind.Begins)) {
			continue
		}
		for _, at := range regexp.MustCompile(kind.Pattern).FindAllIndex(text, most) {
			if !placeholder(text[at[0]:at[1]]) {
				found = append(found, secret{kind.What, at[0]})
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

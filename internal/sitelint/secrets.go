package sitelint

import (
	"github.com/slipway-mcp/slipway/internal/secrets"
)

// SecretKinds returns the kinds of secrets that [Options.AllowSecrets] accepts as a
// whole.
func SecretKinds() []string {
	var names []string
	for _, k := range secrets.Kinds() {
		if k != secrets.Environment {
			names = append(names, string(k))
		}
	}
	return names
}

// CheckAllowedSecret returns an error if word is not a valid entry for
// [Options.AllowSecrets]: neither a fingerprint nor one of [SecretKinds].
func CheckAllowedSecret(word string) error {
	return secrets.CheckAccepted(word)
}

// secrets adds a finding for each secret in the JSON value at text[at] that is not
// allowed.
func (c *checker) secrets(s *fileReport, at int) {
	for _, f := range c.scanner.FindDocument(s.text[at:]) {
		fingerprint := secrets.Fingerprint(s.path, f.Pointer, f.Match)
		if secrets.Accepted(c.opts.AllowSecrets, fingerprint, f.Match) {
			continue
		}
		s.At(at+f.Offset).Add(ruleSecret, f.Pointer,
			"remove it and revoke it, because others may have read it; if it is not a secret, accept it with --allow-secret "+
				fingerprint,
			"the file contains %s (%s)", f.What, f.Kind)
	}
}

// Package secrets detects credentials in names, values, texts and JSON documents.
//
// [Name], [Known] and [Random] judge one name or value. A [Scanner] searches whole texts
// and documents, and also for the secret values of an environment:
//
//	s := secrets.New(os.Environ())
//	for _, m := range s.Find(text) {
//		fmt.Println(m.Kind, m.What)
//	}
//
// No result contains the secret itself, except as offsets into the text.
package secrets

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Kind is the kind of evidence that a text contains a secret.
type Kind string

// The kinds, most certain first.
const (
	// Environment is a secret value of the scanner's environment, plain or encoded.
	Environment Kind = "environment"
	// Dump is a list of environment variables.
	Dump Kind = "dump"
	// PrivateKey is a PEM block with a private key.
	PrivateKey Kind = "private-key"
	// Token is a value in the format of a known service's credentials.
	Token Kind = "token"
	// Pair is a value next to a name such as API_KEY.
	Pair Kind = "pair"
	// Entropy is a long random-looking string.
	Entropy Kind = "entropy"
)

// Kinds returns all kinds, most certain first.
func Kinds() []Kind {
	return []Kind{Environment, Dump, PrivateKey, Token, Pair, Entropy}
}

// Match is a part of a text that looks like a secret.
type Match struct {
	// Kind is the class of evidence, by which callers decide what to do.
	Kind Kind
	// What describes the evidence, such as "an AWS key". It contains names of variables and
	// members, but never a value.
	What string
	// Start and End are the offsets of the secret in the text.
	Start, End int
}

// Scanner searches texts for secrets. The zero value searches without an environment. A
// Scanner is safe for concurrent use.
type Scanner struct {
	// needles are the texts that reveal a secret of the environment.
	needles []needle
	// pairs contains the variables of the environment, to recognize a dump.
	pairs map[string]string
	// names has what names of pairs indicate: those of a conversation are few, and each occurs in many texts.
	// There are at most maxNames, which known counts.
	names sync.Map // string to nameKind
	known atomic.Int32
}

const (
	// maxMatches limits the matches in one text.
	maxMatches = 100
	// maxNested limits how many layers of base64 are decoded.
	maxNested = 2
)

// New returns a Scanner that also searches for the secret values in environ, a list of
// NAME=VALUE entries such as os.Environ.
func New(environ []string) *Scanner {
	s := &Scanner{pairs: make(map[string]string)}
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			continue
		}
		s.pairs[name] = value
		for _, secret := range secretsIn(name, value) {
			s.needles = appendNeedles(s.needles, name, secret)
		}
	}
	return s
}

// Find returns the secrets in text, in order. If matches overlap, it returns the most
// certain one.
func (s *Scanner) Find(text string) []Match {
	var variables variableSet
	matches := s.find(text, 0, &variables)
	if variables.dump() {
		matches = append(matches, Match{Dump, dumpText, 0, len(text)})
	}
	return settle(matches)
}

// find returns all matches except dumps, whose variables it collects.
func (s *Scanner) find(text string, depth int, variables *variableSet) []Match {
	var found []Match
	add := func(kind Kind, what string, start, end int) {
		if len(found) < maxMatches {
			found = append(found, Match{kind, what, start, end})
		}
	}
	s.findNeedles(text, add)
	findPrivateKeys(text, add)
	findTokens(text, add)
	findPasswords(text, add)
	findSchemes(text, add)
	s.findPairs(text, add, variables)
	s.findRuns(text, depth, add, variables)
	return found
}

const (
	// Redacted replaces a secret in a text.
	Redacted = "[redacted]"
	// maxRedactions limits the rounds of replacement. If a text still contains secrets after
	// that, it is replaced as a whole.
	maxRedactions = 8
)

// Redact replaces every secret in text with "[redacted]".
func (s *Scanner) Redact(text string) string {
	for range maxRedactions {
		matches := s.Find(text)
		if len(matches) == 0 {
			return text
		}
		var found []string
		for _, m := range matches {
			found = append(found, text[m.Start:m.End])
		}
		for _, secret := range found {
			text = strings.ReplaceAll(text, secret, Redacted)
		}
	}
	return Redacted
}

// settle sorts matches by position and drops those that overlap a more certain one.
func settle(matches []Match) []Match {
	if len(matches) < 2 {
		return matches
	}
	rank := make(map[Kind]int)
	for i, k := range Kinds() {
		rank[k] = i
	}
	slices.SortStableFunc(matches, func(a, b Match) int {
		return cmp.Compare(rank[a.Kind], rank[b.Kind])
	})
	var kept []Match
	for _, m := range matches {
		if !slices.ContainsFunc(kept, func(k Match) bool {
			return m.Start < k.End && k.Start < m.End
		}) {
			kept = append(kept, m)
		}
	}
	slices.SortStableFunc(kept, func(a, b Match) int {
		return cmp.Compare(a.Start, b.Start)
	})
	return kept
}

// Fingerprint identifies a match by its place and its description: path is the file and
// pointer the value in it. It does not depend on the secret, so it may be written into
// scripts, and it remains stable until the value at this place contains another kind of
// secret.
func Fingerprint(path, pointer string, m Match) string {
	sum := sha256.Sum256([]byte(path + "\x00" + pointer + "\x00" + string(m.Kind) + "\x00" + m.What))
	return hex.EncodeToString(sum[:6])
}

// Accepted reports whether list contains the fingerprint of m or its kind. A value of the
// environment can only be accepted by fingerprint.
func Accepted(list []string, fingerprint string, m Match) bool {
	return slices.Contains(list, fingerprint) ||
		m.Kind != Environment && slices.Contains(list, string(m.Kind))
}

// CheckAccepted returns an error if word is neither a fingerprint nor a kind that can be
// accepted as a whole.
func CheckAccepted(word string) error {
	decoded, err := hex.DecodeString(word)
	if err == nil && len(decoded) == 6 {
		return nil
	}
	var names []string
	for _, k := range Kinds()[1:] {
		if string(k) == word {
			return nil
		}
		names = append(names, string(k))
	}
	if word == string(Environment) {
		return errors.New("values of the environment are accepted one by one, by fingerprint")
	}
	return fmt.Errorf("%q is neither a fingerprint nor one of %s", word,
		strings.Join(names, ", "))
}

package stax

import (
	"fmt"
	"io"
	"log/slog"
)

// Redacted is how a secret looks wherever something is printed.
const Redacted = "[redacted]"

// Secret is a value that does not print itself: fmt, encoding/json and log/slog
// write "[redacted]". The zero value is an empty secret.
type Secret struct {
	// A pointer, as fmt looks into unexported fields of what it prints without
	// asking their methods.
	value *string
}

// NewSecret returns the secret with that value.
func NewSecret(value string) Secret { return Secret{&value} }

// Reveal returns the value: only for handing it to the program or the server
// that it is for.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// String implements fmt.Stringer.
func (s Secret) String() string { return Redacted }

// Format implements fmt.Formatter, for all verbs.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Redacted) }

// MarshalText implements encoding.TextMarshaler, and so serves encoding/json.
func (s Secret) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(Redacted) }

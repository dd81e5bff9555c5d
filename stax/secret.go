package stax

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/slipway-mcp/slipway/internal/secrets"
)

// Redacted is printed instead of a secret.
const Redacted = "[redacted]"

// Secret is a value that does not print itself: fmt, encoding/json and log/slog write
// "[redacted]". The zero value is an empty secret.
type Secret struct {
	// A pointer, because fmt prints unexported fields of a struct without calling their
	// methods.
	value *string
}

// NewSecret returns a secret with that value.
func NewSecret(value string) Secret { return Secret{&value} }

// Reveal returns the value. Pass it only to the program or server it is meant for.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// String implements fmt.Stringer.
func (s Secret) String() string { return Redacted }

// Format implements fmt.Formatter, for all verbs.
func (s Secret) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, Redacted)
}

// MarshalText implements encoding.TextMarshaler, and thereby covers encoding/json.
func (s Secret) MarshalText() ([]byte, error) {
	return []byte(Redacted), nil
}

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(Redacted) }

// IsSecretKey reports whether text can be the key of a secret: it has the form of the name
// of a variable, and does not look like the value of a secret.
func IsSecretKey(text string) bool {
	return variableName(text) && secrets.Known(text) == ""
}

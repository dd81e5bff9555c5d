package client

import (
	"errors"

	"github.com/slipway-mcp/slipway/internal/netguard"
)

// BlockedError is why an [Endpoint] refused an address, see [Endpoint.PublicOnly].
type BlockedError = netguard.BlockedError

// isBlocked reports whether an address was refused, which a retry will not change.
func isBlocked(err error) bool {
	var blocked *BlockedError
	return errors.As(err, &blocked)
}

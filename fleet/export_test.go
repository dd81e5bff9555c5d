package fleet

import "github.com/slipway-mcp/slipway/mcp"

// Attend returns once the fleet has handled the changes of its servers of which it knows.
func Attend(src mcp.Source) {
	for range 3 { // the channel has room for one, and the fleet may be handling another
		src.(*fleet).attention <- struct{}{}
	}
}

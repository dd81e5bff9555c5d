package fix

import (
	"fmt"
	"strings"
)

// longURIBytes is the maximum length of a URI that a client may subscribe to.
const longURIBytes = 8 << 10

// LongURI returns the URI of resource i. It has the maximum length, so that a few
// notifications fill the buffers of a socket. i is less than 10,000.
func LongURI(i int) string {
	head := fmt.Sprintf("test://long/%04d/", i)
	return head + strings.Repeat("u", longURIBytes-len(head))
}

package fix

import (
	"fmt"
	"strings"
)

// longURIBytes is the longest URI that a client may subscribe to.
const longURIBytes = 8 << 10

// LongURI returns the URI of resource i, which is as long as a subscribed URI may be,
// so that notifications of a few fill the buffers of a socket. i is less than 10,000.
func LongURI(i int) string {
	head := fmt.Sprintf("test://long/%04d/", i)
	return head + strings.Repeat("u", longURIBytes-len(head))
}

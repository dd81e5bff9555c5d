// Package fix holds what every benchmark sends and expects back: the 10 KB
// text, the filler tools, the workloads with their requests in both protocol
// eras, and the check of an answer's content.
//
// Start with [Workloads] and [Workload.Check]. Peer programs use [Text],
// [Tools] and the names below, so that all of them offer the same server.
package fix

import "strings"

// What each peer offers. A peer lists Echo, Blob, Progress and as many filler
// tools as its NTOOLS asks for, and one resource.
const (
	ServerName    = "bench"
	ServerVersion = "1.0.0"

	Echo            = "echo" // returns its argument "message" as text
	EchoDescription = "Return the message unchanged"
	Blob            = "blob" // takes nothing, returns Text
	BlobDescription = "Return ten kilobytes of text"

	Progress            = "progress" // reports its progress Steps times, then returns Message
	ProgressDescription = "Report progress, then return"
	Steps               = 10

	BlobURI  = "test://blob" // its text is Text
	BlobMIME = "text/plain"

	// Message is what the echo workloads send.
	Message = "hello, world"
)

// textSize is the length of Text in bytes before JSON escapes it.
const textSize = 10_240

// escapeEvery puts one character that JSON must escape at every so many: 1.5 %.
const escapeEvery = 67

// Text returns the 10 KB document of the blob tool and the blob resource. It
// is ASCII, free of characters that only some encoders escape (<, >, &), and
// the same at every call.
func Text() string {
	const prose = "The quick brown fox jumps over the lazy dog while seventeen servers answer one patient client. "
	escaped := []byte{'"', '\n', '\\', '\t'}
	var b strings.Builder
	b.Grow(textSize)
	for i := range textSize {
		if i%escapeEvery == escapeEvery-1 {
			b.WriteByte(escaped[i/escapeEvery%len(escaped)])
			continue
		}
		b.WriteByte(prose[i%len(prose)])
	}
	return b.String()
}

// Package fix contains what every benchmark sends and expects: the 10 KB text, the filler
// tools, the workloads with their requests in both protocol eras, and the check of
// answers.
//
// Start with [Workloads] and [Workload.Check]. Peer programs use [Text], [Tools] and the
// names below, so that all of them offer the same server.
package fix

import "strings"

// The features of each peer: Echo, Blob, Progress, filler tools up to NTOOLS, and one
// resource.
const (
	ServerName    = "bench"
	ServerVersion = "1.0.0"

	Echo            = "echo" // returns its argument "message" as text
	EchoDescription = "Return the message unchanged"
	Blob            = "blob" // takes no arguments, returns Text
	BlobDescription = "Return ten kilobytes of text"

	Progress            = "progress" // reports its progress Steps times, then returns Message
	ProgressDescription = "Report progress, then return"
	Steps               = 10

	BlobURI  = "test://blob" // its text is Text
	BlobMIME = "text/plain"

	// Message is the argument of the echo workloads.
	Message = "hello, world"
)

// textSize is the length of Text in bytes before JSON escapes it.
const textSize = 10_240

// escapeEvery is the distance between characters that JSON must escape: 1.5 % of the
// text.
const escapeEvery = 67

// Text returns the 10 KB document of the blob tool and the blob resource. It is ASCII,
// contains no characters that only some encoders escape (<, >, &), and is the same for
// every call.
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

package staticmcp

import "github.com/slipway-mcp/slipway/internal/wordvec"

// Vectors are static word vectors for [Options.Vectors]. They are read-only and safe for concurrent use, so several
// sites can share them.
type Vectors = wordvec.Vectors

// OpenVectors reads the word vectors in the file called name: text with a word and its numbers on each line, as
// published by GloVe, fastText and word2vec, compressed with gzip if the name ends in ".gz". Errors name the line.
//
// A file of any size takes at most about 90 MiB of memory: of the most frequent words, which come first, those that a
// query can contain are kept, with one byte per number.
func OpenVectors(name string) (*Vectors, error) { return wordvec.Open(name) }

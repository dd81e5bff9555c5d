package main

import (
	"errors"
	"io/fs"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// vectorsUsage is the usage of --vectors.
const vectorsUsage = "word vectors by which searches of sites also find pages without the words of the query: " +
	"text `file` of GloVe, fastText or word2vec"

// openVectors reads the file of --vectors, or returns nil if name is empty.
func openVectors(name string) (*staticmcp.Vectors, error) {
	if name == "" {
		return nil, nil
	}
	v, err := staticmcp.OpenVectors(name)
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		return nil, badInput("", "%s: %s", name, fsutil.Reason(err))
	case err != nil:
		return nil, badInput("each line is a word and its numbers, separated by spaces, as GloVe, fastText (.vec) and "+
			"word2vec publish as text", "%s: %v", name, err)
	}
	return v, nil
}

package staticmcp

import "encoding/json"

// IndexPath is where a site written by this program keeps its index. Other
// readers do not look there, and a site is complete without it.
const IndexPath = ".staticmcp/index.json"

// Index says what files a site consists of and what they answer. Of a site with
// more than [IndexShardFiles] files the list itself is in several files.
type Index struct {
	// Format is 1. A reader leaves an index with another number alone.
	Format int `json:"format"`
	// Generator names the program that wrote the site.
	Generator string `json:"generator"`
	// Count and Bytes are those of all files but the index itself.
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
	// Files are in the order of their paths. Nil if there are Shards.
	Files []IndexEntry `json:"files,omitempty"`
	// Shards are in the order of what they hold.
	Shards []IndexShard `json:"shards,omitempty"`
}

// IndexShardFiles is how many files an index lists itself.
const IndexShardFiles = 20_000

// IndexEntry is one file of a site.
type IndexEntry struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	// SHA256 is the hash of the contents in hexadecimal digits.
	SHA256 string `json:"sha256"`

	// What the file answers, or nothing: the arguments are the original ones, in
	// the order of the path.
	Tool      string          `json:"tool,omitempty"`
	URI       string          `json:"uri,omitempty"`
	Prompt    string          `json:"prompt,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Alias says that the same answer has another file under its proper name.
	Alias bool `json:"alias,omitempty"`
}

// IndexShard is a part of an index: a file that holds an array of entries.
type IndexShard struct {
	Path  string `json:"path"`
	First string `json:"first"` // the path of its first entry
	Count int    `json:"count"`
}

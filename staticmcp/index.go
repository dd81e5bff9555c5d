package staticmcp

import "encoding/json"

// IndexPath is where a site written by this program keeps its index. Other readers ignore
// it, and a site is complete without it.
const IndexPath = ".staticmcp/index.json"

// Index lists the files of a site and what they answer. If a site has more than
// [IndexShardFiles] files, the list is split into several files.
type Index struct {
	// Format is 1. Readers ignore an index with another number.
	Format int `json:"format"`
	// Generator is the name of the program that wrote the site.
	Generator string `json:"generator"`
	// Count and Bytes are the number and total size of all files except the index itself.
	// Answers in packs are not files.
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
	// Files are sorted by path. Nil if there are Shards.
	Files []IndexEntry `json:"files,omitempty"`
	// Shards are in the order of their entries.
	Shards []IndexShard `json:"shards,omitempty"`
}

// IndexShardFiles is the largest number of files listed in the index itself.
const IndexShardFiles = 20_000

// IndexEntry is one file of a site.
type IndexEntry struct {
	// Path is the slash-separated path in the site, and Size the bytes of the file.
	Path string `json:"path"`
	Size int64  `json:"size"`
	// SHA256 is the hash of the contents in hexadecimal digits. Answers in packs have none:
	// their packs do.
	SHA256 string `json:"sha256,omitempty"`
	// Packed means that the answer is in a pack, and not in a file at Path.
	Packed bool `json:"packed,omitempty"`

	// The question that the file answers, if any: the arguments are the unencoded ones, in
	// path order.
	Tool      string          `json:"tool,omitempty"`
	URI       string          `json:"uri,omitempty"`
	Prompt    string          `json:"prompt,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Alias marks a second file for an answer that also has one under its proper name.
	Alias bool `json:"alias,omitempty"`
}

// IndexShard is a part of an index: a file that holds an array of entries.
type IndexShard struct {
	// Path is the path of the shard in the site, and Count the number of its entries.
	Path  string `json:"path"`
	First string `json:"first"` // the path of its first entry
	Count int    `json:"count"`
}

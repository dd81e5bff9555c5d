// Package packs defines the packed layout of a site: answers of tools in a few files, instead
// of one file each.
//
// A pack is a JSON object with one answer per line, from the path that the answer has in the
// standard's layout to its document:
//
//	{"next":"2c",
//	"tools/get_page/guide.json":{"content":[...]},
//	"tools/get_section/guide/setup.json":{"content":[...]}
//	}
//
// [Key] maps a path to a number, and each pack contains a range of numbers. The manifest
// lists where the ranges start, in a [Table]. All answers about one thing, such as a page,
// have neighbouring numbers, so a changed page usually changes one pack.
package packs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
)

const (
	// Dir is the folder of the packs in a site. It is not hidden, because some hosts and upload
	// steps skip hidden folders.
	Dir = "packs"
	// MetaName is the member of the manifest's _meta that contains the [Table].
	MetaName = "io.github.slipway-mcp/packs"
	// MaxBytes is the size above which a pack is split, unless it contains a single answer.
	MaxBytes = 128 << 10

	tools     = "tools/"
	extension = ".json"
	// maxPacks and maxStart limit a Table.
	maxPacks = 1 << 20
	maxStart = 16
)

// Key returns the number of the answer at path, and whether packs can contain it: whether it
// is the answer of a tool to a call with arguments. The first half of the number depends only
// on the first argument.
func Key(path string) (key uint64, ok bool) {
	rest, isTool := strings.CutPrefix(path, tools)
	if !isTool || !strings.HasSuffix(path, extension) {
		return 0, false
	}
	_, rest, ok = strings.Cut(strings.TrimSuffix(rest, extension), "/")
	if !ok || !isEncoded(rest) {
		return 0, false
	}
	first, _, _ := strings.Cut(rest, "/")
	high := crc32.ChecksumIEEE([]byte(first))
	low := crc32.ChecksumIEEE([]byte(path))
	return uint64(high)<<32 | uint64(low), true
}

// isEncoded reports whether the names between slashes are ones that the standard's encoding
// returns.
func isEncoded(names string) bool {
	previous := byte('/')
	for i := range len(names) {
		c := names[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '_', c == '-':
		case c == '/' && previous != '/':
		default:
			return false
		}
		previous = c
	}
	return previous != '/'
}

// Table contains the starts of the ranges of all packs, in order: hexadecimal digits without
// trailing zeros, the first of them "0".
type Table []string

// Start returns the form of a number in a [Table].
func Start(key uint64) string {
	digits := strings.TrimRight(fmt.Sprintf("%016x", key), "0")
	if digits == "" {
		return "0"
	}
	return digits
}

// Parse decodes and verifies the member MetaName of a manifest. Null means no packs.
func Parse(raw []byte) (Table, error) {
	if string(raw) == "null" {
		return nil, nil
	}
	var entry struct{ Starts Table }
	if err := json.Unmarshal(raw, &entry); err != nil {
		return nil, fmt.Errorf("%s: %w", MetaName, err)
	}
	t := entry.Starts
	if len(t) == 0 || t[0] != "0" || len(t) > maxPacks || !slices.IsSorted(t) {
		return nil, fmt.Errorf("%s: the starts are not sorted, or do not begin with 0", MetaName)
	}
	for i, start := range t {
		_, err := strconv.ParseUint(start, 16, 64)
		if err != nil || len(start) > maxStart || strings.ToLower(start) != start || i > 0 && t[i-1] == start {
			return nil, fmt.Errorf("%s: invalid start %q", MetaName, start)
		}
	}
	return t, nil
}

// Encode returns the member MetaName of a manifest.
func (t Table) Encode() ([]byte, error) {
	return json.Marshal(struct {
		Starts Table `json:"starts"`
	}{t})
}

// Pack returns the index of the pack with the answer of that number.
func (t Table) Pack(key uint64) int {
	i, exact := slices.BinarySearch(t, fmt.Sprintf("%016x", key))
	if exact {
		return i
	}
	return max(0, i-1)
}

// File returns the path of the pack with that start.
func File(start string) string { return Dir + "/" + start + extension }

// Find returns the answer for path in a pack, or nil if the pack does not contain it.
func Find(pack []byte, path string) []byte {
	at := bytes.Index(pack, []byte("\n\""+path+"\":"))
	if at < 0 {
		return nil
	}
	line := pack[at+len("\n\"\":")+len(path):]
	end := bytes.IndexByte(line, '\n')
	if end < 0 {
		return nil
	}
	return bytes.TrimSuffix(line[:end], []byte(","))
}

// begin is how every pack begins.
const begin = `{"next":"`

// Begins reports whether data begins as a pack does.
func Begins(data []byte) bool { return bytes.HasPrefix(data, []byte(begin)) }

// Next returns the start of the following pack as a pack states it, or "" in the last pack.
func Next(pack []byte) string {
	rest, ok := bytes.CutPrefix(pack, []byte(begin))
	end := bytes.IndexByte(rest, '"')
	if !ok || end < 0 || end > maxStart {
		return ""
	}
	return string(rest[:end])
}

// ErrForm is the error for a pack that does not have one answer per line.
var ErrForm = errors.New("not a pack: it does not have one answer on each line")

// Each calls visit with the path of each answer in a pack, and where the answer begins and
// ends, until it returns false.
func Each(pack []byte, visit func(path string, start, end int) bool) error {
	at := bytes.IndexByte(pack, '\n') + 1
	if at == 0 || !Begins(pack) || !bytes.HasSuffix(pack, []byte("\n}\n")) {
		return ErrForm
	}
	for last := len(pack) - len("}\n"); at < last; {
		end := at + bytes.IndexByte(pack[at:], '\n')
		path, answer, ok := bytes.Cut(pack[at:end], []byte("\":"))
		if !ok || len(path) == 0 || path[0] != '"' {
			return ErrForm
		}
		stop := end
		if end < last-1 {
			if pack[end-1] != ',' {
				return ErrForm
			}
			stop--
		}
		if !visit(string(path[1:]), end-len(answer), stop) {
			return nil
		}
		at = end + 1
	}
	return nil
}

// Item is an answer to be packed: its number, and the size of its line.
type Item struct {
	Key  uint64
	Size int64
}

// Split divides answers, sorted by number, into packs of at most MaxBytes. It calls pack for
// each, in order, with its start and the range of its answers. The division depends only on
// the answers themselves: one more or less changes the packs next to it.
func Split(items []Item, pack func(start string, from, to int)) {
	if len(items) > 0 {
		split(items, 0, 0, 63, pack)
	}
}

// split divides items, whose numbers are those from start on that agree with it in the bits
// above bit. They are at index offset of all items.
func split(items []Item, offset int, start uint64, bit int, pack func(start string, from, to int)) {
	var size int64
	for i := range items {
		size += items[i].Size
	}
	for ; size > MaxBytes && bit >= 0; bit-- {
		middle := items[0].Key>>(bit+1)<<(bit+1) | 1<<bit
		at, _ := slices.BinarySearchFunc(items, middle, func(item Item, key uint64) int {
			if item.Key < key {
				return -1
			}
			return 1
		})
		if at == 0 || at == len(items) {
			continue // all on one side: the next bit
		}
		split(items[:at], offset, start, bit-1, pack)
		split(items[at:], offset+at, middle, bit-1, pack)
		return
	}
	pack(Start(start), offset, offset+len(items))
}

// Append appends a pack with that answers, from their paths to their documents, which are
// compact JSON.
func Append(into []byte, next string, n int, answer func(i int) (path string, doc []byte, err error)) ([]byte, error) {
	into = append(append(append(into, `{"next":"`...), next...), "\",\n"...)
	for i := range n {
		path, doc, err := answer(i)
		if err != nil {
			return nil, err
		}
		into = append(append(append(into, '"'), path...), "\":"...)
		into = append(into, doc...)
		if i < n-1 {
			into = append(into, ',')
		}
		into = append(into, '\n')
	}
	return append(into, "}\n"...), nil
}

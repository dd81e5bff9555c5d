package mcpb

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"io/fs"
	"math"
	"runtime"
	"slices"
)

// Signatures of the records of a zip file (APPNOTE.TXT, section 4.3), and the sizes of
// their fixed parts.
const (
	localSignature      = "PK\x03\x04"
	centralSignature    = "PK\x01\x02"
	endSignature        = "PK\x05\x06"
	zip64EndSignature   = "PK\x06\x06"
	zip64LocatorSig     = "PK\x06\x07"
	descriptorSignature = "PK\x07\x08"

	localLen        = 30
	centralLen      = 46
	endLen          = 22
	zip64EndLen     = 56
	zip64LocatorLen = 20
	maxComment      = 1<<16 - 1
)

// Flag bits of an entry.
const (
	flagEncrypted  = 1 << 0
	flagDescriptor = 1 << 3
	flagPatch      = 1 << 5
	flagStrong     = 1 << 6
	flagUTF8       = 1 << 11
	flagMasked     = 1 << 13
)

const (
	methodStore   = 0
	methodDeflate = 8
)

// directory is the position of the central directory, according to the end records.
type directory struct {
	offset, size int64
	end          int64 // offset of the records after it
	count        int64
}

// central is one header of the central directory.
type central struct {
	Entry
	flags, method uint16
	offset        int64 // of the local header
	raw           []byte
}

// readDirectory reads the central directory, and checks every entry and its local header.
func (a *Archive) readDirectory(block *block) error {
	dir, err := a.findDirectory(block)
	if err != nil {
		return err
	}
	if a.limits.Entries >= 0 && dir.count > int64(a.limits.Entries) {
		return unsafef(ruleLimit, "", "it has %d entries, more than the limit of %d", dir.count, a.limits.Entries)
	}
	if dir.count > dir.size/centralLen {
		return damagedf("", "its directory of %d bytes cannot have %d entries", dir.size, dir.count)
	}
	headers, err := a.readHeaders(dir)
	if err != nil {
		return err
	}
	if err := a.limits.admitContent(a.bytes, a.zipSize); err != nil {
		return err
	}
	return a.readLocals(headers, dir)
}

// findDirectory reads the end records of the zip. The last one must be complete, and must
// end exactly where the zip ends or declare the signature block as its comment.
func (a *Archive) findDirectory(block *block) (*directory, error) {
	tail, begin, err := readTail(a.r, a.zipSize, endLen+maxComment)
	if err != nil {
		return nil, err
	}
	i := bytes.LastIndex(tail, []byte(endSignature))
	if i < 0 || len(tail)-i < endLen {
		return nil, damagedf("", "there is no directory at its end, so it is no zip file or not all of one")
	}
	end, at := tail[i:], begin+int64(i)
	behind := a.zipSize - at - endLen
	comment := int64(binary.LittleEndian.Uint16(end[20:]))
	if !block.found && comment != behind {
		if cut := findCut(tail[i+endLen:], comment, at+endLen); cut != nil {
			return nil, cut
		}
	}
	if comment != behind && (!block.found || comment != a.size-at-endLen) {
		return nil, unsafef(ruleAmbiguous, "", "%d bytes follow its directory, which says %d", behind, comment)
	}
	a.end = at
	dir := &directory{
		count:  int64(binary.LittleEndian.Uint16(end[10:])),
		size:   int64(binary.LittleEndian.Uint32(end[12:])),
		offset: int64(binary.LittleEndian.Uint32(end[16:])),
		end:    at,
	}
	here := int64(binary.LittleEndian.Uint16(end[8:]))
	disk := max(binary.LittleEndian.Uint16(end[4:]), binary.LittleEndian.Uint16(end[6:]))
	if i >= zip64LocatorLen && string(tail[i-zip64LocatorLen:][:4]) == zip64LocatorSig {
		if err := a.readZip64(dir, tail[i-zip64LocatorLen:i]); err != nil {
			return nil, err
		}
	} else if here != dir.count || disk != 0 {
		return nil, unsafef(ruleUnsupported, "", "it is one of several parts")
	}
	if dir.offset < 0 || dir.size < 0 || dir.offset > dir.end || dir.offset+dir.size != dir.end {
		return nil, unsafef(ruleAmbiguous, "",
			"its directory is not at the recorded position: bytes were added before the archive or cut from it")
	}
	return dir, nil
}

// readZip64 sets the values that do not fit into the small end record. Values that are in
// both records must agree.
func (a *Archive) readZip64(dir *directory, locator []byte) error {
	at := binary.LittleEndian.Uint64(locator[8:])
	if dir.end < zip64LocatorLen+zip64EndLen || at != uint64(dir.end-zip64LocatorLen-zip64EndLen) {
		return unsafef(ruleAmbiguous, "", "its zip64 record does not lie in front of the locator")
	}
	b := make([]byte, zip64EndLen)
	if err := readFull(a.r, b, int64(at)); err != nil {
		return err
	}
	if string(b[:4]) != zip64EndSignature || binary.LittleEndian.Uint64(b[4:]) != zip64EndLen-12 {
		return damagedf("", "its zip64 record is none")
	}
	if binary.LittleEndian.Uint32(b[16:])|binary.LittleEndian.Uint32(b[20:])|
		binary.LittleEndian.Uint32(locator[4:]) != 0 ||
		binary.LittleEndian.Uint64(b[24:]) != binary.LittleEndian.Uint64(b[32:]) {
		return unsafef(ruleUnsupported, "", "it is one of several parts")
	}
	for _, field := range []struct {
		small *int64
		most  int64
		large uint64
	}{
		{&dir.count, math.MaxUint16, binary.LittleEndian.Uint64(b[32:])},
		{&dir.size, math.MaxUint32, binary.LittleEndian.Uint64(b[40:])},
		{&dir.offset, math.MaxUint32, binary.LittleEndian.Uint64(b[48:])},
	} {
		if field.large > math.MaxInt64/4 || (*field.small != field.most && *field.small != int64(field.large)) {
			return unsafef(ruleAmbiguous, "", "its two directory records disagree")
		}
		*field.small = int64(field.large)
	}
	dir.end = int64(at)
	return nil
}

// readHeaders reads the central directory into a.entries.
func (a *Archive) readHeaders(dir *directory) ([]central, error) {
	in := bufio.NewReaderSize(io.NewSectionReader(a.r, dir.offset, dir.size), 1<<16)
	headers := make([]central, 0, dir.count)
	a.entries = make([]Entry, 0, dir.count)
	left := dir.size
	for range dir.count {
		h, n, err := readCentral(in)
		if err != nil {
			return nil, err
		}
		if err := h.check(); err != nil {
			return nil, err
		}
		if err := a.limits.admit(&h.Entry, a.bytes); err != nil {
			return nil, err
		}
		a.bytes += h.Size
		left -= n
		a.entries = append(a.entries, h.Entry)
		headers = append(headers, *h)
	}
	if left != 0 {
		return nil, unsafef(ruleAmbiguous, "", "its directory has %d bytes more than its %d entries", left, dir.count)
	}
	return headers, nil
}

// readCentral reads one header and returns its length in bytes.
func readCentral(in *bufio.Reader) (*central, int64, error) {
	var fixed [centralLen]byte
	if _, err := io.ReadFull(in, fixed[:]); err != nil {
		return nil, 0, damagedf("", "its directory ends too early")
	}
	if string(fixed[:4]) != centralSignature {
		return nil, 0, damagedf("", "an entry of its directory does not begin as one")
	}
	le := binary.LittleEndian
	nameLen, extraLen, commentLen := int(le.Uint16(fixed[28:])), int(le.Uint16(fixed[30:])), int(le.Uint16(fixed[32:]))
	rest := make([]byte, nameLen+extraLen)
	if _, err := io.ReadFull(in, rest); err != nil {
		return nil, 0, damagedf("", "its directory ends too early")
	}
	if n, _ := in.Discard(commentLen); n != commentLen {
		return nil, 0, damagedf("", "its directory ends too early")
	}
	h := &central{
		flags: le.Uint16(fixed[8:]), method: le.Uint16(fixed[10:]), offset: int64(le.Uint32(fixed[42:])),
		raw: rest[:nameLen],
		Entry: Entry{
			Name:       string(rest[:nameLen]),
			CRC32:      le.Uint32(fixed[16:]),
			PackedSize: int64(le.Uint32(fixed[20:])),
			Size:       int64(le.Uint32(fixed[24:])),
		},
	}
	if le.Uint16(fixed[34:]) != 0 {
		return nil, 0, unsafef(ruleUnsupported, h.Name, "it lies in another part of the archive")
	}
	if err := readExtra(rest[nameLen:], h.Name, []*int64{&h.Size, &h.PackedSize, &h.offset}); err != nil {
		return nil, 0, err
	}
	err := h.setMode(fixed[5], le.Uint32(fixed[38:]))
	return h, int64(centralLen + nameLen + extraLen + commentLen), err
}

// setMode reads the attributes. The upper half is always taken for a Unix mode,
// regardless of the system that made the entry: some readers use it on every system.
func (h *central) setMode(_ byte, attributes uint32) error {
	const typeBits, regular, folder, link = 0o170000, 0o100000, 0o040000, 0o120000
	const dosFolder = 0x10
	isFolder := len(h.raw) > 0 && h.raw[len(h.raw)-1] == '/'
	mode := attributes >> 16
	switch kind := mode & typeBits; {
	case kind == link:
		return unsafef(ruleLink, h.Name, "it is a link")
	case kind != 0 && kind != regular && kind != folder:
		return unsafef(ruleLink, h.Name, "it is a device, a pipe or a socket")
	case isFolder && kind == regular, !isFolder && (kind == folder || attributes&dosFolder != 0):
		return unsafef(ruleAmbiguous, h.Name, "its name and its mode disagree on whether it is a folder")
	}
	switch {
	case isFolder:
		h.Name = h.Name[:len(h.Name)-1]
		h.Mode = fs.ModeDir | 0o755
	case mode&0o100 != 0:
		h.Mode = 0o755
	default:
		h.Mode = 0o644
	}
	return nil
}

// check checks a header on its own.
func (h *central) check() error {
	switch {
	case h.flags&(flagEncrypted|flagStrong|flagMasked) != 0:
		return unsafef(ruleUnsupported, h.Name, "it is encrypted")
	case h.flags&flagPatch != 0:
		return unsafef(ruleUnsupported, h.Name, "it is a patch")
	case h.method != methodStore && h.method != methodDeflate:
		return unsafef(ruleUnsupported, h.Name, "it is packed with method %d; only 0 (stored) and 8 (deflated) are allowed",
			h.method)
	case h.Size < 0 || h.PackedSize < 0 || h.offset < 0:
		return damagedf(h.Name, "its sizes are out of range")
	case h.method == methodStore && h.Size != h.PackedSize:
		return unsafef(ruleAmbiguous, h.Name, "it is stored, and yet has two sizes")
	case h.Mode.IsDir() && (h.Size != 0 || h.PackedSize > 2):
		return unsafef(ruleAmbiguous, h.Name, "it is a folder with content")
	}
	return checkNameOn(runtime.GOOS, h.Name)
}

// readTail reads the last n bytes of the first size bytes, or all of them if there are
// fewer.
func readTail(r io.ReaderAt, size, n int64) (tail []byte, begin int64, err error) {
	begin = max(0, size-n)
	tail = make([]byte, size-begin)
	return tail, begin, readFull(r, tail, begin)
}

func readFull(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case err == io.EOF:
		return damagedf("", "it ends too early")
	}
	return err
}

// byOffset returns the indices of headers, sorted by offset.
func byOffset(headers []central) []int {
	order := make([]int, len(headers))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(headers[i].offset, headers[j].offset) })
	return order
}

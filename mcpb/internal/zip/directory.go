package zip

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"runtime"
	"slices"
)

// Signatures of the records of a zip file (APPNOTE.TXT, section 4.3).
const (
	localSignature      = 0x04034b50
	centralSignature    = 0x02014b50
	zip64EndSignature   = 0x06064b50
	zip64LocatorSig     = 0x07064b50
	descriptorSignature = 0x08074b50
	endSignature        = "PK\x05\x06"
)

// Sizes of the fixed parts of the records.
const (
	localLen        = 30
	centralLen      = 46
	endLen          = 22
	zip64EndLen     = 56
	zip64LocatorLen = 20
	maxComment      = 1<<16 - 1
)

// common are the fields of both headers of a file.
type common struct {
	Flags, Method uint16
	// Modified is time and date in MS-DOS format.
	Modified            uint32
	CRC32, Packed, Size uint32
	NameLen, ExtraLen   uint16
}

// localRecord is the local file header before each file, section 4.3.7 of the ZIP specification
// (APPNOTE). Fields of the records are in the order of the file.
type localRecord struct {
	Signature uint32
	Needs     uint16
	common
}

// centralRecord is the header of a file in the central directory, section 4.3.12.
type centralRecord struct {
	Signature     uint32
	MadeBy, Needs uint16
	common
	CommentLen, Disk, Internal uint16
	Attributes, Offset         uint32
}

// endRecord is the end of central directory record, section 4.3.16.
type endRecord struct {
	Signature uint32
	// Here and Count are the numbers of entries on this disk and on all. Archives on several disks
	// are refused.
	Disk, DirectoryDisk, Here, Count uint16
	DirectorySize, Offset            uint32
	CommentLen                       uint16
}

// zip64EndRecord has the values that do not fit into the fields of endRecord, section 4.3.14.
type zip64EndRecord struct {
	Signature                          uint32
	Length                             uint64
	MadeBy, Needs                      uint16
	Disk, DirectoryDisk                uint32
	Here, Count, DirectorySize, Offset uint64
}

// zip64Locator precedes endRecord and has the offset of zip64EndRecord, section 4.3.15.
type zip64Locator struct {
	Signature, Disk uint32
	Offset          uint64
	Disks           uint32
}

// decode reads a record from the start of b, which is long enough.
func decode(b []byte, record any) {
	_, _ = binary.Decode(b, binary.LittleEndian, record)
}

// Flag bits of an entry.
const (
	flagEncrypted  = 1<<0 | 1<<6 | 1<<13 // encrypted, strongly encrypted, masked headers
	flagDescriptor = 1 << 3
	flagPatch      = 1 << 5
	flagUTF8       = 1 << 11
)

const (
	// The compression methods of bundles. All others are refused, since few readers have them.
	methodStore   = 0
	methodDeflate = 8
)

// directory is the position of the central directory, according to the end records.
type directory struct {
	offset, size int64
	end          int64 // offset of the records after it
	count        int64
}

// readDirectory reads the central directory, and checks every entry and its local header.
func (a *Archive) readDirectory() error {
	dir, err := a.findDirectory()
	if err != nil {
		return err
	}
	if err := a.budget.AdmitEntries(dir.count); err != nil {
		return err
	}
	if dir.count > dir.size/centralLen {
		return damagedf("", "its directory of %d bytes cannot have %d entries",
			dir.size, dir.count)
	}
	if err := a.readEntries(dir); err != nil {
		return err
	}
	if err := a.budget.AdmitContent(a.block.Begin); err != nil {
		return err
	}
	return a.readLocals(dir.offset)
}

// findDirectory reads the end records of the zip. The last one must be complete, and must
// end exactly where the zip ends or declare the signature block as its comment.
func (a *Archive) findDirectory() (*directory, error) {
	tail, begin, err := readTail(a.r, a.block.Begin, endLen+maxComment)
	if err != nil {
		return nil, err
	}
	// Readers search for the last end record, within the length that a comment can have.
	i := bytes.LastIndex(tail, []byte(endSignature))
	if i < 0 || len(tail)-i < endLen {
		return nil, damagedf("", "it does not end with a directory, so it is not a zip file or is incomplete")
	}
	var end endRecord
	decode(tail[i:], &end)
	a.end = begin + int64(i)
	behind := a.block.Begin - a.end - endLen
	comment := int64(end.CommentLen)
	if !a.Signed() && comment != behind {
		if cut := findCut(tail[i+endLen:], comment, a.end+endLen); cut != nil {
			return nil, cut
		}
	}
	if comment != behind && (!a.Signed() || comment != a.block.size-a.end-endLen) {
		return nil, unsafef(RuleAmbiguous, "",
			"%d bytes follow its directory, which declares %d", behind, comment)
	}
	dir := &directory{
		count:  int64(end.Count),
		size:   int64(end.DirectorySize),
		offset: int64(end.Offset),
		end:    a.end,
	}
	// A zip64 archive has a locator directly before the end record.
	var locator zip64Locator
	if i >= zip64LocatorLen {
		decode(tail[i-zip64LocatorLen:], &locator)
	}
	if locator.Signature == zip64LocatorSig {
		if err := a.readZip64(dir, &locator); err != nil {
			return nil, err
		}
	} else if end.Here != end.Count || end.Disk != 0 || end.DirectoryDisk != 0 {
		return nil, unsafef(RuleUnsupported, "", "it is one of several parts")
	}
	if dir.offset < 0 || dir.size < 0 || dir.offset > dir.end ||
		dir.offset+dir.size != dir.end {
		return nil, unsafef(RuleAmbiguous, "",
			"its directory is not at the recorded position: bytes were added before the archive or cut from it")
	}
	return dir, nil
}

// readZip64 sets the values that do not fit into the small end record. Values that are in
// both records must agree.
func (a *Archive) readZip64(dir *directory, locator *zip64Locator) error {
	at := dir.end - zip64LocatorLen - zip64EndLen
	if at < 0 || locator.Offset != uint64(at) {
		return unsafef(RuleAmbiguous, "", "its zip64 record is not directly before the locator")
	}
	b := make([]byte, zip64EndLen)
	if err := readFull(a.r, b, at); err != nil {
		return err
	}
	var end zip64EndRecord
	decode(b, &end)
	if end.Signature != zip64EndSignature || end.Length != zip64EndLen-12 {
		return damagedf("", "its zip64 record is invalid")
	}
	if end.Disk|end.DirectoryDisk|locator.Disk != 0 || end.Here != end.Count {
		return unsafef(RuleUnsupported, "", "it is one of several parts")
	}
	// A small field has its largest value if the large one applies.
	for _, field := range []struct {
		small *int64
		most  int64
		large uint64
	}{
		{&dir.count, math.MaxUint16, end.Count},
		{&dir.size, math.MaxUint32, end.DirectorySize},
		{&dir.offset, math.MaxUint32, end.Offset},
	} {
		if field.large > math.MaxInt64/4 ||
			(*field.small != field.most && *field.small != int64(field.large)) {
			return unsafef(RuleAmbiguous, "", "its two directory records disagree")
		}
		*field.small = int64(field.large)
	}
	dir.end = at
	return nil
}

// readEntries reads the central directory into a.entries.
func (a *Archive) readEntries(dir *directory) error {
	section := io.NewSectionReader(a.r, dir.offset, dir.size)
	in := bufio.NewReaderSize(section, 1<<16)
	a.entries = make([]Entry, dir.count)
	for i := range a.entries {
		e := &a.entries[i]
		if err := e.read(in); err != nil {
			return err
		}
		if err := e.check(); err != nil {
			return err
		}
		if err := a.budget.AdmitFile(e.Name, e.Size, e.PackedSize); err != nil {
			return err
		}
	}
	if _, err := in.ReadByte(); err == nil {
		at, _ := section.Seek(0, io.SeekCurrent)
		left := dir.size - at + int64(in.Buffered()) + 1
		return unsafef(RuleAmbiguous, "",
			"its directory has %d bytes more than its %d entries", left, dir.count)
	}
	return nil
}

// read reads one header of the central directory.
func (e *Entry) read(in *bufio.Reader) error {
	tooEarly := damagedf("", "its directory is truncated")
	fixed := make([]byte, centralLen)
	if _, err := io.ReadFull(in, fixed); err != nil {
		return tooEarly
	}
	var h centralRecord
	decode(fixed, &h)
	if h.Signature != centralSignature {
		return damagedf("", "an entry of its directory has no valid signature")
	}
	rest := make([]byte, int(h.NameLen)+int(h.ExtraLen))
	if _, err := io.ReadFull(in, rest); err != nil {
		return tooEarly
	}
	if n, _ := in.Discard(int(h.CommentLen)); n != int(h.CommentLen) {
		return tooEarly
	}
	name := string(rest[:h.NameLen])
	*e = Entry{
		Name:       name,
		raw:        name,
		flags:      h.Flags,
		method:     h.Method,
		CRC32:      h.CRC32,
		PackedSize: int64(h.Packed),
		Size:       int64(h.Size),
		header:     int64(h.Offset),
	}
	if h.Disk != 0 {
		return unsafef(RuleUnsupported, name, "it is in another part of the archive")
	}
	if err := readExtra(rest[h.NameLen:], name, &e.Size, &e.PackedSize, &e.header); err != nil {
		return err
	}
	return e.setMode(h.Attributes)
}

// setMode reads the attributes. The upper half is always taken for a Unix mode,
// regardless of the system that made the entry: some readers use it on every system.
func (e *Entry) setMode(attributes uint32) error {
	const typeBits, regular, folder, link = 0o170000, 0o100000, 0o040000, 0o120000
	const dosFolder = 0x10
	name, isFolder := cutSlash(e.raw)
	mode := attributes >> 16
	switch kind := mode & typeBits; {
	case kind == link:
		return unsafef(RuleLink, e.Name, "it is a link")
	case kind != 0 && kind != regular && kind != folder:
		return unsafef(RuleLink, e.Name, "it is a device, a pipe or a socket")
	case isFolder &&
		kind == regular, !isFolder && (kind == folder || attributes&dosFolder != 0):
		return unsafef(RuleAmbiguous, e.Name, "its name and its mode disagree on whether it is a folder")
	}
	e.Name = name
	switch {
	case isFolder:
		e.Mode = fs.ModeDir | 0o755
	case mode&0o100 != 0:
		e.Mode = 0o755
	default:
		e.Mode = 0o644
	}
	return nil
}

// check checks a header on its own.
func (e *Entry) check() error {
	switch {
	case e.flags&flagEncrypted != 0:
		return unsafef(RuleUnsupported, e.Name, "it is encrypted")
	case e.flags&flagPatch != 0:
		return unsafef(RuleUnsupported, e.Name, "it is a patch")
	case e.method != methodStore && e.method != methodDeflate:
		return unsafef(RuleUnsupported, e.Name, "it is packed with method %d; only 0 (stored) and 8 (deflated) are allowed",
			e.method)
	case e.method == methodStore && e.Size != e.PackedSize:
		return unsafef(RuleAmbiguous, e.Name, "it is stored, but its two sizes differ")
	case e.Mode.IsDir() && (e.Size != 0 || e.PackedSize > 2):
		return unsafef(RuleAmbiguous, e.Name, "it is a folder with content")
	}
	return checkNameOn(runtime.GOOS, e.Name)
}

// readLocals verifies the local header of every file against the central directory. Files
// must follow each other without gaps from the first byte up to the directory at end: some
// readers see bytes that belong to no file, others do not.
func (a *Archive) readLocals(end int64) error {
	order := make([]*Entry, len(a.entries))
	for i := range order {
		order[i] = &a.entries[i]
	}
	slices.SortStableFunc(order, func(x, y *Entry) int {
		return cmp.Compare(x.header, y.header)
	})
	at := int64(0)
	for i, e := range order {
		next := end
		if i+1 < len(order) {
			next = order[i+1].header
		}
		switch {
		case i == 0 && e.header > 0:
			return unsafef(RuleAmbiguous, "", "%d bytes precede its first file", e.header)
		case e.header < at:
			return unsafef(RuleOverlap, e.Name, "it shares bytes with another entry")
		case e.header > at:
			return unsafef(RuleAmbiguous, e.Name,
				"%d bytes before it belong to no file", e.header-at)
		case next > end:
			return damagedf(e.Name, "the entry after it is beyond the end of the files")
		}
		var err error
		if at, err = a.readLocal(e, next); err != nil {
			return err
		}
	}
	if at != end {
		return unsafef(RuleAmbiguous, "", "%d bytes before its directory belong to no file", end-at)
	}
	return nil
}

// readLocal verifies a local header, and returns where the file ends. The next file begins
// at next.
func (a *Archive) readLocal(e *Entry, next int64) (end int64, err error) {
	room := next - e.header
	if room < localLen {
		return 0, unsafef(RuleOverlap, e.Name, "it shares bytes with another entry")
	}
	// In most archives one read is enough: the extra fields are short.
	b := make([]byte, min(int64(localLen+len(e.raw)+64), room))
	if err := readFull(a.r, b, e.header); err != nil {
		return 0, err
	}
	var h localRecord
	decode(b, &h)
	if h.Signature != localSignature {
		return 0, damagedf(e.Name, "its header is invalid")
	}
	size := int64(localLen) + int64(h.NameLen) + int64(h.ExtraLen)
	if e.PackedSize > room-size {
		return 0, unsafef(RuleOverlap, e.Name, "it shares bytes with another entry")
	}
	if int64(len(b)) < size {
		b = make([]byte, size)
		if err := readFull(a.r, b, e.header); err != nil {
			return 0, err
		}
	}
	if err := e.compare(&h, b[localLen:size]); err != nil {
		return 0, err
	}
	e.data = e.header + size
	end = e.data + e.PackedSize
	if h.Flags&flagDescriptor == 0 {
		return end, nil
	}
	n, err := a.readDescriptor(e, end, next-end)
	return end + n, err
}

// compare verifies a local header, followed by name and extra fields, against the entry.
func (e *Entry) compare(h *localRecord, rest []byte) error {
	name := string(rest[:h.NameLen])
	switch {
	case name != e.raw:
		return unsafef(RuleAmbiguous, e.Name, "its own header names it %s", quoted(name))
	case h.Flags&flagEncrypted != 0:
		return unsafef(RuleUnsupported, e.Name, "it is encrypted")
	case h.Method != e.method:
		return unsafef(RuleAmbiguous, e.Name, "its two headers name different methods")
	case (h.Flags^e.flags)&flagUTF8 != 0 && !isASCII(name):
		return unsafef(RuleAmbiguous, e.Name, "its two headers disagree on the encoding of its name")
	}
	packed := int64(h.Packed)
	size := int64(h.Size)
	err := readExtra(rest[h.NameLen:], e.raw, &size, &packed)
	if err != nil {
		return err
	}
	// With a descriptor, zip64 writers may set the sizes to their maximum.
	later := func(n int64) bool {
		return h.Flags&flagDescriptor != 0 && (n == 0 || n == math.MaxUint32)
	}
	sameCRC := h.CRC32 == e.CRC32 || h.CRC32 == 0 && later(0)
	samePacked := packed == e.PackedSize || later(packed)
	sameSize := size == e.Size || later(size)
	if sameCRC && samePacked && sameSize {
		return nil
	}
	return unsafef(RuleAmbiguous, e.Name, "its two headers disagree on its sizes or its checksum")
}

// readDescriptor verifies the data descriptor after the data of e, in any of its four
// forms: with or without a signature, with sizes of 32 or 64 bits. It returns its length,
// which must be room.
func (a *Archive) readDescriptor(e *Entry, at, room int64) (int64, error) {
	b := make([]byte, min(room, 24))
	if err := readFull(a.r, b, at); err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	crc := slices.Clip(le.AppendUint32(nil, e.CRC32))
	short := le.AppendUint32(le.AppendUint32(crc, uint32(e.PackedSize)), uint32(e.Size))
	long := le.AppendUint64(le.AppendUint64(crc, uint64(e.PackedSize)), uint64(e.Size))
	forms := [][]byte{long}
	if e.PackedSize <= math.MaxUint32 && e.Size <= math.MaxUint32 {
		forms = append(forms, short)
	}
	signature := le.AppendUint32(nil, descriptorSignature)
	for _, form := range forms {
		if bytes.Equal(b, form) || bytes.Equal(b, slices.Concat(signature, form)) {
			return int64(len(b)), nil
		}
	}
	return 0, unsafef(RuleAmbiguous, e.Name, "the record after its data does not have its sizes")
}

// readExtra reads the extra fields of a header. Those of fields that have the maximum of
// 32 bits get their value from the zip64 field, in order. A Unicode path must equal the
// name.
func readExtra(extra []byte, name string, fields ...*int64) error {
	const zip64ID, unicodePathID = 0x0001, 0x7075
	le := binary.LittleEndian
	seen := false
	for len(extra) >= 4 {
		id := le.Uint16(extra)
		n := int(le.Uint16(extra[2:]))
		if n > len(extra)-4 {
			break
		}
		value := extra[4 : 4+n]
		extra = extra[4+n:]
		switch id {
		case zip64ID:
			if seen {
				return unsafef(RuleAmbiguous, name, "it has two zip64 fields")
			}
			seen = true
			if err := readZip64Extra(value, name, fields); err != nil {
				return err
			}
		case unicodePathID: // a version, the checksum of the name in the header, and the path
			path := le.AppendUint32([]byte{1}, crc32.ChecksumIEEE([]byte(name)))
			if !bytes.Equal(value, append(path, name...)) {
				return unsafef(RuleAmbiguous, name, "it has a second name")
			}
		}
	}
	if len(extra) >= 4 || len(bytes.Trim(extra, "\x00")) > 0 {
		return damagedf(name, "its extra fields exceed their length")
	}
	return nil
}

// readZip64Extra sets the fields that have the maximum of 32 bits to the values of a zip64
// field, which contains only those.
func readZip64Extra(value []byte, name string, fields []*int64) error {
	for _, field := range fields {
		if *field != math.MaxUint32 {
			continue
		}
		if len(value) < 8 {
			return damagedf(name, "its zip64 field is too short")
		}
		large := binary.LittleEndian.Uint64(value)
		if large > math.MaxInt64/4 {
			return damagedf(name, "its sizes are out of range")
		}
		*field = int64(large)
		value = value[8:]
	}
	return nil
}

// readTail reads the last n bytes of the first size bytes, or all of them if there are
// fewer.
func readTail(r io.ReaderAt, size, n int64) (tail []byte, begin int64, err error) {
	begin = max(0, size-n)
	tail = make([]byte, size-begin)
	return tail, begin, readFull(r, tail, begin)
}

// readFull reads all of b. A file that ends too early is damaged.
func readFull(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case err == io.EOF:
		return damagedf("", "it is truncated")
	}
	return err
}

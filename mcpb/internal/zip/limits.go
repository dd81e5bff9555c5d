package zip

import "cmp"

// Limits restricts the size of archives. Zero means the default of the field, a negative
// value no limit.
type Limits struct {
	// ArchiveBytes is the size of the archive file. The default is 2 GiB.
	ArchiveBytes int64
	// Entries is the number of files and folders, including folders without an entry. The
	// default is 100,000.
	Entries int
	// FileBytes is the size of one file when unpacked. The default is 512 MiB.
	FileBytes int64
	// TotalBytes is the size of all files together. The default is 2 GiB.
	TotalBytes int64
	// Ratio is the maximum ratio of unpacked to packed size, for the archive and for each
	// file. It does not apply to content that unpacks to less than 32 MiB. The default is
	// 200.
	Ratio int
}

// ratioFloor is a size that is harmless at any ratio.
const ratioFloor = 32 << 20

// DefaultLimits returns the limits that a nil [*Limits] means.
func DefaultLimits() Limits { return *withDefaults(nil) }

// withDefaults returns a copy of l with the default in place of each zero. Negative values, which
// mean no limit, stay.
func withDefaults(l *Limits) *Limits {
	if l == nil {
		l = &Limits{}
	}
	return &Limits{
		ArchiveBytes: cmp.Or(l.ArchiveBytes, 2<<30),
		Entries:      cmp.Or(l.Entries, 100_000),
		FileBytes:    cmp.Or(l.FileBytes, 512<<20),
		TotalBytes:   cmp.Or(l.TotalBytes, 2<<30),
		Ratio:        cmp.Or(l.Ratio, 200),
	}
}

// Budget adds up an archive and refuses what exceeds its limits. Its errors are of type
// [*Error].
type Budget struct {
	limits *Limits
	total  int64 // unpacked size of the admitted files
}

// NewBudget returns an empty budget. If limits is nil, the defaults apply.
func NewBudget(limits *Limits) *Budget {
	return &Budget{limits: withDefaults(limits)}
}

// AdmitArchive refuses an archive file of size bytes if that is too large.
func (b *Budget) AdmitArchive(size int64) error {
	if most := b.limits.ArchiveBytes; most >= 0 && size > most {
		return unsafef(RuleLimit, "", "it has %d bytes, more than the limit of %d", size, most)
	}
	return nil
}

// AdmitEntries refuses too many files and folders.
func (b *Budget) AdmitEntries(count int64) error {
	most := b.limits.Entries
	if most >= 0 && count > int64(most) {
		return unsafef(RuleLimit, "", "it has %d files and folders, more than the limit of %d", count, most)
	}
	return nil
}

// AdmitFile adds a file, by its unpacked and packed size.
func (b *Budget) AdmitFile(name string, size, packed int64) error {
	l := b.limits
	switch {
	case l.FileBytes >= 0 && size > l.FileBytes:
		return unsafef(RuleLimit, name,
			"it unpacks to %d bytes, more than the limit of %d for a file", size, l.FileBytes)
	case l.TotalBytes >= 0 && size > l.TotalBytes-b.total:
		return unsafef(RuleLimit, name, "with it the content has more than the limit of %d bytes", l.TotalBytes)
	case l.bomb(size, packed):
		return unsafef(RuleBomb, name,
			"%d bytes unpack to %d, more than %d times as many", packed, size, l.Ratio)
	}
	b.total += size
	return nil
}

// AdmitContent refuses content whose ratio to the packed size is too large.
func (b *Budget) AdmitContent(packed int64) error {
	if b.limits.bomb(b.total, packed) {
		return unsafef(RuleBomb, "",
			"its %d bytes unpack to %d, more than %d times as many", packed, b.total, b.limits.Ratio)
	}
	return nil
}

// bomb reports whether content is far larger than its packed form. The division cannot
// overflow.
func (l *Limits) bomb(size, packed int64) bool {
	return l.Ratio >= 0 &&
		size > ratioFloor &&
		size/int64(max(l.Ratio, 1)) > packed
}

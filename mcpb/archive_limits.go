package mcpb

// Limits restricts the size of archives. Zero means the default of the field, a negative
// value no limit.
type Limits struct {
	// ArchiveBytes is the size of the archive file. The default is 2 GiB.
	ArchiveBytes int64
	// Entries is the number of files and folders. The default is 100,000.
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

const (
	defaultArchiveBytes = 2 << 30
	defaultEntries      = 100_000
	defaultFileBytes    = 512 << 20
	defaultTotalBytes   = 2 << 30
	defaultRatio        = 200

	// ratioFloor is a size that is harmless at any ratio.
	ratioFloor = 32 << 20
)

// DefaultLimits returns the limits that a nil [*Limits] means.
func DefaultLimits() Limits { return (*Limits)(nil).withDefaults() }

func (l *Limits) withDefaults() Limits {
	var set Limits
	if l != nil {
		set = *l
	}
	orDefault(&set.ArchiveBytes, defaultArchiveBytes)
	orDefault(&set.Entries, defaultEntries)
	orDefault(&set.FileBytes, defaultFileBytes)
	orDefault(&set.TotalBytes, defaultTotalBytes)
	orDefault(&set.Ratio, defaultRatio)
	return set
}

func orDefault[T int | int64](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// admitArchive refuses an archive that is too large.
func (l *Limits) admitArchive(size int64) error {
	if l.ArchiveBytes >= 0 && size > l.ArchiveBytes {
		return unsafef(ruleLimit, "", "it has %d bytes, more than the limit of %d", size, l.ArchiveBytes)
	}
	return nil
}

// admit checks one file against the limits. total is the size of the preceding files.
func (l *Limits) admit(e *Entry, total int64) error {
	switch {
	case l.FileBytes >= 0 && e.Size > l.FileBytes:
		return unsafef(ruleLimit, e.Name, "it unpacks to %d bytes, more than the limit of %d for a file", e.Size, l.FileBytes)
	case l.TotalBytes >= 0 && e.Size > l.TotalBytes-total:
		return unsafef(ruleLimit, e.Name, "with it the content has more than the limit of %d bytes", l.TotalBytes)
	case l.bomb(e.Size, e.PackedSize):
		return unsafef(ruleBomb, e.Name, "%d bytes unpack to %d, more than %d times as many", e.PackedSize, e.Size, l.Ratio)
	}
	return nil
}

// admitContent checks the ratio of the whole content.
func (l *Limits) admitContent(size, packed int64) error {
	if l.bomb(size, packed) {
		return unsafef(ruleBomb, "", "its %d bytes unpack to %d, more than %d times as many", packed, size, l.Ratio)
	}
	return nil
}

func (l *Limits) bomb(size, packed int64) bool {
	return l.Ratio >= 0 && size > ratioFloor && size/int64(max(l.Ratio, 1)) > packed
}

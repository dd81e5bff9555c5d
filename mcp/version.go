package mcp

// Version is a published version of the protocol. Versions are ordered: a later one
// compares greater. The zero Version is not a published version.
type Version uint8

// The supported versions.
const (
	Version20241105 Version = iota + 1
	Version20250326
	Version20250618
	Version20251125
	Version20260728
)

// LatestVersion is the newest version, and LatestLegacyVersion the newest one that starts
// with an initialize handshake.
const (
	LatestVersion       = Version20260728
	LatestLegacyVersion = Version20251125
)

var versionNames = [...]string{
	Version20241105: "2024-11-05",
	Version20250326: "2025-03-26",
	Version20250618: "2025-06-18",
	Version20251125: "2025-11-25",
	Version20260728: "2026-07-28",
}

// Versions returns all supported versions, newest first.
func Versions() []Version {
	return []Version{Version20260728, Version20251125, Version20250618, Version20250326, Version20241105}
}

// ParseVersion returns the version named s, such as "2025-06-18", and whether this
// package supports it.
func ParseVersion(s string) (Version, bool) {
	for v := Version20241105; v <= LatestVersion; v++ {
		if versionNames[v] == s {
			return v, true
		}
	}
	return 0, false
}

// String returns the date that identifies v, or "" for the zero Version.
func (v Version) String() string {
	if int(v) >= len(versionNames) {
		return ""
	}
	return versionNames[v]
}

// Modern reports whether v is stateless: every request carries its own version and
// capabilities in _meta, and there is no handshake.
func (v Version) Modern() bool { return v >= Version20260728 }

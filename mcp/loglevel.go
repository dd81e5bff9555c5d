package mcp

// LogLevel is the severity of a log line, as in RFC 5424 but ascending: a more severe
// level compares greater.
type LogLevel uint8

// The levels of logging/setLevel.
const (
	LogDebug LogLevel = iota
	LogInfo
	LogNotice
	LogWarning
	LogError
	LogCritical
	LogAlert
	LogEmergency
)

var logLevelNames = [...]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// ParseLogLevel returns the named level. "warn" is accepted for "warning".
func ParseLogLevel(name string) (LogLevel, bool) {
	if name == "warn" {
		return LogWarning, true
	}
	for l, n := range logLevelNames {
		if n == name {
			return LogLevel(l), true
		}
	}
	return 0, false
}

// String returns the level's name on the wire.
func (l LogLevel) String() string {
	if int(l) < len(logLevelNames) {
		return logLevelNames[l]
	}
	return "emergency"
}

package fsutil_test

import "runtime"

// hasModes reports whether files have permission bits.
const hasModes = runtime.GOOS != "windows"

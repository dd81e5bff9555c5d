// Package axe has the script of axe-core, which finds barriers for people with
// disabilities in a page. The file is that of the npm package, compressed by web/build; its
// licence is in LICENSE.
package axe

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for the script
	"io"
	"sync"
)

//go:embed axe.min.js.gz
var packed []byte

// Script returns the script. It defines the global variable axe.
var Script = sync.OnceValue(func() string {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "" // it is embedded, and tested
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return ""
	}
	return string(text)
})

package mcpb_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcpb"
)

func open(data []byte, limits *mcpb.Limits) (*mcpb.Archive, error) {
	return mcpb.NewArchive(bytes.NewReader(data), int64(len(data)), limits)
}

// readAll reads every file of an archive.
func readAll(a *mcpb.Archive) (map[string]string, error) {
	content := map[string]string{}
	err := fs.WalkDir(a.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(a.FS(), name)
		content[name] = string(data)
		return err
	})
	return content, err
}

// TestArchive covers all valid ways to write archives.
func TestArchive(t *testing.T) {
	long := strings.Repeat("long ", 10_000)
	one := rawEntry{name: "a", content: []byte(long)}
	with := func(change func(e *rawEntry)) []rawEntry {
		e := one
		change(&e)
		return []rawEntry{e, {name: "b", content: []byte("b")}}
	}
	tests := map[string]*rawArchive{
		"deflated":         {entries: with(func(*rawEntry) {})},
		"stored":           {entries: with(func(e *rawEntry) { e.stored = true })},
		"descriptor of 12": {entries: with(func(e *rawEntry) { e.descriptor = 12 })},
		"descriptor of 16": {entries: with(func(e *rawEntry) { e.descriptor = 16 })},
		"descriptor of 20": {entries: with(func(e *rawEntry) { e.descriptor = 20 })},
		"descriptor of 24": {entries: with(func(e *rawEntry) { e.descriptor = 24 })},
		"zip64":            {entries: with(func(*rawEntry) {}), zip64: true},
		"zip64 file":       {entries: with(zip64File)},
		"comment":          {entries: with(func(*rawEntry) {}), comment: []byte("a comment")},
		"folder entries": {entries: append([]rawEntry{{name: "d/"}, {name: "e/", mode: 0o040755<<16 | 0x10}},
			with(func(*rawEntry) {})...)},
		"times in extra": {
			entries: with(func(e *rawEntry) { e.localExtra = []byte("UT\x05\x00\x01abcd"); e.extra = e.localExtra }),
		},
		"padding in extra": {entries: with(func(e *rawEntry) { e.localExtra = []byte{0, 0, 0} })},
		"other order":      {entries: []rawEntry{{name: "b", content: []byte("b")}, one}},
		"UTF-8 flag":       {entries: with(func(e *rawEntry) { e.flags = 1 << 11 })},
		"text in the block": {entries: append(with(func(*rawEntry) {}), rawEntry{
			name:    "c",
			content: []byte("MCPB_SIG_V1xxxxMCPB_SIG_END"),
			stored:  true,
		})},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a, err := open(test.bytes(), nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := readAll(a)
			if err != nil {
				t.Fatal(err)
			}
			if got["a"] != long || got["b"] != "b" {
				t.Errorf("got %d bytes in a and %q in b", len(got["a"]), got["b"])
			}
		})
	}
}

func zip64File(e *rawEntry) {
	extra := []byte{1, 0, 16, 0}
	extra = binary.LittleEndian.AppendUint64(extra, uint64(len(e.content)))
	extra = binary.LittleEndian.AppendUint64(extra, uint64(len(deflated(e.content))))
	e.extra, e.localExtra = extra, extra
	e.size, e.packed = p(uint32(0xffffffff)), p(uint32(0xffffffff))
}

// TestArchiveRefused covers archives that are refused before anything is read from them.
func TestArchiveRefused(t *testing.T) {
	text := []byte("some text, some text, some text")
	named := func(names ...string) *rawArchive {
		a := &rawArchive{}
		for _, n := range names {
			a.entries = append(a.entries, rawEntry{name: n, content: text})
		}
		return a
	}
	changed := func(change func(e *rawEntry)) *rawArchive {
		a := named("a", "b")
		change(&a.entries[0])
		return a
	}
	tests := map[string]struct {
		archive *rawArchive
		want    string
	}{
		"traversal":               {named("../x"), "points outside the archive"},
		"traversal inside":        {named("a/../../x"), "points outside the archive"},
		"traversal and back":      {named("a/../x"), "points outside the archive"},
		"backslash traversal":     {named(`..\x`), "backslash"},
		"drive":                   {named("C:/x"), "colon"},
		"drive and backslash":     {named(`C:\x`), "colon"},
		"stream":                  {named("x:hidden"), "colon"},
		"absolute":                {named("/x"), "absolute"},
		"network path":            {named("//srv/x"), "absolute"},
		"dot":                     {named("./x"), "empty part"},
		"empty part":              {named("a//x"), "empty part"},
		"NUL in name":             {named("a\x00b"), "control character"},
		"escape in name":          {named("a\x1b[2J"), "control character"},
		"empty name":              {named(""), "no name"},
		"only a slash":            {&rawArchive{entries: []rawEntry{{name: "/"}}}, "no name"},
		"not UTF-8":               {named("a\xff"), "not UTF-8"},
		"long name":               {named(strings.Repeat("a/", 600) + "x"), "more than 1024"},
		"long part":               {named(strings.Repeat("a", 256)), "more than 255"},
		"link":                    {changed(func(e *rawEntry) { e.mode = 0o120777 << 16 }), "is a link"},
		"device":                  {changed(func(e *rawEntry) { e.mode = 0o020666 << 16 }), "device"},
		"pipe":                    {changed(func(e *rawEntry) { e.mode = 0o010666 << 16 }), "pipe"},
		"duplicate":               {named("a", "a"), "two files of this name"},
		"case collision":          {named("Server.js", "server.js"), `same as "Server.js"`},
		"Unicode collision":       {named("caf\u00e9", "cafe\u0301"), "is the same as"},
		"sharp s":                 {named("stra\u00dfe", "STRASSE"), "is the same as"},
		"Kelvin sign":             {named("k", "\u212a"), "is the same as"},
		"file and folder":         {named("a", "a/b"), "both a file and a folder"},
		"folder and file":         {named("a/b", "a"), "both a file and a folder"},
		"file and folder by case": {named("A/b", "a"), "is the same as"},
		"folder with content":     {changed(func(e *rawEntry) { e.name = "a/" }), "folder with content"},
		"folder mode on a file":   {changed(func(e *rawEntry) { e.mode = 0o040755 << 16 }), "whether it is a folder"},
		"local name differs":      {changed(func(e *rawEntry) { e.localName = "z" }), `own header names it "z"`},
		"local name is longer":    {changed(func(e *rawEntry) { e.localName = "../../z" }), "own header names it"},
		"Unicode path differs": {
			changed(func(e *rawEntry) { e.extra = []byte("\x75\x70\x06\x00\x01\x00\x00\x00\x00z") }),
			"second name",
		},
		"encrypted":             {changed(func(e *rawEntry) { e.flags = 1 }), "encrypted"},
		"encrypted in the file": {changed(func(e *rawEntry) { e.localFlags = p(uint16(1)) }), "encrypted"},
		"other method":          {changed(func(e *rawEntry) { e.method = p(uint16(14)) }), "method 14"},
		"stored with two sizes": {changed(func(e *rawEntry) { e.stored = true; e.size = p(uint32(5)) }), "two sizes"},
		"overlap": {
			&rawArchive{entries: []rawEntry{{name: "a", content: text}, {name: "b", content: text, reuse: true}}},
			"shares bytes",
		},
		"data runs into the next": {changed(func(e *rawEntry) { e.packed = p(uint32(4000)) }), "shares bytes"},
		"offset inside another":   {named2(text), "shares bytes"},
		"gap between files":       {changed(func(e *rawEntry) { e.behind = []byte("hidden") }), "belong to no file"},
		"gap before the directory": {&rawArchive{entries: files("a", "x"), gap: []byte("hidden")},
			"belong to no file"},
		"bytes behind the headers": {
			&rawArchive{entries: files("a", "x"), behindHeaders: []byte("hidden")},
			"is not at the recorded position",
		},
		"prefix junk": {
			&rawArchive{entries: files("a", "x"), before: []byte("#!/bin/sh\n")},
			"is not at the recorded position",
		},
		"false descriptor": {
			changed(func(e *rawEntry) { e.descriptor = 16; e.behind = []byte("x") }),
			"not have its sizes",
		},
		"comment too short": {
			&rawArchive{entries: files("a", "x"), comment: []byte("long"), commentLen: p(uint16(2))},
			"follow its directory",
		},
		"comment too long": {
			&rawArchive{entries: files("a", "x"), comment: []byte("long"), commentLen: p(uint16(9))},
			"follow its directory",
		},
		"archive in the comment": {
			&rawArchive{entries: files("a", "x"), comment: (&rawArchive{entries: files("a", "y")}).bytes()},
			"is not at the recorded position",
		},
		"count too small": {
			&rawArchive{entries: files("a", "x", "b", "y"), count: p(uint16(1))},
			"more than its 1 entries",
		},
		"count too large": {&rawArchive{entries: files("a", "x"), count: p(uint16(2))}, ""},
		"count absurd": {
			&rawArchive{entries: files("a", "x"), count: p(uint16(60000))},
			"cannot have 60000 entries",
		},
		"file larger than allowed": {
			changed(func(e *rawEntry) { e.size = p(uint32(600 << 20)) }),
			"limit of 536870912 for a file",
		},
		"bomb by ratio":             {changed(func(e *rawEntry) { e.size = p(uint32(500 << 20)) }), "times as many"},
		"extra longer than allowed": {changed(func(e *rawEntry) { e.extra = []byte{1, 0, 99, 0} }), "extra fields"},
		"zip64 twice": {
			changed(func(e *rawEntry) { e.extra = []byte{1, 0, 0, 0, 1, 0, 0, 0} }),
			"two zip64 fields",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := open(test.archive.bytes(), nil)
			var refused *mcpb.ArchiveError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if f := ruletest.Record(refused.Finding("x.mcpb"))[0]; f.Rule.ID == "" || f.File != "x.mcpb" || f.Message == "" {
				t.Errorf("finding %+v", f)
			}
		})
	}
}

// named2 returns an archive with a second file within the data of the first.
func named2(text []byte) *rawArchive {
	inner := (&rawArchive{entries: files("b", "x")}).bytes()
	return &rawArchive{entries: []rawEntry{
		{name: "a", content: append(inner, text...), stored: true},
		{name: "b", content: []byte("x"), stored: true, reuse: true, offset: p(uint32(31))},
	}}
}

// TestArchiveFileRefused covers problems that appear only when a file is read.
func TestArchiveFileRefused(t *testing.T) {
	text := []byte(strings.Repeat("text ", 1000))
	tests := map[string]struct {
		change func(e *rawEntry)
		want   string
	}{
		"wrong checksum":        {func(e *rawEntry) { e.crc = p(uint32(1)) }, "checksum is wrong"},
		"longer than declared":  {func(e *rawEntry) { e.size = p(uint32(100)) }, "longer than the 100 bytes"},
		"shorter than declared": {func(e *rawEntry) { e.size = p(uint32(9000)) }, "5000 of the 9000 bytes"},
		"cut data": {func(e *rawEntry) {
			e.content = deflated(text)[:20]
			e.stored = true
			e.method = p(uint16(8))
			e.size = p(uint32(5000))
		}, "cannot be unpacked"},
		"bytes behind the data": {func(e *rawEntry) {
			crc := crcOf(text)
			e.content = append(deflated(text), "hidden"...)
			e.stored, e.method, e.size, e.crc = true, p(uint16(8)), p(uint32(5000)), &crc
		}, "bytes follow the end of its data"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := rawEntry{name: "a", content: text}
			test.change(&e)
			a, err := open((&rawArchive{entries: []rawEntry{e}}).bytes(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := readAll(a); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func crcOf(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

func TestLimits(t *testing.T) {
	data := (&rawArchive{entries: files("a", "12345", "b", "12345", "c", "12345")}).bytes()
	tests := map[string]struct {
		limits mcpb.Limits
		want   string
	}{
		"fits":          {mcpb.Limits{ArchiveBytes: int64(len(data)), Entries: 3, FileBytes: 5, TotalBytes: 15}, ""},
		"no limits":     {mcpb.Limits{ArchiveBytes: -1, Entries: -1, FileBytes: -1, TotalBytes: -1, Ratio: -1}, ""},
		"archive":       {mcpb.Limits{ArchiveBytes: int64(len(data)) - 1}, "more than the limit of"},
		"entries":       {mcpb.Limits{Entries: 2}, "3 files and folders, more than the limit of 2"},
		"bytes of one":  {mcpb.Limits{FileBytes: 4}, "more than the limit of 4 for a file"},
		"bytes of all":  {mcpb.Limits{TotalBytes: 14}, "more than the limit of 14 bytes"},
		"bytes of many": {mcpb.Limits{TotalBytes: 9}, "more than the limit of 9 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := open(data, &test.limits)
			var refused *mcpb.ArchiveError
			switch {
			case test.want == "":
				if err != nil {
					t.Error(err)
				}
			case !errors.As(err, &refused) || !refused.Unsafe || !strings.Contains(err.Error(), test.want):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestLimitOfFolders verifies that folders without an entry count: 1,500 files in 500 folders each
// took 360 MB of memory.
func TestLimitOfFolders(t *testing.T) {
	deep := strings.Repeat("d/", 4)
	data := (&rawArchive{entries: files("a/"+deep+"f", "1", "b/"+deep+"f", "2", "b/"+deep+"g", "3")}).bytes()
	if _, err := open(data, &mcpb.Limits{Entries: 13}); err != nil {
		t.Errorf("10 folders and 3 files: %v", err)
	}
	var refused *mcpb.ArchiveError
	if _, err := open(data, &mcpb.Limits{Entries: 12}); !errors.As(err, &refused) || !refused.ExceedsLimit() {
		t.Errorf("10 folders and 3 files: %v, want more than the limit of 12", err)
	}
	var entries []rawEntry
	for i := range 1500 {
		entries = append(entries, rawEntry{name: fmt.Sprintf("%d/%sf", i, strings.Repeat("d/", 500))})
	}
	data = (&rawArchive{entries: entries}).bytes()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := open(data, nil)
	runtime.ReadMemStats(&after)
	if !errors.As(err, &refused) || !refused.ExceedsLimit() {
		t.Errorf("750,000 folders: %v", err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 100<<20 {
		t.Errorf("750,000 folders took %d MiB", used>>20)
	}
}

// TestArchiveTruncated opens every prefix of an archive: only the whole archive is accepted.
func TestArchiveTruncated(t *testing.T) {
	data := (&rawArchive{entries: files("a", "one", "b/c", "two")}).bytes()
	for n := range len(data) {
		if _, err := open(data[:n], nil); err == nil {
			t.Errorf("the first %d of %d bytes open", n, len(data))
		}
	}
}

func TestArchiveModes(t *testing.T) {
	a, err := open((&rawArchive{entries: []rawEntry{
		{name: "none", content: []byte("x")},
		{name: "setuid", content: []byte("x"), mode: 0o106777 << 16},
		{name: "group", content: []byte("x"), mode: 0o100670 << 16},
		{name: "d/plain", content: []byte("x"), mode: 0o666 << 16},
	}}).bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]fs.FileMode{"none": 0o644, "setuid": 0o755, "group": 0o644, "d/plain": 0o644}
	for e := range a.Entries() {
		if e.Mode != want[e.Name] {
			t.Errorf("%s: mode %v, want %v", e.Name, e.Mode, want[e.Name])
		}
	}
	if info, err := fs.Stat(a.FS(), "setuid"); err != nil || info.Mode() != 0o755 {
		t.Errorf("stat: %v, %v", info, err)
	}
}

func TestArchiveNotes(t *testing.T) {
	a, err := open((&rawArchive{entries: files("Lib/a", "x", "lib/b", "y")}).bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := ruletest.Record(a.Notes()...); len(n) != 1 || !strings.Contains(n[0].Message, `same folder as "Lib"`) {
		t.Errorf("got %v", n)
	}
}

func TestArchiveFS(t *testing.T) {
	a, err := open((&rawArchive{entries: files("manifest.json", "{}",
		"server/index.js", "x", "server/lib/a", "", "empty", "")}).bytes(),
		nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(a.FS(), "manifest.json", "server/index.js", "server/lib/a", "empty"); err != nil {
		t.Error(err)
	}
}

// TestArchiveOfStandardLibrary opens archives written by archive/zip.
func TestArchiveOfStandardLibrary(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.mcpb")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	for _, file := range []string{"a/", "a/b", "c"} {
		h := &zip.FileHeader{Name: file, Method: zip.Deflate}
		out, err := w.CreateHeader(h)
		if err == nil && !strings.HasSuffix(file, "/") {
			_, err = io.WriteString(out, strings.Repeat(file, 100))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	a, err := mcpb.OpenArchive(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(a)
	if err != nil || got["a/b"] != strings.Repeat("a/b", 100) || len(got) != 2 {
		t.Errorf("got %v, %v", got, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	for _, other := range []string{filepath.Dir(name), name + "x"} {
		if _, err := mcpb.OpenArchive(other, nil); err == nil {
			t.Errorf("%s opens", other)
		}
	}
}

func FuzzOpenArchive(f *testing.F) {
	f.Add((&rawArchive{entries: files("a", "one", "b/c", "two")}).bytes())
	f.Add((&rawArchive{entries: []rawEntry{{name: "a", content: []byte("x"), descriptor: 16}}, zip64: true}).bytes())
	fuzzbound.Fuzz(f, func(t *testing.T, data []byte) {
		limits := &mcpb.Limits{Entries: 100, FileBytes: 1 << 16, TotalBytes: 1 << 18}
		a, err := open(data, limits)
		if err != nil {
			return
		}
		total := 0
		for e := range a.Entries() {
			if e.Mode.IsDir() {
				continue
			}
			got, _ := fs.ReadFile(a.FS(), e.Name)
			if len(got) > 1<<16 {
				t.Errorf("%q has %d bytes", e.Name, len(got))
			}
			total += len(got)
		}
		if total > 1<<18 {
			t.Errorf("%d bytes in all", total)
		}
	})
}

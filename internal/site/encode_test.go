package site

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

// Every code point is compared with the output of the reference JavaScript, so a table
// generated with another version of Unicode is detected.
func TestEncodeNameEveryCodePoint(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(string(readEncodeVectors(t, "encode-codepoints.txt"))), "\n")
	if got, want := "# Unicode "+nameUnicode, lines[0]; got != want {
		t.Fatalf("table is for %q, vectors are for %q", got, want)
	}
	next, failed := rune(0), 0
	for _, line := range lines[1:] {
		f := strings.Fields(line)
		if len(f) != 4 {
			t.Fatalf("vector %q has %d fields, want 4", line, len(f))
		}
		low, high := parseCodePoint(t, f[0]), parseCodePoint(t, f[1])
		if low != next {
			t.Fatalf("run starts at %U, want %U", low, next)
		}
		out, scalar := strings.Trim(f[2], "."), strings.Trim(f[3], ".")
		for r := low; r <= high && failed < 20; r++ {
			if got := EncodeName(string(r)); got != out {
				t.Errorf("EncodeName(%U) = %q, want %q", r, got, out)
				failed++
			}
			if got := EncodeNameScalar(string(r)); got != scalar {
				t.Errorf("EncodeNameScalar(%U) = %q, want %q", r, got, scalar)
				failed++
			}
		}
		next = high + 1
	}
	if next != 0x110000 {
		t.Errorf("vectors end before %U, want all code points", next)
	}
}

type nameVector struct {
	In     string  `json:"in"`
	Times  *int    `json:"times"`
	Out    string  `json:"out"`
	Out31  *string `json:"out31"`
	Scalar *string `json:"scalar"`
}

func (v nameVector) input() string {
	return strings.Repeat(v.In, orElse(v.Times, 1))
}

func orElse[T any](p *T, other T) T {
	if p == nil {
		return other
	}
	return *p
}

func readNameVectors(t testing.TB) []nameVector {
	t.Helper()
	var vectors []nameVector
	sc := bufio.NewScanner(bytes.NewReader(readEncodeVectors(t, "encode-names.jsonl")))
	for sc.Scan() {
		var v nameVector
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			t.Fatalf("vector %s: %v", sc.Bytes(), err)
		}
		vectors = append(vectors, v)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 400 {
		t.Fatalf("%d vectors, want at least 400", len(vectors))
	}
	return vectors
}

func TestEncodeNameVectors(t *testing.T) {
	long := 0
	for _, v := range readNameVectors(t) {
		in := v.input()
		out31, scalar := orElse(v.Out31, v.Out), orElse(v.Scalar, v.Out)
		if got := EncodeName(in); got != v.Out {
			t.Errorf("EncodeName(%+q) = %q, want %q", in, got, v.Out)
		}
		if got := EncodeName31(in); got != out31 {
			t.Errorf("EncodeName31(%+q) = %q, want %q", in, got, out31)
		}
		if got := EncodeNameScalar(in); got != scalar {
			t.Errorf("EncodeNameScalar(%+q) = %q, want %q", in, got, scalar)
		}
		if v.Out31 == nil {
			continue
		}
		long++
		for _, name := range []string{v.Out, out31} {
			if prefix, ok := LongNamePrefix(name); !ok || prefix != name[:184] {
				t.Errorf("LongNamePrefix(%q) = %q, %v, want %q, true", name, prefix, ok, name[:184])
			}
		}
	}
	if long < 50 {
		t.Errorf("%d vectors are long names, want at least 50", long)
	}
}

// The examples are from section 3 of the standard.
func TestEncodeNameStandard(t *testing.T) {
	for in, want := range map[string]string{
		"Hello World":         "hello_world",
		"François Mitterrand": "francois_mitterrand",
		"COVID-19 pandemic":   "covid-19_pandemic",
		"José María Aznar":    "jose_maria_aznar",
		"King George III":     "king_george_iii",
	} {
		if got := EncodeName(in); got != want {
			t.Errorf("EncodeName(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestEncodeNameInvalidUTF8(t *testing.T) {
	for _, in := range []string{"\xff", "a\xc3(", "\xed\xa0\x80", "\xe3\x81", strings.Repeat("a\xff", 120)} {
		valid := string([]rune(in))
		if got, want := EncodeName(in), EncodeName(valid); got != want {
			t.Errorf("EncodeName(%q) = %q, want %q as for %q", in, got, want, valid)
		}
	}
}

// The first six come from Rust's standard library; the others, one for each length of the
// last block, from CPython with PYTHONHASHSEED=0.
func TestHash64(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want uint64
	}{
		{"", 0x30406ea523c53def},
		{"a", 0x719b50b9a4f0e9f3},
		{"Hello World", 0x6ec8f3d824bb8003},
		{strings.Repeat("A", 250), 0x6caae0a338faa11c},
		{"東京", 0x97774e254b5a7bb2},
		{strings.Repeat("é", 201), 0x89314d7f55a98935},
		{"0", 0xfc6647014fb554e5},
		{"01", 0xfeb1fdde74b8c8ec},
		{"012", 0x9ec937f6301349ea},
		{"0123", 0xa2ac2dbeb0cf80e4},
		{"01234", 0xd8c42706cb713c73},
		{"012345", 0x6e484d505bd4e675},
		{"0123456", 0x73aba660808c83e2},
		{"01234567", 0x5afa6202e1213f4d},
		{"0123456789abcde", 0x8283e94c24e84630},
		{"0123456789abcdef", 0x3cdd3ee8e7c8d0cb},
	} {
		if got := hash64(tc.in); got != tc.want {
			t.Errorf("hash64(%.20q) = %016x, want %016x", tc.in, got, tc.want)
		}
	}
}

func TestHash31(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   string
		want uint64
	}{
		{"empty", "", 0},
		{"ascii", strings.Repeat("A", 250), 0x692b3860},
		{"accents", strings.Repeat("é", 201), 0x01661f97},
		{"two units", "😀", 0xd83d*31 + 0xde00},
		// The smallest 32-bit number has no positive counterpart in 32 bits.
		{"least", "polygenelubricants", 0x80000000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := hash31(tc.in); got != tc.want {
				t.Errorf("hash31(%.20q) = %x, want %x", tc.in, got, tc.want)
			}
		})
	}
}

func TestNameForms(t *testing.T) {
	longASCII, longKana := strings.Repeat("A", 250), strings.Repeat("が", 101)
	for _, tc := range []struct {
		name string
		in   string
		want []string
	}{
		{"its own name", "rust", []string{"rust"}},
		{"one form", "Hello World", []string{"hello_world"}},
		{"empty", "", []string{""}},
		{"an emoji is two units or one scalar value", "x😀", []string{"x__", "x_"}},
		{"long in every form", longASCII, []string{
			strings.Repeat("a", 183) + "_6caae0a338faa11c",
			strings.Repeat("a", 183) + "_00000000692b3860",
		}},
		{"longest own name", strings.Repeat("a", 200), []string{strings.Repeat("a", 200)}},
		{"long everywhere", longKana, []string{
			EncodeName(longKana), EncodeName31(longKana),
		}},
		{"long in the standard's form only", strings.Repeat("😀", 101), []string{
			EncodeName(strings.Repeat("😀", 101)),
			EncodeName31(strings.Repeat("😀", 101)),
			strings.Repeat("_", 101),
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := nameForms(nil, tc.in)
			if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
				t.Errorf("nameForms(%.20q) = %q, want %q", tc.in, got, tc.want)
			}
			kept := nameForms([]string{"before"}, tc.in)
			if len(kept) != len(got)+1 || kept[0] != "before" {
				t.Errorf("nameForms onto a list = %q, want %q behind it", kept, got)
			}
		})
	}
}

func TestLongNamePrefix(t *testing.T) {
	prefix := strings.Repeat("a", 183) + "_"
	for _, tc := range []struct {
		name string
		in   string
		ok   bool
	}{
		{"long", prefix + "0123456789abcdef", true},
		{"not hexadecimal", prefix + "0123456789abcdeg", false},
		{"no underscore", strings.Repeat("a", 200), false},
		{"too short", prefix + "0123456789abcde", false},
		{"empty", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := LongNamePrefix(tc.in)
			if ok != tc.ok || ok && got != prefix {
				t.Errorf("LongNamePrefix(%q) = %q, %v, want ok %v", tc.in, got, ok, tc.ok)
			}
		})
	}
}

func TestEncodeNameAllocs(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   string
		want float64
	}{
		{"already encoded", "covid-19_pandemic", 0},
		{"longest already encoded", strings.Repeat("a", 200), 0},
		{"ascii", "Hello World", 1},
		{"accents", "François Mitterrand", 1},
		{"scripts", "日本 서울 が 😀", 1},
		{"long", strings.Repeat("日本語 ", 100), 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := testing.AllocsPerRun(100, func() { EncodeName(tc.in) }); got > tc.want {
				t.Errorf("EncodeName(%.20q) makes %v allocations, want at most %v", tc.in, got, tc.want)
			}
		})
	}
	dst := make([]string, 0, 1)
	if got := testing.AllocsPerRun(100, func() { nameForms(dst, "covid-19_pandemic") }); got > 0 {
		t.Errorf("nameForms makes %v allocations, want none", got)
	}
}

var encodedName = regexp.MustCompile(`^[a-z0-9_-]{0,200}$`)

func FuzzEncodeName(f *testing.F) {
	for _, v := range readNameVectors(f) {
		f.Add(v.input())
	}
	f.Add("a\xff\xed\xa0\x80")
	fuzzbound.Fuzz(f, func(t *testing.T, s string) {
		forms := nameForms(nil, s)
		if forms[0] != EncodeName(s) {
			t.Errorf("nameForms(%q) starts with %q, want %q", s, forms[0], EncodeName(s))
		}
		for _, name := range forms {
			if !encodedName.MatchString(name) {
				t.Errorf("form %q of %q does not match %v", name, s, encodedName)
			}
			if again := EncodeName(name); again != name {
				t.Errorf("EncodeName(%q) = %q, want it unchanged", name, again)
			}
		}
	})
}

func BenchmarkEncodeName(b *testing.B) {
	for _, bc := range []struct{ name, in string }{
		{"encoded", "covid-19_pandemic"},
		{"ascii", "The Quick Brown Fox Jumps Over!"},
		{"accents", "François Mitterrand, José Aznar"},
		{"scripts", "東京 서울 हिन्दी ガンダム 😀"},
		{"long", strings.Repeat("The Quick Brown Fox ", 50)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bc.in)))
			for b.Loop() {
				EncodeName(bc.in)
			}
		})
	}
}

func readEncodeVectors(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parseCodePoint(t *testing.T, s string) rune {
	t.Helper()
	n, err := strconv.ParseUint(s, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	return rune(n)
}

package wordvec

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

func TestRead(t *testing.T) {
	for name, text := range map[string]string{
		"plain":           "big 1 0 0\nlarge 0.9 0.1 0\nsmall -1 0 0.5\n",
		"heading":         "3 3\nbig 1 0 0\nlarge 0.9 0.1 0\nsmall -1 0 0.5",
		"space at end":    "3 3\r\nbig 1 0 0 \r\nlarge\t0.9\t0.1\t0 \r\nsmall -1 0 5e-1 \r\n",
		"case, duplicate": "Big 1 0 0\nbig 0 1 0\nlarge 0.9 0.1 0\nsmall -1 0 0.5\nSmall 1 1 1\n",
		"not words": ", 1 1 1\nbig 1 0 0\n. . . 3 2 1\nlarge 0.9 0.1 0\nnew_york 1 2 3\nzero 0 0 0\n" +
			"small -1 0 0.5\n\xff 1 2 3\n",
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Read(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if v.Len() != 3 || v.Dims() != 3 {
				t.Errorf("%d words of %d numbers, want 3 of 3", v.Len(), v.Dims())
			}
			big, large, small := vector(t, v, "big"), vector(t, v, "large"), vector(t, v, "small")
			if near, far := dot(big, large), dot(big, small); near < 0.9 || far > 0 {
				t.Errorf("big is %.2f like large and %.2f like small", near, far)
			}
			if length := dot(big, big); math.Abs(length-1) > 1e-5 {
				t.Errorf("length² %f, want 1", length)
			}
			if v.Vector("huge", big) {
				t.Error("a word that the file does not have has a vector")
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "the file has no words",
		"big\n":                                  "line 1: want a word and 1 to 1024 numbers",
		"2 0\nbig\n":                             "line 1: want a word and 1 to 1024 numbers",
		"2 1025\n":                               "line 1: want a word and 1 to 1024 numbers",
		"big 1 2\nlarge 1\n":                     "line 2: want a word and 2 numbers",
		"2 2\nbig 1 2\nlarge 1\n":                "line 3: want a word and 2 numbers",
		"big 1 2\n\n":                            "line 2: want a word and 2 numbers",
		"big 1 2\nlarge 1 x\n":                   `line 2: "x" is not a number, want a word and 2 numbers`,
		"big 1 2\nlarge NaN 1\n":                 `line 2: "NaN" is not a number, want a word and 2 numbers`,
		"big 1 2\nlarge 1 +Inf\n":                `line 2: "+Inf" is not a number, want a word and 2 numbers`,
		"big 1 2\nlarge 1 1e99\n":                `line 2: "1e99" is not a number, want a word and 2 numbers`,
		"3 2\nbig 1 2\n":                         "the file has 1 of the 3 words that its first line declares",
		", 1 2\n":                                "the file has no words",
		"big 0 0\n":                              "the file has no words",
		"a 1\n" + strings.Repeat("b", maxLine+1): fmt.Sprintf("line 2 has more than %d bytes", maxLine),
		"2 1\n" + strings.Repeat("b", maxLine+1): fmt.Sprintf("line 2 has more than %d bytes", maxLine),
		"\ufeff3 2\nbig 1 2\n":                   "the file has 1 of the 3 words that its first line declares",
	} {
		_, err := Read(strings.NewReader(text))
		if err == nil || err.Error() != want {
			t.Errorf("Read(%.30q) = %v, want %s", text, err, want)
		}
	}
}

// TestReadStops: of a file that is larger than the memory for vectors, the first words are read, and the rest not even
// parsed.
func TestReadStops(t *testing.T) {
	var text strings.Builder
	text.WriteString("1000 4\n")
	for i := range 100 {
		fmt.Fprintf(&text, "w%d %d 1 2 3\n", i, i)
	}
	text.WriteString("broken\n")
	v, err := read(strings.NewReader(text.String()), 50*(4+wordBytes))
	if err != nil {
		t.Fatal(err)
	}
	to := make([]float32, 4)
	if v.Len() != 50 || !v.Vector("w49", to) || v.Vector("w50", to) {
		t.Errorf("%d words, want the first 50", v.Len())
	}
}

func TestOpen(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, "big 1 0\nsmall 0 1\n")
	z.Close()
	name := filepath.Join(t.TempDir(), "words.txt.gz")
	if err := os.WriteFile(name, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if v, err := Open(name); err != nil || v.Len() != 2 {
		t.Errorf("Open = %v, %v", v, err)
	}
	if err := os.WriteFile(name, packed.Bytes()[:packed.Len()-12], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(name); err == nil {
		t.Error("a truncated file was accepted")
	}
}

func TestQuantize(t *testing.T) {
	x, back := []float32{1, -2, 3, 4, -5, 6, 7}, make([]float32, 7)
	small := make([]int8, 7)
	length := Quantize(small, x)
	Normalize(x)
	if got := DotQuantized(x, small) * length; got < 0.9999 || got > 1.0001 {
		t.Errorf("quantized cosine %f with the vector itself", got)
	}
	if ok := Restore(back, small); !ok || Dot(x, back) < 0.9999 {
		t.Errorf("cosine %f with the vector itself", Dot(x, back))
	}
	if got := Quantize(small, make([]float32, 7)); got != 0 {
		t.Errorf("a vector of zeros has the length 1/%f", got)
	}
	if Restore(back, small) {
		t.Error("a vector of zeros has a direction")
	}
}

func FuzzRead(f *testing.F) {
	f.Add("2 3\nbig 1 0 0\nlarge 0.9 -.1 1e-3 \n")
	f.Add("the 0.1 0.2\r\n, 1 2\nnew york 1 2\nThe 3 4\n")
	f.Add("1 1\nnaïve nan\n")
	f.Add("\x00 1\n\xff\xfe 2\n")
	fuzzbound.Fuzz(f, func(t *testing.T, text string) {
		v, err := read(strings.NewReader(text), 4096)
		if err != nil {
			return
		}
		if v.Len() < 1 || v.Dims() < 1 || v.Dims() > MaxDims || v.Len()*v.Dims() > max(4096, v.Dims()) {
			t.Errorf("%d words of %d numbers", v.Len(), v.Dims())
		}
		to := make([]float32, v.Dims())
		for _, word := range strings.Fields(text) {
			if v.Vector(word, to) && math.Abs(dot(to, to)-1) > 1e-3 {
				t.Errorf("%q has a vector of length² %f", word, dot(to, to))
			}
		}
	})
}

// BenchmarkDot compares a question with 10,000 pages.
func BenchmarkDot(b *testing.B) {
	pages := make([]float32, 10_000*100)
	for i := range pages {
		pages[i] = float32(i % 7)
	}
	sum := float32(0)
	for b.Loop() {
		for at := 0; at < len(pages); at += 100 {
			sum += Dot(pages[:100], pages[at:at+100])
		}
	}
	_ = sum
}

func vector(t *testing.T, v *Vectors, word string) []float32 {
	t.Helper()
	to := make([]float32, v.Dims())
	if !v.Vector(word, to) {
		t.Fatalf("%q has no vector", word)
	}
	return to
}

func dot(a, b []float32) float64 { return float64(Dot(a, b)) }

// Package wordvec reads static word vectors: a text file with a word and its numbers on each line, the format in
// which GloVe, fastText and word2vec are published.
//
//	v, err := wordvec.Open("glove.6B.100d.txt")
//	...
//	vector := make([]float32, v.Dims())
//	ok := v.Vector("install", vector)
//
// Files are larger than what search needs of them, so a file is read line by line, and of a vector only its direction
// is kept, in one byte per number. Words that no query can contain are skipped: names with spaces or punctuation, and
// spellings that differ from an earlier word only in case.
package wordvec

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a file.
const (
	// MaxDims is the largest number of numbers of a word.
	MaxDims = 1024
	// MaxBytes bounds the memory for vectors, with wordBytes for each word. The file is read until they fill it,
	// since published files are sorted by frequency: 676,000 words of 100 numbers, 258,000 of 300.
	MaxBytes  = 80 << 20
	wordBytes = 24

	maxFile = 16 << 30 // bytes of the text
	maxLine = 64 << 10
	maxWord = 64
)

// Vectors are the vectors of words. They are read-only and safe for concurrent use, and take one byte per number and
// about wordBytes more per word.
type Vectors struct {
	dims int
	seed maphash.Seed
	// places are the numbers of words, by hash: two of a million words have the same in one of 30 million files.
	places map[uint64]uint32
	// chunks have the directions, as many as fit in chunkBytes each.
	chunks [][]int8
	each   int
	mean   []float32
}

const chunkBytes = 1 << 20

// Open reads the file called name, which is compressed with gzip if the name ends in ".gz". Errors name the line.
func Open(name string) (*Vectors, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(bufio.NewReader(f)); err != nil {
			return nil, err
		}
	}
	return Read(r)
}

// Read reads vectors. The first line may have the number of words and that of numbers of each; lines end in a line
// feed, and fields are separated by spaces or tabs.
func Read(r io.Reader) (*Vectors, error) { return read(r, MaxBytes) }

// read is Read with another limit for the memory of vectors.
func read(r io.Reader, limit int) (*Vectors, error) {
	v := &Vectors{
		seed:   maphash.MakeSeed(),
		places: make(map[uint64]uint32),
	}
	limited := &io.LimitedReader{R: r, N: maxFile}
	scanner := bufio.NewScanner(limited)
	scanner.Buffer(make([]byte, 0, 4096), maxLine)
	declared, lines, n := -1, 0, 1
	var vector []float32
	full := false
	for ; !full && scanner.Scan(); n++ {
		line := strings.TrimRight(scanner.Text(), " \t\r")
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff") // a byte order mark
			if count, dims, ok := heading(line); ok {
				declared, v.dims = count, dims
			} else {
				v.dims = len(strings.Fields(line)) - 1
			}
			if v.dims < 1 || v.dims > MaxDims {
				return nil, fmt.Errorf("line 1: want a word and 1 to %d numbers", MaxDims)
			}
			v.each = max(1, chunkBytes/v.dims)
			vector = make([]float32, v.dims)
			v.mean = make([]float32, v.dims)
			if declared >= 0 {
				continue
			}
		}
		word, err := parse(line, vector)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		lines++
		v.add(word, vector)
		full = (len(v.places)+1)*(v.dims+wordBytes) > limit
	}
	switch err := scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d has more than %d bytes", n, maxLine)
	case err != nil:
		return nil, err
	case limited.N <= 0:
		return nil, fmt.Errorf("the file has more than %d bytes", int64(maxFile))
	case !full && lines < declared:
		return nil, fmt.Errorf("the file has %d of the %d words that its first line declares", lines, declared)
	case len(v.places) == 0:
		return nil, errors.New("the file has no words")
	}
	for i := range v.mean {
		v.mean[i] /= float32(len(v.places))
	}
	return v, nil
}

// heading returns the two numbers of a line that has nothing else.
func heading(line string) (count, dims int, ok bool) {
	fields := strings.Fields(line)
	if len(fields) != 2 {
		return 0, 0, false
	}
	count, err := strconv.Atoi(fields[0])
	dims, failed := strconv.Atoi(fields[1])
	return count, dims, err == nil && failed == nil && count >= 0
}

// parse reads the numbers at the end of a line into vector, and returns what is before them.
func parse(line string, vector []float32) (word string, err error) {
	for i := len(vector) - 1; i >= 0; i-- {
		at := len(line) - 1
		for at >= 0 && line[at] != ' ' && line[at] != '\t' {
			at--
		}
		if at < 0 {
			return "", fmt.Errorf("want a word and %d numbers", len(vector))
		}
		number := line[at+1:]
		x, err := strconv.ParseFloat(number, 32)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			number = number[:min(len(number), 40)]
			return "", fmt.Errorf("%q is not a number, want a word and %d numbers", number, len(vector))
		}
		vector[i] = float32(x)
		line = strings.TrimRight(line[:at], " \t")
	}
	return line, nil
}

// add keeps the direction of a vector, unless no query has the word or an earlier one is the same. It overwrites the
// vector.
func (v *Vectors) add(word string, vector []float32) {
	word = strings.ToLower(word)
	if !usable(word) {
		return
	}
	key := maphash.String(v.seed, word)
	if _, ok := v.places[key]; ok {
		return
	}
	if !Normalize(vector) {
		return
	}
	n := len(v.places)
	if n%v.each == 0 {
		v.chunks = append(v.chunks, make([]int8, 0, v.each*v.dims))
	}
	v.places[key] = uint32(n)
	last := &v.chunks[len(v.chunks)-1]
	*last = (*last)[:len(*last)+v.dims]
	Quantize((*last)[len(*last)-v.dims:], vector)
	for i, x := range vector {
		v.mean[i] += x
	}
}

// usable reports whether a query can have a word: one of letters and digits.
func usable(word string) bool {
	if word == "" || len(word) > maxWord || !utf8.ValidString(word) {
		return false
	}
	return !strings.ContainsFunc(word, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.N, unicode.Mn, unicode.Mc)
	})
}

// Dims returns the number of numbers of each vector.
func (v *Vectors) Dims() int { return v.dims }

// Len returns the number of words.
func (v *Vectors) Len() int { return len(v.places) }

// Vector sets to, of [Vectors.Dims] numbers, to the direction in which the vector of word differs from the mean of
// all, and reports whether there is one. word is in lower case.
func (v *Vectors) Vector(word string, to []float32) bool {
	n, ok := v.places[maphash.String(v.seed, word)]
	if !ok {
		return false
	}
	from := v.chunks[int(n)/v.each][int(n)%v.each*v.dims:][:v.dims]
	Restore(to, from)
	for i := range to {
		to[i] -= v.mean[i]
	}
	return Normalize(to)
}

// Normalize scales a vector to length 1. It reports false for one without a direction.
func Normalize(vector []float32) bool {
	sum := 0.0
	for _, x := range vector {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if length < 1e-6 || math.IsInf(length, 0) {
		return false
	}
	for i := range vector {
		vector[i] = float32(float64(vector[i]) / length)
	}
	return true
}

// Quantize sets to to the direction of a vector, with a largest number of 127, and returns the reciprocal of the length
// that this has, or 0 for a vector without a direction. [Restore] is the reverse.
func Quantize(to []int8, vector []float32) float32 {
	most := float32(0)
	for _, x := range vector {
		most = max(most, max(x, -x))
	}
	if most == 0 {
		clear(to)
		return 0
	}
	sum := 0
	for i, x := range vector {
		to[i] = int8(math.Round(float64(x / most * 127)))
		sum += int(to[i]) * int(to[i])
	}
	return float32(1 / math.Sqrt(float64(sum)))
}

// Restore sets to to the vector of length 1 that was quantized, and reports whether it has a direction.
func Restore(to []float32, from []int8) bool {
	for i, x := range from {
		to[i] = float32(x)
	}
	return Normalize(to)
}

// Dot returns the scalar product of two vectors of the same length, with four independent sums, which a processor
// computes at the same time.
func Dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s, t, u, w float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		s += x[0] * y[0]
		t += x[1] * y[1]
		u += x[2] * y[2]
		w += x[3] * y[3]
	}
	for ; i < len(a); i++ {
		s += a[i] * b[i]
	}
	return s + t + u + w
}

// DotQuantized is [Dot] with a quantized vector, which is longer than 1.
func DotQuantized(a []float32, b []int8) float32 {
	b = b[:len(a)]
	var s, t float32
	i := 0
	for ; i+2 <= len(a); i += 2 {
		x, y := a[i:i+2:i+2], b[i:i+2:i+2]
		s += x[0] * float32(y[0])
		t += x[1] * float32(y[1])
	}
	if i < len(a) {
		s += a[i] * float32(b[i])
	}
	return s + t
}

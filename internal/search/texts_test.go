package search

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTexts: a text has the same number each time, and is found by it.
func TestTexts(t *testing.T) {
	var all texts
	if n := all.known([]byte("a")); n >= 0 {
		t.Errorf("an empty set has %d", n)
	}
	for round := range 2 {
		for i := range 5000 {
			text := fmt.Append(nil, i%7, "word", i)
			if i == 0 {
				text = nil
			}
			if n := all.number(text); n != i {
				t.Fatalf("round %d: number %d, want %d", round, n, i)
			}
			if got := all.at(i); !bytes.Equal(got, text) {
				t.Fatalf("text %d is %q, want %q", i, got, text)
			}
		}
	}
	if all.count() != 5000 || all.known([]byte("3word10")) != 10 || all.known([]byte("other")) >= 0 {
		t.Errorf("%d texts, %d, %d", all.count(), all.known([]byte("3word10")), all.known([]byte("other")))
	}
	numbers := []int{all.number([]byte("b")), all.number([]byte("abcdefghi")), all.number([]byte("abcdefgh"))}
	slices.SortFunc(numbers, all.compare)
	got := fmt.Sprintf("%s %s %s", all.at(numbers[0]), all.at(numbers[1]), all.at(numbers[2]))
	if got != "abcdefgh abcdefghi b" {
		t.Error(got)
	}
	for i := 1; i < len(numbers); i++ {
		if all.beginning(numbers[i-1]) > all.beginning(numbers[i]) {
			t.Errorf("%q and %q are in another order by their beginnings", all.at(numbers[i-1]), all.at(numbers[i]))
		}
	}
}

// TestBlocks: lists that grow at the same time have what was appended to each of them.
func TestBlocks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var b blocks
	lists := make([]list, 50)
	want := make([][]byte, len(lists))
	for range 60_000 {
		i := random.IntN(random.IntN(len(lists)) + 1) // some are much longer than others
		data := make([]byte, random.IntN(40))
		for k := range data {
			data[k] = byte(random.Uint32())
		}
		b.append(&lists[i], data)
		want[i] = append(want[i], data...)
	}
	total := 0
	for i := range lists {
		total += len(want[i])
		if got := b.appendTo([]byte("x"), &lists[i]); string(got) != "x"+string(want[i]) {
			t.Errorf("list %d of %d bytes differs", i, len(want[i]))
		}
	}
	if size := len(b.slabs) * slabSize; size > total+total/5 {
		t.Errorf("%d bytes are in %d", total, size)
	}
}

package order_test

import (
	"slices"
	"testing"

	"github.com/slipway-mcp/slipway/internal/order"
)

type card struct {
	value int
	place int
}

func byValue(a, b card) int { return a.value - b.value }

func deck() []card {
	list := make([]card, 100)
	for i := range list {
		list[i] = card{i * 37 % 10, i}
	}
	return list
}

func TestBy(t *testing.T) {
	list := deck()
	order.By(list, byValue)
	if !slices.IsSortedFunc(list, byValue) {
		t.Errorf("not sorted: %v", list)
	}
}

func TestStableBy(t *testing.T) {
	got, want := deck(), deck()
	order.StableBy(got, byValue)
	slices.SortStableFunc(want, byValue)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

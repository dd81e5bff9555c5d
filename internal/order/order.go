// Package order sorts slices of structs. [slices.SortFunc] is compiled again for each type of struct, into 30 KB
// of the binary each time; the functions here are compiled once. They take about twice as long, so code that
// sorts per request, or many thousand elements, uses package slices.
package order

import "sort"

// By sorts a list in ascending order as compare determines it. Equal elements may change places.
func By[E any](list []E, compare func(a, b E) int) {
	sort.Slice(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}

// StableBy is By, but equal elements keep their order.
func StableBy[E any](list []E, compare func(a, b E) int) {
	sort.SliceStable(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}

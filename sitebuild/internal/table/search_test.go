package table_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// nations returns a table of 12 rows without a column named like a key: the name is
// nested, and two codes identify rows.
func nations() string {
	var b strings.Builder
	b.WriteString("[")
	for i := range 12 {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b,
			`{"area":%d,"independent":%t,"name":{"common":"Land %c","official":"Republic of the Great Land %c",`+
				`"native":{"xyz":{"common":"Lund %c"}}},"cca2":"%c%c","cca3":"%c%cX","languages":{"l%d":"Lang"},`+
				`"capital":["Town %d"]}`,
			i%3, i%2 == 0, 'A'+i, 'A'+i, 'A'+i, 'A'+i, 'Z'-i, 'A'+i, 'Z'-i, i, i)
	}
	return b.String() + "]"
}

// TestUniqueColumns looks rows up by each unique short column, and by nested names.
func TestUniqueColumns(t *testing.T) {
	b := must(t, file(t, "countries.json", nations()), nil)
	names := b.tools()
	for _, want := range []string{
		"get_country_by_cca2", "get_country_by_cca3", "get_country_by_name_common",
		"search_countries",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s among %v", want, names)
		}
	}
	for _, call := range [][2]string{
		{"get_country_by_cca2", `{"cca2":"CX"}`},
		{"get_country_by_cca3", `{"cca3":"CXX"}`},
		{"get_country_by_name_common", `{"name_common":"Land C"}`},
	} {
		if got := b.call(t, call[0], call[1]); !strings.Contains(got, `"official":"Republic of the Great Land C"`) ||
			strings.Contains(got, "name.common") {
			t.Errorf("%v: %s", call, got)
		}
	}
	if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, "languages") }) {
		t.Errorf("names in an object of translations became columns: %v", names)
	}
}

// TestSearchRows finds rows by words, including words in nested names.
func TestSearchRows(t *testing.T) {
	var b strings.Builder
	b.WriteString("geonameid,name,country\n")
	for i, city := range []string{
		"Paris", "Rome", "San Marino", "Santa Fe", "Oslo", "Lima", "Quito", "Cairo", "Accra",
		"Dakar", "Paris Texas",
	} {
		fmt.Fprintf(&b, "%d,%s,C%d\n", 1000+i, city, i%3)
	}
	for _, test := range []struct{ name, text, tool, query, want string }{
		{"cities.csv", b.String(), "search_cities", "santa", "path: Santa Fe"},
		{"cities.csv", b.String(), "search_cities", "paris", "path: Paris Texas"},
		{"countries.json", nations(), "search_countries", "republic great", "path: "},
	} {
		s := must(t, file(t, test.name, test.text), nil)
		if got := s.call(t, test.tool, fmt.Sprintf(`{"query":%q}`, test.query)); !strings.Contains(got, test.want) {
			t.Errorf("%s: %q finds %s", test.name, test.query, got)
		}
	}
}

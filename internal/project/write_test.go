package project

import "testing"

// TestQuoted guards paths that a YAML parser would read as numbers, booleans or structure.
func TestQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"docs/guide":                       "docs/guide",
		"v1.2":                             "v1.2",
		"../docs":                          "../docs",
		".vitepress":                       ".vitepress",
		"https://docs.example.com:8080/a/": "https://docs.example.com:8080/a/",
		".":                                ".",
		"2024":                             "'2024'",
		"1.0":                              "'1.0'",
		"2024-11-05":                       "'2024-11-05'",
		"12:30":                            "'12:30'",
		"2024-11-05 12:30:00":              "'2024-11-05 12:30:00'",
		"1_000":                            "'1_000'",
		"0b101":                            "'0b101'",
		".5":                               "'.5'",
		".inf":                             "'.inf'",
		"...":                              "'...'",
		"0x1f":                             "'0x1f'",
		"On":                               "'On'",
		"no":                               "'no'",
		"null":                             "'null'",
		"~":                                "'~'",
		"a: b":                             "'a: b'",
		"a:":                               "'a:'",
		"docs ":                            "'docs '",
		"a #b":                             "'a #b'",
		"it's":                             "'it''s'",
		"":                                 "''",
	} {
		if got := quoted(text); got != want {
			t.Errorf("quoted(%q) = %s, want %s", text, got, want)
		}
	}
}

package docs

import "testing"

// Descriptions are whole sentences where that is possible.
func TestOpening(t *testing.T) {
	for text, want := range map[string]string{
		"Controls the pool of connections of a client. It has these:": "Controls the pool of connections of a client.",
		"The build command is used to render your book:":              "The build command is used to render your book.",
		"In this section you will learn how to:":                      "In this section you will learn how to:",
		"The proxy verifies the identity of each host. Then it asks its own store for certificates": "The proxy verifies " +
			"the identity of each host.",
		"See the table of hosts (e.g. Vercel) that can run an endpoint for a site without a server": "See the table of " +
			"hosts (e.g. Vercel) that can run an endpoint for a site…",
		"Whole.": "Whole.",
	} {
		if got := opening(text, 80); got != want {
			t.Errorf("opening(%q) = %q, want %q", text, got, want)
		}
	}
}

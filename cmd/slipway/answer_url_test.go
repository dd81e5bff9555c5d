package main

import (
	"strings"
	"testing"
)

// TestPageOf ensures that a page is shown only with an address that cannot pass for another one.
func TestPageOf(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://pay.example.com/d?id=7#top":                        true,
		"http://127.0.0.1:8080/":                                    true,
		"https://evil.example/" + strings.Repeat(" ", 60) + "host:": false,
		"https://evil.example/?q= host: bank.example":               false,
		"https://evil.example/#\u00a0\u3000x":                       false,
		"https://evil.example/" + strings.Repeat("x", maxAddress):   false,
		"https://bank.example@evil.example/":                        false,
		"https://bank.example\\@evil.example/":                      false,
		"https://evil.example\x1b[2K/":                              false,
		"javascript:alert(1)":                                       false,
		"file:///etc/passwd":                                        false,
		"https://":                                                  false,
		"":                                                          false,
	} {
		if _, err := pageOf(address); (err == nil) != ok {
			t.Errorf("pageOf(%.60q) = %v, want ok: %t", address, err, ok)
		}
	}
}

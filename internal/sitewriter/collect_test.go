package sitewriter

import "testing"

// isPlain skips the checks of a result, so it must recognize nothing but a string.
func TestIsPlain(t *testing.T) {
	for doc, want := range map[string]bool{
		`{"content":[{"type":"text","text":"a \"}]} b"}]}`:            true,
		`{"content":[{"type":"text","text":1}]}`:                      false,
		`{"content":[{"type":"text","text":"a"}],"isError":true}`:     false,
		`{"content":[{"type":"text","text":"a"},{"text":"b"}]}`:       false,
		`{"content":[{"type":"text","text":"a","type":"image"}]}`:     false,
		`{"content":[{"type":"text","text":"a"}],"content":null}`:     false,
		`{"content":[{"text":"a","type":"text"}]}`:                    false,
		`{"structuredContent":{"content":[{"type":"text","text":""}]`: false,
	} {
		if got := isPlain([]byte(doc), textHead, textTail); got != want {
			t.Errorf("isPlain(%s) = %v", doc, got)
		}
	}
}

package search

// Term is a term that a text is indexed under.
type Term struct {
	// Term is the indexed form of Word, a word of the text in lower case.
	Term string `json:"term"`
	Word string `json:"word"`
	// Stop reports whether the word is ignored in queries.
	Stop bool `json:"stop,omitempty"`
	// Compound reports whether the term joins the terms before it.
	Compound bool `json:"compound,omitempty"`
}

// Terms returns the terms of a text in a language, such as "en" or "pt-BR", in order.
func Terms(language, text string) []Term {
	var list []Term
	newAnalyzer(language).tokens(text, func(t token) {
		list = append(list, Term{t.term, t.word, t.stop, t.compound})
	})
	return list
}

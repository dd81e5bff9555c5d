package search

// LimitVectors limits the numbers of the vectors of an index that uses some.
func (x *Index) LimitVectors(n int) { x.meaning.most.units = n }

// LimitTexts limits the bytes of the files of terms of an index that uses vectors.
func (x *Index) LimitTexts(n int) { x.meaning.most.text = n }

// LimitWords limits the numbers of the words of an index that uses vectors.
func (x *Index) LimitWords(n int) { x.meaning.most.words = n }

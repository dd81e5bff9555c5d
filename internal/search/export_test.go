package search

// LimitVectors limits the numbers of the vectors of an index that uses some.
func (x *Index) LimitVectors(n int) { x.meaning.most = n }

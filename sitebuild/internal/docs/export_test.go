package docs

// SetMaxFull sets the size of the largest llms-full.txt, and returns what sets the former one.
func SetMaxFull(size int) (restore func()) {
	before := maxFull
	maxFull = size
	return func() { maxFull = before }
}

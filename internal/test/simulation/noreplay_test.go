//go:build !replay

package simulation_test

// setRandom does nothing: the runtime draws random numbers.
func setRandom(uint64) {}

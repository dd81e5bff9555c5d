// Package simulation runs a whole cluster in one test: real servers of package serve, real
// clients of package client, and the real coordination of package cluster, in a bubble of
// testing/synctest. Minutes of virtual time take a fraction of a second.
//
// Each caller may have a process of its own, see Callers in options_test.go.
//
// Everything outside is simulated: a network in memory that delays, cuts and resets
// connections, an engine ([cluster.Memory]) at the end of such a network, and the clocks of
// each machine. A seed determines the load and the faults: machines that are killed, hang,
// sleep, are cut off or stopped, slow links, and clocks that are set. Clients and
// sources write down what they saw, and each run compares it with what must hold, see
// invariants_test.go.
//
//	scripts/simulate --seed 17
//
// replays one seed and writes its trace to a file. For that, the script replaces what depends on chance
// or on the speed of the machine in the runtime. go test runs a few seeds without it, in which goroutines
// that are ready at the same moment run in any order. Its mutants are faults in the product that the
// simulation has to find.
//
// What the simulation cannot show: the drivers for NATS and Redis, which need real sockets
// (their tests start real servers), the preemption of a process between two instructions, and
// writes that block because a peer does not read.
package simulation

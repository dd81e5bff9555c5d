// Package helm tests the Helm chart in examples/deploy/helm/slipway: with Helm's own code, the
// schemas of Kubernetes, and the real slipway binary. scripts/helm runs the tests. It is a module of
// its own, so that Helm is not among the requirements of the library.
package helm

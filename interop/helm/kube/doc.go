// Package kube installs the Helm chart in a real Kubernetes: etcd, API server, controller manager and
// scheduler from their Go modules, and nodes whose pods are processes of slipway on this machine.
// scripts/kubernetes builds the control plane, which takes a while, and runs the tests.
package kube

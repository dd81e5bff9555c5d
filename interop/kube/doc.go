// Command kube is a Kubernetes control plane in one program: etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler, kubectl and helm, by its first argument. scripts/kubernetes builds it with the tag kube,
// which keeps it out of everyday builds: it takes minutes.
package main

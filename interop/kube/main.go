//go:build kube

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	helm "helm.sh/helm/v4/pkg/cmd"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if len(os.Args) < 2 {
		fail("usage: kube etcd | apiserver | controllers | scheduler | kubectl | helm ARGUMENTS")
	}
	name := os.Args[1]
	os.Args = append([]string{name}, os.Args[2:]...)
	commands := map[string]func() *cobra.Command{
		"apiserver":   apiserver.NewAPIServerCommand,
		"controllers": controllers.NewControllerManagerCommand,
		"scheduler":   func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"kubectl":     func() *cobra.Command { return cmd.NewDefaultKubectlCommand() },
	}
	switch command := commands[name]; {
	case name == "etcd":
		etcdmain.Main(os.Args)
	case name == "helm":
		root, err := helm.NewRootCmd(os.Stdout, os.Args[1:], helm.SetupLogging)
		if err == nil {
			err = root.ExecuteContext(context.Background())
		}
		if err != nil {
			os.Exit(1)
		}
	case command == nil:
		fail("unknown program " + name)
	default:
		os.Exit(cli.Run(command()))
	}
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, "kube: "+message)
	os.Exit(2)
}

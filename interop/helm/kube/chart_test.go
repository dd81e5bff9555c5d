package kube_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-mcp/slipway/interop/helm/pod"
)

const (
	repository = "../../.."
	chart      = repository + "/examples/deploy/helm/slipway"
	release    = "slipway"
	namespace  = "tools"
	token      = "0123456789abcdef0123456789abcdef"
)

// TestChart installs the chart, and changes what runs while clients call.
func TestChart(t *testing.T) {
	p := startPlane(t)
	machine, objects := machines(t)
	prepare(t, p, objects)
	startKubelet(t, p, machine)
	values := chart + "/ci/kubernetes-values.yaml"
	helm := func(t *testing.T, args ...string) {
		t.Helper()
		if out, err := p.run(t.Context(), append([]string{"helm", "-n", namespace}, args...)...); err != nil {
			t.Fatal(err)
		} else {
			t.Logf("helm %s:\n%s", args[0], out)
		}
	}
	began := time.Now()
	helm(t, "install", release, chart, "-f", values)
	available(t, p, 2)
	t.Logf("installed, scheduled and available after %v", time.Since(began).Round(time.Millisecond))
	b := startBalancer(t, p)
	await(t, 10*time.Second, "the balancer has both endpoints", func() error {
		if found, err := ready(t.Context(), p); err != nil || len(found) != 2 {
			return fmt.Errorf("%q, %v", found, err)
		}
		return nil
	})
	zones := map[string]int{}
	for _, x := range pods(t, p) {
		zones[x.Spec.NodeName[:1]]++
	}
	if zones["a"] != 1 || zones["b"] != 1 {
		t.Errorf("pods by zone: %v", zones)
	}

	t.Run("rolling update", func(t *testing.T) {
		before := names(pods(t, p))
		c := startClients(t, b, 4)
		time.Sleep(time.Second)
		helm(t, "upgrade", release, chart, "-f", values, "--set", "config.serve.limits.maxInFlight=500")
		replaced(t, p, before)
		available(t, p, 2)
		time.Sleep(time.Second)
		c.finish(t, "rolling update")
	})

	t.Run("invalid config", func(t *testing.T) {
		before := names(pods(t, p))
		c := startClients(t, b, 4)
		helm(t, "upgrade", release, chart, "-f", values, "--set", "config.serve.access.policy=missing.cedar")
		await(t, 30*time.Second, "a pod that does not start", func() error {
			all := pods(t, p)
			if len(all) != 3 || !slices.ContainsFunc(all, func(x core.Pod) bool {
				return len(x.Status.ContainerStatuses) > 0 && x.Status.ContainerStatuses[0].RestartCount > 1
			}) {
				return fmt.Errorf("%d pods", len(all))
			}
			return nil
		})
		for _, name := range before {
			if !slices.Contains(names(pods(t, p)), name) {
				t.Errorf("%s was replaced by a pod that does not start", name)
			}
		}
		helm(t, "rollback", release)
		await(t, 60*time.Second, "the pod that does not start is gone", func() error {
			if all := names(pods(t, p)); !slices.Equal(all, before) {
				return fmt.Errorf("%q, want %q", all, before)
			}
			return nil
		})
		c.finish(t, "invalid config")
	})

	t.Run("eviction", func(t *testing.T) {
		before := names(pods(t, p))
		c := startClients(t, b, 4)
		evict := func(name string) error {
			return p.client.PolicyV1().Evictions(namespace).Evict(t.Context(), &policy.Eviction{
				ObjectMeta: meta.ObjectMeta{Name: name, Namespace: namespace},
			})
		}
		await(t, 10*time.Second, "the first eviction", func() error { return evict(before[0]) })
		if err := evict(before[1]); !errors.IsTooManyRequests(err) {
			t.Errorf("the second eviction at the same time: %v", err)
		}
		await(t, 60*time.Second, "the second eviction", func() error { return evict(before[1]) })
		replaced(t, p, before)
		available(t, p, 2)
		c.finish(t, "eviction")
	})

	t.Run("scale", func(t *testing.T) {
		c := startClients(t, b, 4)
		scale := func(n int) {
			if out, err := p.run(t.Context(), "kubectl", "-n", namespace, "scale", "deployment/"+release,
				fmt.Sprintf("--replicas=%d", n)); err != nil {
				t.Fatal(err, out)
			}
			await(t, 90*time.Second, fmt.Sprint(n, " pods"), func() error {
				if all := pods(t, p); len(all) != n {
					return fmt.Errorf("%d pods", len(all))
				}
				return nil
			})
			available(t, p, n)
		}
		scale(4)
		scale(1)
		time.Sleep(time.Second)
		c.finish(t, "from 2 to 4 pods and to 1")
	})
}

// machines starts an engine and a server for the pods, and returns what pods find, and the secrets.
func machines(t *testing.T) (pod.Machine, map[string]map[string]string) {
	t.Helper()
	slipway := filepath.Join(t.TempDir(), "slipway")
	build := exec.Command("go", "build", "-trimpath", "-o", slipway, "./cmd/slipway")
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build slipway: %v\n%s", err, out)
	}
	upstream := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	start(t, "upstream", slipway, "serve", repository+"/examples/http-reference", "--addr", upstream)
	nats, err := exec.Command("go", "-C", repository+"/interop", "tool", "-n", "nats-server").Output()
	if err != nil {
		t.Fatalf("build nats-server: %v", err)
	}
	password := rand.Text()
	port := fmt.Sprint(freePort(t))
	start(t, "nats-server", strings.TrimSpace(string(nats)), "--jetstream", "--store_dir", t.TempDir(),
		"--addr", "127.0.0.1", "--port", port, "--user", "slipway", "--pass", password)
	return pod.Machine{
			Program: slipway,
			ImageEnv: map[string]string{
				"MCP_SERVER_ADDR":       "0.0.0.0:8080",
				"MCP_SERVER_LOG_LEVEL":  "info",
				"MCP_SERVER_LOG_FORMAT": "json",
			},
			Replace: []string{"https://mcp.example.com/analytics", "http://" + upstream + "/mcp",
				"slipway@nats:4222", "slipway@127.0.0.1:" + port},
			Arguments: []string{"--allow-network=loopback"},
		}, map[string]map[string]string{
			"slipway-tokens":  {"tokens": "ci " + token + "\n"},
			"slipway-servers": {"ANALYTICS_TOKEN": "the-token-of-analytics"},
			"nats":            {"password": password},
		}
}

// prepare creates the namespace and the secrets.
func prepare(t *testing.T, p *plane, secrets map[string]map[string]string) {
	t.Helper()
	spaces := p.client.CoreV1().Namespaces()
	await(t, 30*time.Second, "the namespace", func() error {
		space := &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: namespace}}
		_, err := spaces.Create(t.Context(), space, meta.CreateOptions{})
		return err
	})
	for name, data := range secrets {
		secret := &core.Secret{ObjectMeta: meta.ObjectMeta{Name: name}, StringData: data}
		if _, err := p.client.CoreV1().Secrets(namespace).Create(t.Context(), secret, meta.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// pods returns the pods, ordered by name.
func pods(t *testing.T, p *plane) []core.Pod {
	t.Helper()
	all, err := p.client.CoreV1().Pods(namespace).List(t.Context(), meta.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return all.Items
}

func names(pods []core.Pod) (names []string) {
	for _, p := range pods {
		names = append(names, p.Name)
	}
	return names
}

// available waits until n pods are available, and no more are.
func available(t *testing.T, p *plane, n int) {
	t.Helper()
	await(t, 90*time.Second, fmt.Sprint(n, " available pods"), func() error {
		d, err := p.client.AppsV1().Deployments(namespace).Get(context.WithoutCancel(t.Context()), release, meta.GetOptions{})
		if err != nil {
			return err
		}
		s := d.Status
		same := s.Replicas == int32(n) && s.UpdatedReplicas == s.Replicas && s.AvailableReplicas == s.Replicas
		if s.ObservedGeneration != d.Generation || !same {
			return fmt.Errorf("%d updated, %d available of %d", s.UpdatedReplicas, s.AvailableReplicas, s.Replicas)
		}
		return nil
	})
}

// replaced waits until none of the pods exists.
func replaced(t *testing.T, p *plane, before []string) {
	t.Helper()
	await(t, 2*time.Minute, "other pods", func() error {
		for _, name := range names(pods(t, p)) {
			if slices.Contains(before, name) {
				return fmt.Errorf("%s exists", name)
			}
		}
		return nil
	})
}

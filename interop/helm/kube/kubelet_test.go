package kube_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-mcp/slipway/interop/helm/pod"
)

// kubelet runs the pods of all nodes as processes. A pod has an address of its own, so all have the
// same ports. Kubernetes refuses loopback addresses of endpoints, so it knows others, see local.
type kubelet struct {
	plane   *plane
	machine pod.Machine // of every pod, without IP and objects
	dir     string
	context context.Context
	running sync.WaitGroup

	mu   sync.Mutex
	pods map[types.UID]*kubeletPod
	next int // the last part of the next address
}

// kubeletPod is a pod that a kubelet runs.
type kubeletPod struct {
	object   core.Pod
	ip       string        // for Kubernetes
	deleting chan struct{} // closed when the pod is to stop
	once     sync.Once
	started  meta.Time
	restarts int32
}

// local returns the address of a pod on this machine.
func local(ip string) string { return strings.Replace(ip, "10.", "127.", 1) }

// startKubelet registers two nodes in each of two zones, and runs what is scheduled there.
func startKubelet(t *testing.T, p *plane, machine pod.Machine) *kubelet {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	k := &kubelet{plane: p, machine: machine, dir: t.TempDir(), context: ctx, pods: map[types.UID]*kubeletPod{}, next: 1}
	for _, name := range []string{"a-1", "a-2", "b-1", "b-2"} {
		if err := k.register(name); err != nil {
			t.Fatal(err)
		}
	}
	k.running.Go(func() {
		for ctx.Err() == nil {
			k.sync()
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		k.running.Wait()
	})
	return k
}

// register creates a ready node, whose name begins with its zone, and reports that it lives.
func (k *kubelet) register(name string) error {
	nodes := k.plane.client.CoreV1().Nodes()
	node := &core.Node{ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{
		"kubernetes.io/hostname":      name,
		"topology.kubernetes.io/zone": name[:1],
	}}}
	node, err := nodes.Create(k.context, node, meta.CreateOptions{})
	if err != nil {
		return err
	}
	report := func() error {
		capacity := core.ResourceList{
			core.ResourceCPU:    resource.MustParse("4"),
			core.ResourceMemory: resource.MustParse("8Gi"),
			core.ResourcePods:   resource.MustParse("20"),
		}
		status := core.NodeStatus{Capacity: capacity, Allocatable: capacity, Conditions: []core.NodeCondition{{
			Type:               core.NodeReady,
			Status:             core.ConditionTrue,
			Reason:             "KubeletReady",
			LastHeartbeatTime:  meta.Now(),
			LastTransitionTime: node.CreationTimestamp,
		}}}
		patch, err := json.Marshal(map[string]any{"status": status})
		if err != nil {
			return err
		}
		_, err = nodes.Patch(k.context, name, types.MergePatchType, patch, meta.PatchOptions{}, "status")
		return err
	}
	k.running.Go(func() {
		for k.context.Err() == nil {
			select {
			case <-time.After(10 * time.Second):
				_ = report() // the node controller notices if it fails for long
			case <-k.context.Done():
			}
		}
	})
	return report()
}

// sync starts new pods, and stops deleted ones.
func (k *kubelet) sync() {
	all, err := k.plane.client.CoreV1().Pods(namespace).List(k.context, meta.ListOptions{})
	if err != nil {
		return // the next time
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, object := range all.Items {
		if object.Spec.NodeName == "" || object.Status.Phase == core.PodFailed {
			continue
		}
		p := k.pods[object.UID]
		if p == nil {
			p = &kubeletPod{
				object:   object,
				ip:       fmt.Sprintf("10.20.0.%d", k.next),
				deleting: make(chan struct{}),
				started:  meta.Now(),
			}
			k.next++
			k.pods[object.UID] = p
			k.running.Go(func() { k.run(p) })
		}
		if object.DeletionTimestamp != nil {
			p.once.Do(func() { close(p.deleting) })
		}
	}
}

// run runs a pod until it is deleted, and restarts its process when that ends by itself.
func (k *kubelet) run(p *kubeletPod) {
	for {
		process, err := k.start(p)
		if err == nil && k.follow(p, process) {
			return
		}
		p.restarts++
		select {
		case <-p.deleting:
			k.remove(p)
			return
		case <-k.context.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// start starts the process of a pod.
func (k *kubelet) start(p *kubeletPod) (*pod.Pod, error) {
	m := k.machine
	m.IP = local(p.ip)
	m.ConfigMap = func(name string) (map[string]string, error) {
		found, err := k.plane.client.CoreV1().ConfigMaps(namespace).Get(k.context, name, meta.GetOptions{})
		if err != nil {
			return nil, err
		}
		return found.Data, nil
	}
	m.Secret = func(name string) (map[string]string, error) {
		found, err := k.plane.client.CoreV1().Secrets(namespace).Get(k.context, name, meta.GetOptions{})
		files := map[string]string{}
		if err == nil {
			for key, text := range found.Data {
				files[key] = string(text)
			}
		}
		return files, err
	}
	root := filepath.Join(k.dir, fmt.Sprintf("%s-%d", p.object.Name, p.restarts))
	process, err := pod.New(root, &p.object.Spec, &m)
	if err == nil {
		err = process.Start()
	}
	return process, err
}

// follow reports the readiness of a pod until its process ends, and reports whether the pod has ended.
func (k *kubelet) follow(p *kubeletPod, process *pod.Pod) (ended bool) {
	probe := p.object.Spec.Containers[0].ReadinessProbe
	ready, failures := false, int32(0)
	k.report(p, false)
	deleting := p.deleting
	var kill <-chan time.Time
	tick := time.NewTicker(time.Duration(probe.PeriodSeconds) * time.Second / 3) // faster, for the test
	defer tick.Stop()
	for {
		if k.probe(p, probe) {
			failures = 0
		} else {
			failures++
		}
		now := failures == 0 || ready && failures < probe.FailureThreshold
		if now != ready {
			ready = now
			k.report(p, ready)
		}
		select {
		case <-tick.C:
		case <-deleting:
			deleting = nil
			process.Signal(syscall.SIGTERM)
			kill = time.After(time.Duration(*p.object.Spec.TerminationGracePeriodSeconds) * time.Second)
		case <-kill:
			process.Stop()
		case <-process.Ended:
			if deleting == nil {
				k.remove(p)
				return true
			}
			k.report(p, false)
			return false
		case <-k.context.Done():
			process.Stop()
			return true
		}
	}
}

// probe reports whether the readiness probe of a pod succeeds.
func (k *kubelet) probe(p *kubeletPod, probe *core.Probe) bool {
	port := 0
	for _, c := range p.object.Spec.Containers[0].Ports {
		if c.Name == probe.HTTPGet.Port.String() {
			port = int(c.ContainerPort)
		}
	}
	client := http.Client{Timeout: time.Duration(probe.TimeoutSeconds) * time.Second}
	answer, err := client.Get(fmt.Sprintf("http://%s:%d%s", local(p.ip), port, probe.HTTPGet.Path))
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// report writes the status of a pod.
func (k *kubelet) report(p *kubeletPod, ready bool) {
	state := core.ConditionFalse
	if ready {
		state = core.ConditionTrue
	}
	var conditions []core.PodCondition
	kinds := []core.PodConditionType{core.PodScheduled, core.PodInitialized, core.ContainersReady, core.PodReady}
	for _, kind := range kinds {
		c := core.PodCondition{Type: kind, Status: core.ConditionTrue, LastTransitionTime: meta.Now()}
		if kind == core.ContainersReady || kind == core.PodReady {
			c.Status = state
		}
		conditions = append(conditions, c)
	}
	patch, err := json.Marshal(map[string]any{"status": core.PodStatus{
		Phase:      core.PodRunning,
		Conditions: conditions,
		PodIP:      p.ip,
		PodIPs:     []core.PodIP{{IP: p.ip}},
		StartTime:  &p.started,
		ContainerStatuses: []core.ContainerStatus{{
			Name:         p.object.Spec.Containers[0].Name,
			Ready:        ready,
			RestartCount: p.restarts,
			State:        core.ContainerState{Running: &core.ContainerStateRunning{StartedAt: p.started}},
		}},
	}})
	if err == nil {
		_, _ = k.plane.client.CoreV1().Pods(namespace).Patch(k.context, p.object.Name, types.MergePatchType, patch,
			meta.PatchOptions{}, "status") // the pod may be gone
	}
}

// remove deletes a pod whose process has ended.
func (k *kubelet) remove(p *kubeletPod) {
	now := int64(0)
	_ = k.plane.client.CoreV1().Pods(namespace).Delete(k.context, p.object.Name, meta.DeleteOptions{
		GracePeriodSeconds: &now,
		Preconditions:      &meta.Preconditions{UID: &p.object.UID},
	})
}

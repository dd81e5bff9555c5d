package main

import (
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// manifest is the part of a Kubernetes object that the tests check.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
	Spec     struct {
		Selector    yaml.Node
		PodSelector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		} `yaml:"podSelector"`
		Ports []struct {
			TargetPort string `yaml:"targetPort"`
		} // of a service
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     pod
		}
	}
}

type pod struct {
	Grace         int  `yaml:"terminationGracePeriodSeconds"`
	ServiceLinks  bool `yaml:"enableServiceLinks"`
	Containers    []container
	Volumes       []volume
	ServiceTokens bool `yaml:"automountServiceAccountToken"`
}

type container struct {
	Name         string
	Args         []string
	Ports        []struct{ Name string }
	Startup      probe         `yaml:"startupProbe"`
	Liveness     probe         `yaml:"livenessProbe"`
	Readiness    probe         `yaml:"readinessProbe"`
	VolumeMounts []volumeMount `yaml:"volumeMounts"`
	Resources    struct{ Limits map[string]string }
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
	Period  int                         `yaml:"periodSeconds"`
	Failure int                         `yaml:"failureThreshold"`
}

type volumeMount struct {
	Name string
	Path string `yaml:"mountPath"`
}

type volume struct {
	Name      string
	ConfigMap struct{ Name string } `yaml:"configMap"`
	Secret    struct {
		Name  string `yaml:"secretName"`
		Items []struct{ Key, Path string }
	}
}

func manifests(t *testing.T) map[string]manifest {
	t.Helper()
	found := map[string]manifest{}
	decoder := yaml.NewDecoder(strings.NewReader(readDeploy(t, "kubernetes.yaml")))
	for {
		var m manifest
		switch err := decoder.Decode(&m); {
		case errors.Is(err, io.EOF):
			return found
		case err != nil:
			t.Fatal(err)
		}
		found[m.Kind] = m
	}
}

// mounted returns the files in a container, by path.
func mounted(t *testing.T, p *pod, c *container, all map[string]manifest) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, mount := range c.VolumeMounts {
		i := slices.IndexFunc(p.Volumes, func(v volume) bool { return v.Name == mount.Name })
		if i < 0 {
			t.Fatalf("there is no volume %s", mount.Name)
		}
		for _, item := range p.Volumes[i].Secret.Items {
			files[path.Join(mount.Path, item.Path)] = item.Key
		}
		if s := p.Volumes[i].Secret; s.Name != "" && len(s.Items) == 0 {
			files[mount.Path] = s.Name // with a file for each key
		}
		if config := p.Volumes[i].ConfigMap.Name; config != "" {
			if config != all["ConfigMap"].Metadata.Name {
				t.Errorf("there is no config map %s", config)
			}
			for name, text := range all["ConfigMap"].Data {
				files[path.Join(mount.Path, name)] = text
			}
		}
	}
	return files
}

func TestDeployKubernetes(t *testing.T) {
	all := manifests(t)
	kinds := slices.Sorted(maps.Keys(all))
	if diff := cmp.Diff([]string{"ConfigMap", "Deployment", "Ingress", "NetworkPolicy", "PodDisruptionBudget", "Service",
		"ServiceAccount"}, kinds); diff != "" {
		t.Fatal(diff)
	}
	p := all["Deployment"].Spec.Template.Spec
	c := p.Containers[0]
	files := mounted(t, &p, &c, all)
	flags := serveArgs(t, c.Args, files)
	if grace := time.Duration(p.Grace) * time.Second; grace < draining(t, flags)+10*time.Second {
		t.Errorf("terminationGracePeriodSeconds is %v, draining alone takes %v", grace, draining(t, flags))
	}
	delay, _ := flags.GetDuration("drain-delay")
	if delay < time.Duration(c.Readiness.Period*c.Readiness.Failure)*time.Second {
		t.Errorf("--drain-delay %v is over before readiness is seen to have gone", delay)
	}
	for want, got := range map[string]probe{"/livez": c.Liveness, "/readyz": c.Readiness} {
		if got.HTTPGet.Path != want || got.HTTPGet.Port != "admin" {
			t.Errorf("a probe asks %+v, want %s", got.HTTPGet, want)
		}
	}
	if c.Startup.Period*c.Startup.Failure < 60 {
		t.Error("a slow server has less than a minute to start")
	}
	if p.ServiceLinks || p.ServiceTokens || c.Resources.Limits["memory"] == "" {
		t.Errorf("enableServiceLinks %v, automountServiceAccountToken %v, limits %v", p.ServiceLinks, p.ServiceTokens,
			c.Resources.Limits)
	}
	tokens, _ := flags.GetString("auth-token-file")
	if _, ok := files[tokens]; !ok {
		t.Errorf("%s is not mounted: there are %v", tokens, slices.Sorted(maps.Keys(files)))
	}
	config, _ := flags.GetString("config")
	password, _ := flags.GetString("cluster-password-file")
	if _, ok := files[password]; !ok {
		t.Errorf("%s is not mounted: there are %v", password, slices.Sorted(maps.Keys(files)))
	}
	from, _ := flags.GetStringArray("secrets-from")
	if len(from) != 1 || files[strings.TrimPrefix(from[0], "file:")] == "" {
		t.Errorf("%q is not mounted: there are %v", from, slices.Sorted(maps.Keys(files)))
	}
	created := readDeploy(t, "kubernetes.yaml")
	for _, s := range definitionsIn(t, config, files[config]).Config.Servers {
		for _, key := range s.Secrets {
			if !strings.Contains(created, "--from-literal="+key+"=") {
				t.Errorf("no command creates the secret %s", key)
			}
		}
	}
	selects(t, all)
}

// selects ensures that everything that selects pods selects these.
func selects(t *testing.T, all map[string]manifest) {
	t.Helper()
	labels := all["Deployment"].Spec.Template.Metadata.Labels
	type selector struct {
		MatchLabels map[string]string `yaml:"matchLabels"`
	}
	for _, kind := range []string{"Deployment", "PodDisruptionBudget"} {
		var s selector
		if node := all[kind].Spec.Selector; node.Decode(&s) != nil || !cmp.Equal(s.MatchLabels, labels) {
			t.Errorf("%s selects %v, the pods have %v", kind, s, labels)
		}
	}
	var service map[string]string
	if node := all["Service"].Spec.Selector; node.Decode(&service) != nil || !cmp.Equal(service, labels) {
		t.Errorf("the service selects %v, the pods have %v", service, labels)
	}
	if policy := all["NetworkPolicy"].Spec.PodSelector.MatchLabels; !cmp.Equal(policy, labels) {
		t.Errorf("the network policy selects %v, the pods have %v", policy, labels)
	}
	container := all["Deployment"].Spec.Template.Spec.Containers[0]
	if port := all["Service"].Spec.Ports[0].TargetPort; port != container.Ports[0].Name {
		t.Errorf("the service leads to %q", port)
	}
}

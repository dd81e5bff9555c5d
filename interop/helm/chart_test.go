package helm_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	networking "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the expected manifests")

const (
	repository = "../.."
	deploy     = repository + "/examples/deploy"
	chartDir   = deploy + "/helm/slipway"
	release    = "slipway"
	namespace  = "tools"
	// kubernetes is the version whose schemas the manifests are valid in.
	kubernetes = "v1.36.3"
)

// manifest is the name of the case whose manifest is examples/deploy/kubernetes.yaml.
const manifest = "kubernetes"

// cases returns the names of the value files of the chart.
func cases(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob(chartDir + "/ci/*-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), "-values.yaml"))
	}
	for _, name := range []string{"full", "keys", manifest, "minimal", "redis", "single"} {
		if !slices.Contains(names, name) {
			t.Fatalf("there is no %s-values.yaml, only %q", name, names)
		}
	}
	return names
}

func values(t *testing.T, name string) map[string]any {
	t.Helper()
	return decode[map[string]any](t, read(t, chartDir+"/ci/"+name+"-values.yaml"))
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// decode decodes YAML, and fails on members that T does not have.
func decode[T any](t *testing.T, text []byte) (v T) {
	t.Helper()
	if err := yaml.UnmarshalStrict(text, &v); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return v
}

// render returns the manifests and the notes that helm install would use.
func render(values map[string]any) (manifests, notes string, err error) {
	chart, err := loader.Load(chartDir)
	if err != nil {
		return "", "", err
	}
	caps := common.DefaultCapabilities.Copy()
	caps.KubeVersion = common.KubeVersion{Version: kubernetes, Major: "1", Minor: "36"}
	full, err := util.ToRenderValues(chart, values, common.ReleaseOptions{
		Name:      release,
		Namespace: namespace,
		Revision:  1,
		IsInstall: true,
	}, caps)
	if err != nil {
		return "", "", err
	}
	files, err := engine.Render(chart, full)
	if err != nil {
		return "", "", err
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := strings.TrimSpace(files[name])
		switch {
		case content == "":
		case filepath.Base(name) == "NOTES.txt":
			notes = content + "\n"
		default:
			fmt.Fprintf(&text, "---\n# Source: %s\n%s\n", name, content)
		}
	}
	return text.String(), notes, nil
}

func mustRender(t *testing.T, name string) string {
	t.Helper()
	manifests, _, err := render(values(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return manifests
}

// TestLint is helm lint --strict with each file of values.
func TestLint(t *testing.T) {
	for _, name := range cases(t) {
		version := common.KubeVersion{Version: kubernetes, Major: "1", Minor: "36"}
		for _, m := range lint.RunAll(chartDir, values(t, name), namespace, lint.WithKubeVersion(&version)).Messages {
			if m.Severity >= support.WarningSev {
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}

// header precedes the manifest that is also an example.
const header = `# Generated from the Helm chart in helm/slipway; do not edit. It has the objects that
#
#   helm template slipway helm/slipway --namespace tools -f helm/slipway/ci/kubernetes-values.yaml
#
# prints: two replicas, coordinated by a NATS at nats:4222. Change the host names, create the secrets, and apply:
#
#   kubectl create namespace tools
#   kubectl -n tools create secret generic slipway-tokens --from-file=tokens
#   kubectl -n tools create secret generic slipway-servers --from-literal=ANALYTICS_TOKEN="$ANALYTICS_TOKEN"
#   kubectl -n tools create secret generic nats --from-file=password=nats-password
#   kubectl -n tools apply -f kubernetes.yaml
`

// TestRender compares manifests and notes with those in testdata and examples/deploy.
func TestRender(t *testing.T) {
	for _, name := range cases(t) {
		manifests, notes, err := render(values(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := map[string]string{
			"testdata/" + name + ".yaml":      manifests,
			"testdata/" + name + ".notes.txt": notes,
		}
		if name == manifest {
			delete(want, "testdata/"+name+".yaml")
			want[deploy+"/kubernetes.yaml"] = header + manifests
		}
		for path, got := range want {
			golden(t, path, got)
		}
	}
}

// golden compares a text with a file, or writes it.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(read(t, path)), got); diff != "" {
		t.Errorf("%s is not what the chart renders (-file +chart):\n%s\nhint: scripts/helm -update writes it", path, diff)
	}
}

// TestEveryValue ensures that each value in values.yaml has an effect: one of the cases sets it, and
// renders something else without it.
func TestEveryValue(t *testing.T) {
	defaults := decode[map[string]any](t, read(t, chartDir+"/values.yaml"))
	type rendered struct {
		values map[string]any
		text   string
	}
	var all []rendered
	for _, name := range cases(t) {
		all = append(all, rendered{values(t, name), mustRender(t, name)})
	}
	paths := leaves(defaults, nil)
	if len(paths) < 60 {
		t.Errorf("only %d values in values.yaml", len(paths))
	}
	for _, path := range paths {
		works := slices.ContainsFunc(all, func(r rendered) bool {
			without, found := remove(r.values, path)
			if !found {
				return false
			}
			text, _, err := render(without)
			return err != nil || text != r.text
		})
		if !works {
			t.Errorf("%s: no case of ci/ sets it with an effect", strings.Join(path, "."))
		}
	}
}

// leaves returns the paths of the values that are not maps with members.
func leaves(values map[string]any, at []string) (paths [][]string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		path := append(slices.Clone(at), key)
		if inner, ok := values[key].(map[string]any); ok && len(inner) > 0 {
			paths = append(paths, leaves(inner, path)...)
			continue
		}
		paths = append(paths, path)
	}
	return paths
}

// remove returns a copy of values without the one at the path, if it is there.
func remove(values map[string]any, path []string) (map[string]any, bool) {
	copied := maps.Clone(values)
	if len(path) == 1 {
		_, found := copied[path[0]]
		delete(copied, path[0])
		return copied, found
	}
	inner, ok := copied[path[0]].(map[string]any)
	if !ok {
		return values, false
	}
	inner, found := remove(inner, path[1:])
	copied[path[0]] = inner
	return copied, found
}

// TestMistakes ensures that values which cannot work are refused, with the place and the remedy.
func TestMistakes(t *testing.T) {
	for _, test := range []struct{ base, values, want string }{
		{"minimal", "replicacount: 2", "at '': additional properties 'replicacount' not allowed"},
		{"minimal", "replicaCount: two", "at '/replicaCount': got string, want integer"},
		{"minimal", "replicaCount: 0", "at '/replicaCount': minimum: got 0, want 1"},
		{"minimal", "config: {serve: {limits: {rateLimit: 1}}}",
			"at '/config/serve/limits': additional properties 'rateLimit' not allowed"},
		{"minimal", "cluster: {urls: [http://nats]}", "at '/cluster/urls/0': 'http://nats' does not match pattern"},
		{"minimal", "publicURL: mcp.example.com", "at '/publicURL': 'mcp.example.com' does not match pattern"},
		{"minimal", "publicURL: https://mcp.example.com/mcp", "at '/publicURL':"},
		{"minimal", "fullnameOverride: mcp.example", "at '/fullnameOverride': 'mcp.example' does not match pattern"},
		{"minimal", "service: {type: ExternalName}", "at '/service/type': value must be one of"},
		{"minimal", "topologySpread: {zone: Never}", "at '/topologySpread/zone': value must be one of"},
		{"minimal", "resources: {limit: {memory: 1Gi}}", "at '/resources': additional properties 'limit' not allowed"},
		{"", "", "at '/config': missing property 'servers'"},
		{"", "config: {servers: {}}", "config: nothing to serve: set config.servers or config.sources"},
		{"minimal", "config: {serve: {address: {cluster: 'nats://nats'}}}",
			"config.serve.address.cluster: set cluster.urls instead"},
		{"minimal", "config: {serve: {limits: {drainDelay: 5s}}}",
			"config.serve.limits.drainDelay: set drain.delaySeconds instead"},
		{"minimal", "files: {slipway.yaml: ''}", "files.slipway.yaml: set config instead"},
		{"minimal", "auth: {existingSecret: ''}", "auth: no caller could connect: set auth.existingSecret"},
		{"minimal", "cluster: {urls: ['nats://slipway:hunter2@nats']}", "cluster.urls: a URL has a password"},
		{"minimal", "config: {serve: {tls: {cert: a.pem, key: b.pem, clientCA: c.pem}}}",
			"config.serve.tls.clientCA: remove it, or cluster.urls"},
		{"minimal", "config: {serve: {access: {signIn: 'https://id.example.com'}}}",
			"config.serve.access.signIn: it works with one pod only"},
		{"keys", "config: {serve: {access: {signIn: 'https://id.example.com'}}}",
			"config.serve.access.signIn: it works with one pod only"},
		{"single", "autoscaling: {enabled: true}\nconfig: {serve: {access: {signIn: 'https://id.example.com'}}}",
			"config.serve.access.signIn: it works with one pod only"},
		{"single", "config: {serve: {access: {signIn: 'https://id.example.com'}}}",
			"publicURL: config.serve.access.signIn needs it"},
		{"minimal", "config: {serve: {access: {issuer: ['https://id.example.com']}}}",
			"publicURL: config.serve.access.issuer needs it"},
		{"full", "config: {serve: {access: {approvals: /tmp/approvals}}}",
			"config.serve.access.approvals: remove it"},
		{"minimal", "config: {serve: {endpoints: {legacySSE: true}}}",
			"config.serve.endpoints.legacySSE: it works with one pod only"},
		{"redis", "publicURL: http://mcp.example.com", "ingress.tlsSecret: publicURL begins with http://"},
		{"minimal", "cluster: {urls: []}", "cluster: several replicas need cluster.urls"},
		{"single", "cluster: {existingSecret: nats}", "cluster.existingSecret: set cluster.urls, too"},
		{"single", "autoscaling: {enabled: true, minReplicas: 1}", "cluster: several replicas need cluster.urls"},
		{"minimal", "ingress: {enabled: true}", "publicURL: httpRoute and ingress need it"},
		{"redis", "httpRoute: {enabled: true}", "httpRoute.parentRefs: name a Gateway"},
		{"full", "autoscaling: {maxReplicas: 2}", "autoscaling.minReplicas: 3 is more than maxReplicas, 2"},
		{"full", "autoscaling: {requestsInFlight: 0, cpu: 0}", "autoscaling: set requestsInFlight, cpu or both"},
		{"full", "resources: {requests: {cpu: null}}", "autoscaling.cpu: it is a share of resources.requests.cpu"},
	} {
		changed := decode[map[string]any](t, []byte(test.values))
		if test.base != "" {
			changed = loader.MergeMaps(values(t, test.base), changed)
		}
		_, _, err := render(changed)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s with %s: %v, want %q", test.base, test.values, err, test.want)
		}
	}
}

// TestClientCertificates ensures that certificates of clients are enough to know callers.
func TestClientCertificates(t *testing.T) {
	changes := decode[map[string]any](t, []byte("auth: {existingSecret: '', allowUnauthenticated: false}\n"+
		"config: {serve: {tls: {cert: a.pem, key: b.pem, clientCA: c.pem}}}"))
	if _, _, err := render(loader.MergeMaps(values(t, "single"), changes)); err != nil {
		t.Error(err)
	}
}

// TestSignIn ensures that one pod may sign users in.
func TestSignIn(t *testing.T) {
	changes := decode[map[string]any](t, []byte("publicURL: https://mcp.example.com\n"+
		"auth: {existingSecret: '', allowUnauthenticated: false}\n"+
		"config: {serve: {access: {signIn: 'https://id.example.com'}}}"))
	if _, _, err := render(loader.MergeMaps(values(t, "single"), changes)); err != nil {
		t.Error(err)
	}
}

// TestIngressTLS ensures that an Ingress has TLS unless publicURL is of HTTP.
func TestIngressTLS(t *testing.T) {
	for change, want := range map[string][]networking.IngressTLS{
		"ingress: {enabled: true}": {{
			Hosts:      []string{"mcp.example.com"},
			SecretName: "mcp-example-com-tls",
		}},
		"ingress: {tlsSecret: ''}":                                      {{Hosts: []string{"mcp.example.com"}}},
		"ingress: {tlsSecret: ''}\npublicURL: 'http://mcp.example.com'": nil,
	} {
		text, _, err := render(loader.MergeMaps(values(t, "redis"), decode[map[string]any](t, []byte(change))))
		if err != nil {
			t.Fatal(err)
		}
		if got := one[networking.Ingress](t, text, "Ingress").Spec.TLS; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: TLS is %v, want %v", change, got, want)
		}
	}
}

// TestJobOfAlerts ensures that Prometheus gives the pods the job that the alerts and the dashboard select.
func TestJobOfAlerts(t *testing.T) {
	found := one[monitoring.ServiceMonitor](t, mustRender(t, "full"), "ServiceMonitor").Spec.Endpoints[0].RelabelConfigs
	if len(found) != 1 || found[0].TargetLabel != "job" || *found[0].Replacement != "mcp" {
		t.Errorf("relabelings of the ServiceMonitor: %v", found)
	}
	alerts := string(read(t, deploy+"/alerts.yaml"))
	if n := strings.Count(alerts, `job="mcp"`); n < 10 {
		t.Errorf("%d selectors of job=\"mcp\" in alerts.yaml", n)
	}
}

// TestNumericNames ensures that names which YAML reads as numbers remain texts.
func TestNumericNames(t *testing.T) {
	changes := decode[map[string]any](t, []byte("nameOverride: '2026'\nfullnameOverride: mcp\n"+
		"auth: {existingSecret: '11'}\nsecrets: {existingSecret: '12'}\ncluster: {existingSecret: '13', secretKey: '14'}\n"+
		"stateKeys: {existingSecret: '15'}\ncaBundle: {existingConfigMap: '16'}\npriorityClassName: '17'\n"+
		"ingress: {className: '18', tlsSecret: '19'}\nserviceAccount: {name: '20'}"))
	text, _, err := render(loader.MergeMaps(values(t, "full"), changes))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`app.kubernetes.io/name: "2026"`, `secretName: "11"`, `secretName: "12"`, `secretName: "13"`,
		`key: "14"`, `name: "15"`, `name: "16"`, `priorityClassName: "17"`, `ingressClassName: "18"`,
		`secretName: "19"`, `serviceAccountName: "20"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the manifests", want)
		}
	}
}

// TestDisruptionBudget ensures that pods of the autoscaler are protected, too.
func TestDisruptionBudget(t *testing.T) {
	for change, want := range map[string]bool{
		"replicaCount: 1": false,
		"autoscaling: {enabled: true, minReplicas: 1}":                 true,
		"autoscaling: {enabled: true, minReplicas: 1, maxReplicas: 1}": false,
	} {
		text, _, err := render(loader.MergeMaps(values(t, "minimal"), decode[map[string]any](t, []byte(change))))
		if got := strings.Contains(text, "kind: PodDisruptionBudget"); got != want || err != nil {
			t.Errorf("%s: a budget: %v, want %v, %v", change, got, want, err)
		}
	}
}

// TestRolls ensures that pods are replaced when their file changes, if that is wanted, and that only
// then.
func TestRolls(t *testing.T) {
	changes := decode[map[string]any](t, []byte("config: {serve: {limits: {rate: 7}}}"))
	for name, want := range map[string]bool{"minimal": true, "single": false} {
		before := values(t, name)
		old := deploymentOf(t, before).Spec.Template
		if got := !reflect.DeepEqual(old, deploymentOf(t, loader.MergeMaps(before, changes)).Spec.Template); got != want {
			t.Errorf("%s: new pods for a new file: %v, want %v", name, got, want)
		}
		labels := loader.MergeMaps(before, decode[map[string]any](t, []byte("service: {port: 81}")))
		if !reflect.DeepEqual(old, deploymentOf(t, labels).Spec.Template) {
			t.Errorf("%s: new pods for another port of the service", name)
		}
	}
}

package helm_test

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/yannh/kubeconform/pkg/validator"
)

// The sources of schemas: Kubernetes publishes its own next to its code, the Gateway API its resource
// definitions. Both are only downloaded, with their checksums; nothing of them is compiled.
const (
	kubernetesModule = "k8s.io/kubernetes@" + kubernetes
	kubernetesSum    = "h1:qDQdoMiluAE2Eab6Fa52YV+WjiGz9mZFFoagEA6cI+o="
	gatewayModule    = "sigs.k8s.io/gateway-api@v1.6.3"
	gatewaySum       = "h1:lKpJa5bGlraC/QeACvCpsHLdmO6y0iKfzVl6gzaFEYc="
)

// moduleDir downloads a module from the Go proxy, and returns its folder.
func moduleDir(t *testing.T, module, sum string) string {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	var found struct{ Dir, Sum, Error string }
	if json.Unmarshal(out, &found) != nil || found.Error != "" || found.Dir == "" {
		t.Fatalf("go mod download %s: %v: %s", module, err, found.Error)
	}
	if found.Sum != sum {
		t.Fatalf("%s has the checksum %s, want %s", module, found.Sum, sum)
	}
	return found.Dir
}

// object is a JSON object.
type object = map[string]any

// schemas writes a JSON schema for each kind into a folder, and returns it as kubeconform wants it.
func schemas(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var document struct{ Definitions map[string]object }
	if err := json.Unmarshal(read(t, filepath.Join(moduleDir(t, kubernetesModule, kubernetesSum),
		"api/openapi-spec/swagger.json")), &document); err != nil {
		t.Fatal(err)
	}
	for name, definition := range document.Definitions {
		closeObjects(definition)
		if name == "io.k8s.apimachinery.pkg.util.intstr.IntOrString" ||
			name == "io.k8s.apimachinery.pkg.api.resource.Quantity" {
			definition["type"] = []string{"string", "integer"}
			delete(definition, "format")
		}
	}
	kinds := 0
	for name, definition := range document.Definitions {
		of, _ := definition["x-kubernetes-group-version-kind"].([]any)
		for _, one := range of {
			kind := one.(object)
			group, _, _ := strings.Cut(kind["group"].(string), ".")
			used := object{}
			collect(document.Definitions, name, used)
			writeSchema(t, dir, kind["kind"].(string), group, kind["version"].(string), object{
				"$ref":        "#/definitions/" + name,
				"definitions": used,
			})
			kinds++
		}
	}
	if kinds < 200 {
		t.Fatalf("%s has only %d kinds", kubernetesModule, kinds)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct {
					Root object `json:"openAPIV3Schema"`
				}
			}
		}
	}
	crd = decodeLoose(t, read(t, filepath.Join(moduleDir(t, gatewayModule, gatewaySum),
		"config/crd/standard/gateway.networking.k8s.io_httproutes.yaml")), crd)
	for _, v := range crd.Spec.Versions {
		closeObjects(v.Schema.Root)
		writeSchema(t, dir, "HTTPRoute", "gateway", v.Name, v.Schema.Root)
	}
	return dir + "/{{.ResourceKind}}{{.KindSuffix}}.json"
}

func writeSchema(t *testing.T, dir, kind, group, version string, schema object) {
	t.Helper()
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower(strings.Join([]string{kind, group, version}, "-"))
	name = strings.Replace(name, "--", "-", 1) // the core group has no name
	if err := os.WriteFile(filepath.Join(dir, name+".json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// closeObjects refuses members that a schema does not have.
func closeObjects(v any) {
	switch v := v.(type) {
	case object:
		if _, ok := v["properties"].(object); ok && v["additionalProperties"] == nil &&
			v["x-kubernetes-preserve-unknown-fields"] != true {
			v["additionalProperties"] = false
		}
		for _, inner := range v {
			closeObjects(inner)
		}
	case []any:
		for _, inner := range v {
			closeObjects(inner)
		}
	}
}

// collect adds the definition and all that it refers to.
func collect(all map[string]object, name string, used object) {
	if used[name] != nil {
		return
	}
	used[name] = all[name]
	var follow func(any)
	follow = func(v any) {
		switch v := v.(type) {
		case object:
			if to, ok := v["$ref"].(string); ok {
				collect(all, strings.TrimPrefix(to, "#/definitions/"), used)
			}
			for _, inner := range v {
				follow(inner)
			}
		case []any:
			for _, inner := range v {
				follow(inner)
			}
		}
	}
	follow(all[name])
}

// TestManifestsAreValid is kubeconform -strict over what every case renders. Misspelled members
// must be found.
func TestManifestsAreValid(t *testing.T) {
	check, err := validator.New([]string{schemas(t)}, validator.Opts{
		Strict:            true,
		KubernetesVersion: strings.TrimPrefix(kubernetes, "v"),
		SkipKinds:         map[string]struct{}{"ServiceMonitor": {}}, // below
	})
	if err != nil {
		t.Fatal(err)
	}
	validate := func(text string) (kinds []string, problems []error) {
		for _, r := range check.Validate("manifests.yaml", io.NopCloser(strings.NewReader(text))) {
			switch r.Status {
			case validator.Valid:
				sig, err := r.Resource.Signature()
				if err != nil {
					t.Fatal(err)
				}
				kinds = append(kinds, sig.Kind)
			case validator.Invalid, validator.Error:
				problems = append(problems, r.Err)
			}
		}
		return kinds, problems
	}
	seen := map[string]bool{}
	for _, name := range cases(t) {
		text := mustRender(t, name)
		kinds, problems := validate(text)
		for _, err := range problems {
			t.Errorf("%s: %v", name, err)
		}
		for _, kind := range kinds {
			seen[kind] = true
		}
		for _, monitor := range documents(t, text, "ServiceMonitor") {
			decode[monitoring.ServiceMonitor](t, monitor)
		}
	}
	for _, kind := range []string{"ConfigMap", "Deployment", "HTTPRoute", "HorizontalPodAutoscaler", "Ingress",
		"NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount"} {
		if !seen[kind] {
			t.Errorf("no case has a valid %s", kind)
		}
	}
	full := mustRender(t, "full")
	for _, member := range []string{"readOnlyRootFilesystem", "backendRequest", "unhealthyPodEvictionPolicy",
		"averageUtilization", "podSelector", "ingressClassName", "publishNotReadyAddresses"} {
		if !strings.Contains(full, member+":") {
			t.Errorf("the full case has no %s", member)
		}
		if _, problems := validate(strings.ReplaceAll(full, member+":", member+"s:")); len(problems) == 0 {
			t.Errorf("%ss is not found", member)
		}
	}
}

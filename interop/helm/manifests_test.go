package helm_test

import (
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// documents returns the manifests of a kind.
func documents(t *testing.T, manifests, kind string) (found [][]byte) {
	t.Helper()
	for text := range strings.SplitSeq(manifests, "---\n") {
		if decodeLoose(t, []byte(text), struct{ Kind string }{}).Kind == kind {
			found = append(found, []byte(text))
		}
	}
	return found
}

// decodeLoose decodes YAML into v, and ignores members that it does not have.
func decodeLoose[T any](t *testing.T, text []byte, v T) T {
	t.Helper()
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return v
}

// one returns the only manifest of a kind.
func one[T any](t *testing.T, manifests, kind string) T {
	t.Helper()
	found := documents(t, manifests, kind)
	if len(found) != 1 {
		t.Fatalf("%d objects of kind %s", len(found), kind)
	}
	return decode[T](t, found[0])
}

func deploymentOf(t *testing.T, values map[string]any) apps.Deployment {
	t.Helper()
	manifests, _, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	return one[apps.Deployment](t, manifests, "Deployment")
}

func configOf(t *testing.T, manifests string) core.ConfigMap {
	t.Helper()
	return one[core.ConfigMap](t, manifests, "ConfigMap")
}
